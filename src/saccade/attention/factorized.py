"""Softmax over the open pairs of a factorized causal mask alone (Child et al. 2019): n√n of them instead of n².

Both masks open keys near the query, and far ones in a regular pattern. A block of queries sees its own block and the one
before (strided), or its own (fixed): a small rectangle. Far keys are, of the strided mask, those of earlier blocks at the
query's own place in a block: attention along the columns of the text, written in rows of `stride`; and of the fixed mask the
last keys of every earlier block. The scores of both kinds stand side by side under one softmax.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.fused import drop
from saccade.attention.masks import Causal, Fixed, Mask, Strided

LEAST = 256  # queries from which it is quicker than all pairs


def factorized(mask: Mask | None) -> Strided | Fixed | None:
    """The mask, if it is causal and one of these, and nothing else."""
    parts = () if mask is None else mask.parts()
    others = [part for part in parts if not isinstance(part, Causal)]
    return others[0] if len(parts) > len(others) == 1 and isinstance(others[0], Strided | Fixed) else None


def factorized_pool(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Strided | Fixed, dropout: float = 0.0
) -> Tensor:
    """Context (…, n, V) of n queries over as many keys (…, n, D), causal and under the mask."""
    size, length = mask.stride if isinstance(mask, Strided) else mask.block, query.shape[-2]
    # Rows that are filled up stand behind all others: nobody sees them.
    query, key, value = (F.pad(one, (0, 0, 0, -length % size)).unflatten(-2, (-1, size)) for one in (query, key, value))
    near, far = _strided(query * scale, key) if isinstance(mask, Strided) else _fixed(query * scale, key, mask)
    weights = torch.cat((near, far), -1).softmax(-1)
    weights = drop(weights, dropout) if dropout > 0 else weights
    near, far = weights.split((near.shape[-1], far.shape[-1]), -1)
    context = _strided_values(near, far, value) if isinstance(mask, Strided) else _fixed_values(near, far, value, mask)
    return context.flatten(-3, -2)[..., :length, :]


def _with_previous(blocks: Tensor) -> Tensor:
    """Of each block (…, N, S, D) the one before and itself, (…, N, 2 S, D); before the first are zeros."""
    return torch.cat((F.pad(blocks, (0, 0, 0, 0, 1, 0))[..., :-1, :, :], blocks), -2)


def _strided(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (…, N, S, 2 S) of the last S keys up to the query, and (…, N, S, N) of earlier blocks at the same place."""
    blocks, size = query.shape[-3:-1]
    place = torch.arange(size, device=query.device)
    distance = place[:, None] + size - torch.arange(2 * size, device=query.device)
    open_near = (distance >= 0) & (distance < size)
    first = (torch.arange(2 * size, device=query.device) < size) & (torch.arange(blocks, device=query.device)[:, None] == 0)
    near = (query @ _with_previous(key).transpose(-1, -2)).masked_fill(~(open_near & ~first[:, None]), -math.inf)
    columns = query.transpose(-3, -2) @ key.transpose(-3, -2).transpose(-1, -2)  # (…, S, N, N)
    earlier = torch.ones(blocks, blocks, dtype=torch.bool, device=query.device).tril(-1)
    return near, columns.masked_fill(~earlier, -math.inf).transpose(-3, -2)


def _strided_values(near: Tensor, far: Tensor, value: Tensor) -> Tensor:
    columns = far.transpose(-3, -2) @ value.transpose(-3, -2)
    return near @ _with_previous(value) + columns.transpose(-3, -2)


def _summaries(blocks: Tensor, mask: Fixed) -> Tensor:
    """The last rows of all blocks, (…, N · summary, D)."""
    return blocks[..., -min(mask.summary, mask.block) :, :].flatten(-3, -2)


def _fixed(query: Tensor, key: Tensor, mask: Fixed) -> tuple[Tensor, Tensor]:
    """Scores (…, N, S, S) of the query's own block, and (…, N, S, N · summary) of the last keys of earlier ones."""
    blocks, size = query.shape[-3:-1]
    triangle = torch.ones(size, size, dtype=torch.bool, device=query.device).tril()
    near = (query @ key.transpose(-1, -2)).masked_fill(~triangle, -math.inf)
    far = query.flatten(-3, -2) @ _summaries(key, mask).transpose(-1, -2)
    numbers = torch.arange(blocks, device=query.device)
    of_key = numbers.repeat_interleave(far.shape[-1] // blocks)
    earlier = of_key < numbers[:, None]
    return near, far.unflatten(-2, (blocks, size)).masked_fill(~earlier[:, None], -math.inf)


def _fixed_values(near: Tensor, far: Tensor, value: Tensor, mask: Fixed) -> Tensor:
    summed: Tensor = (far.flatten(-3, -2) @ _summaries(value, mask)).unflatten(-2, far.shape[-3:-1])
    return near @ value + summed
