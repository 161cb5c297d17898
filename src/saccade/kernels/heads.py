"""Attention of many heads over short sequences, forward and backward, without copying heads apart.

softmax(scale · q k') v with dropout of the weights; what is closed by a mask gets no weight, and a row with nothing open
gives zeros. Its meaning is `pool_definition`; float32 on the CPU runs in `saccade.kernels.loops.head_loops`.
"""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from saccade.kernels import dropout_masks
from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run

Drops = tuple[np.uint64, np.uint32, np.float32]
NO_DROPS: Drops = (np.uint64(0), np.uint32(0), np.float32(1))
WORD = 0xFFFFFFFF

COLUMNS = 16  # of a panel: widths of heads are whole panels


def heads_on(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the kernel takes these: (B, H, T, D), widths in whole panels, numbers of a row side by side."""
    if query.dim() != 4 or not kernels_on(query, key, value):
        return False
    parts = (query, key, value)
    alike = all(part.shape[:2] == query.shape[:2] and part.shape[3] % COLUMNS == 0 for part in parts)
    return alike and all(0 not in part.shape and part.stride(3) == 1 for part in parts)


def pool_heads(
    query: Float[Tensor, "B H Q D"],
    key: Float[Tensor, "B H K D"],
    value: Float[Tensor, "B H K V"],
    scale: float,
    allowed: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "B H Q V"]:
    """The context; `causal` is for as many queries as keys, and not for use with `allowed`."""
    return applied(_PoolHeads, query, key, value, scale, allowed, causal, _drops(dropout))


def pool_definition(
    query: Tensor, key: Tensor, value: Tensor, scale: float, allowed: Tensor | None, causal: bool, drops: Drops = NO_DROPS
) -> Tensor:
    """The same in plain torch."""
    weights = _weights(query, key, scale, allowed, causal)
    return (weights * _kept(weights, drops) if drops[1] else weights) @ value


def _weights(query: Tensor, key: Tensor, scale: float, allowed: Tensor | None, causal: bool) -> Tensor:
    """The weights before dropout."""
    scores = scale * (query @ key.transpose(-1, -2))
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if allowed is None:
        return scores.softmax(-1)
    # A row with nothing open is opened for the softmax, and zeroed after it: no NaN, and no gradient.
    empty = ~allowed.any(-1, keepdim=True)
    return scores.masked_fill(~allowed, -math.inf).masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)


class _PoolHeads(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scale: float,
        allowed: Tensor | None,
        causal: bool,
        drops: Drops,
    ) -> Tensor:
        (B, H, Q, _), K, V = query.shape, key.shape[2], value.shape[3]
        rows = B if any(ctx.needs_input_grad[:3]) else 0
        weights, context = query.new_empty(rows, H, Q, K), query.new_empty(B, Q, H, V)
        open_ = np.zeros((0, 1, 1, 0), np.bool_) if allowed is None else _four(allowed, K).numpy()
        odd = np.zeros(B, np.bool_)
        arrays = [_flat(part) for part in (query, key, value)]
        numbers = (np.float32(scale), drops, weights.numpy(), context.numpy(), odd)
        run("heads_forward", *arrays, _places(query, key, value), open_, causal, *numbers)
        result = context.transpose(1, 2)
        if odd.any():  # scores that are not finite, or nearly not
            ctx.plain = True
            result = pool_definition(query, key, value, scale, allowed, causal, drops)
        keep(ctx, (query, key, value, scale, allowed, causal, drops), weights)
        return result

    @staticmethod
    @differentiable_by(pool_definition)
    def backward(ctx: Any, pull: Tensor) -> tuple[Tensor | None, ...]:
        (query, key, value, scale, _, _, drops), (weights,) = kept(ctx)
        pull = pull if pull.stride(3) == 1 else pull.contiguous()
        given = (query, key, value, pull)
        grads = [query.new_empty(part.transpose(1, 2).shape) for part in (query, key, value)]
        arrays = [_flat(part) for part in given]
        numbers = (np.float32(scale), drops, weights.numpy(), *(grad.numpy() for grad in grads))
        run("heads_backward", *arrays, _places(*given), *numbers)
        return *(grad.transpose(1, 2) for grad in grads), None, None, None, None


def _flat(tensor: Tensor) -> Any:
    """All memory that a tensor lives in."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((size,), (1,), 0).numpy()


def _places(*tensors: Tensor) -> Any:
    """Of each tensor its offset, its strides and its width."""
    return np.array([(part.storage_offset(), *part.stride()[:3], part.shape[3]) for part in tensors], np.int64)


def _four(allowed: Tensor, keys: int) -> Tensor:
    """A mask in four dimensions, all keys told one by one."""
    allowed = allowed[(None,) * (4 - allowed.dim())]
    return allowed.expand(*allowed.shape[:3], keys).contiguous()


def _drops(dropout: float) -> Drops:
    """A seed from torch's generator, the limit below which a chance drops a weight, and the factor of what is left."""
    if dropout <= 0:
        return NO_DROPS
    seed, (limit, factor) = int(torch.empty((), dtype=torch.int64).random_()), dropout_masks.rounded(dropout)
    return np.uint64(seed), np.uint32(limit), np.float32(factor)


def _kept(weights: Tensor, drops: Drops) -> Tensor:
    """The factors of all weights (B, H, Q, K): 0 for those that the kernel drops, computed as it does."""
    (B, H, Q, K), (seed, limit, factor) = weights.shape, drops
    wide = -(-K // COLUMNS) * COLUMNS
    place = torch.arange(B * H * Q * wide, device=weights.device).view(B, H, Q, wide)[..., :K]
    chance = _hash(_hash(place + (int(seed) & WORD)) + (int(seed) >> 32)) >> 16
    return (chance >= int(limit)).to(weights.dtype) * float(factor)


def _hash(x: Tensor) -> Tensor:
    """A round of the hash of `head_loops`, on 32 bits in 64."""
    x = x & WORD
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & WORD
    x = ((x ^ (x >> 15)) * 0x846CA68B) & WORD
    return x ^ (x >> 16)
