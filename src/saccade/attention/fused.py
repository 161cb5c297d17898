"""softmax(scale · q·k) v by the quickest way that this machine has: torch's fused kernel, or two products and a softmax.

What was measured (2 cores, float32): below some hundred queries and keys the plain form is quicker, above it the fused
kernel, which also needs no n×n matrix; `is_causal` costs half of a boolean triangle; dropout, a bias that learns, values
of another width than keys, or fewer than four dimensions make torch leave its fused kernel silently.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels import dropout_masks
from saccade.kernels.heads import heads_on, pool_heads
from saccade.kernels.runtime import traced

# Up to this many pairs a sample and head, the plain form is quicker than the fused kernel.
SHORT_PAIRS = 192 * 192
# Scores that the plain form holds at a time when nobody wants a gradient: 2 MB of float32.
PIECE_NUMBERS = 1 << 19


class PoolInputs(NamedTuple):
    """A rectangle to be pooled: scale · q·k + bias where allowed. `causal` is for as many queries as keys."""

    query: Tensor
    key: Tensor
    value: Tensor
    scale: float = 1.0
    allowed: Tensor | None = None
    bias: Tensor | None = None
    causal: bool = False
    dropout: float = 0.0


def softmax_pool(block: PoolInputs) -> Tensor:
    """Context (…, Q, V) of one block; rows with nothing allowed give zeros."""
    # What is exported may have sizes that are not known yet: nothing can depend on them.
    short = torch.compiler.is_exporting() or block.query.shape[-2] * block.key.shape[-2] <= SHORT_PAIRS
    plain = block.bias is None and block.scale > 0 and not (block.causal and block.allowed is not None)
    if short and plain and heads_on(*block[:3]):
        scale, allowed = block.scale, block.allowed
        return pool_heads(*block[:3], scale, allowed, causal=block.causal, dropout=block.dropout)
    learns = block.bias is not None and block.bias.requires_grad and torch.is_grad_enabled()
    return _plain(block) if short or learns or block.dropout > 0 else _fused(block)


def _fused(block: PoolInputs) -> Tensor:
    leading, width = block.query.shape[:-2], block.value.shape[-1]
    size = max(block.query.shape[-1], width)
    padded = (F.pad(t, (0, size - t.shape[-1])) if t.shape[-1] < size else t for t in block[:3])
    query, key, value = (_four(t, len(leading)) for t in padded)
    mask = block.allowed if block.bias is None else _closed(block.bias, block.allowed)
    context = F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=None if mask is None else _four_mask(mask, leading),
        is_causal=block.causal,
        scale=block.scale,
    )
    return context.reshape(*leading, *context.shape[-2:])[..., :width]


def _four(tensor: Tensor, leading: int) -> Tensor:
    """(…, T, D) as (B, H, T, D), the only form that the fused kernel takes."""
    if leading == 2:
        return tensor
    if leading < 2:
        return tensor.reshape(*tensor.shape[:leading], *[1] * (2 - leading), *tensor.shape[leading:])
    return tensor.flatten(0, leading - 2)


def _four_mask(mask: Tensor, leading: torch.Size) -> Tensor:
    if len(leading) > 2:
        return mask.expand(*leading, *mask.shape[-2:]).flatten(0, len(leading) - 2)
    mask = mask[(None,) * (len(leading) + 2 - mask.dim())]
    return _four(mask, len(leading))


def _plain(block: PoolInputs) -> Tensor:
    leading, allowed, bias = block.query.shape[:-2], block.allowed, block.bias
    flat = [t.reshape(-1, *t.shape[-2:]) for t in block[:3]]
    empty = None if allowed is None else ~allowed.any(-1, keepdim=True)
    if allowed is not None and empty is not None:
        # A row with nothing open is opened for the softmax, and zeroed after it: no NaN, and no gradient.
        bias = _closed(flat[0].new_zeros(()) if bias is None else bias, allowed | empty)
    if block.causal:
        triangle = flat[0].new_full((block.query.shape[-2], block.key.shape[-2]), -math.inf).triu(1)
        bias = triangle if bias is None else bias + triangle
    learns = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (*flat, bias))
    small = flat[0].is_cpu and not traced() and (bias is None or bias.dim() == 2)
    if learns or block.dropout > 0 or not small:
        context = _whole(flat[0], flat[1], flat[2], block.scale, bias, leading, block.dropout)
    else:
        context = _piecewise(flat[0], flat[1], flat[2], block.scale, bias)
    context = context.view(*leading, *context.shape[-2:])
    return context if empty is None else context.masked_fill(empty, 0)


def _whole(
    query: Tensor, key: Tensor, value: Tensor, scale: float, bias: Tensor | None, leading: torch.Size, dropout: float
) -> Tensor:
    """All samples and heads at once, as autograd wants it. The queries are scaled, not the products: they are fewer."""
    size = (query.shape[0], query.shape[1], key.shape[1])
    if bias is not None and bias.dim() == 2:
        scores = torch.baddbmm(bias, query * scale, key.transpose(1, 2))
    else:
        scores = torch.bmm(query * scale, key.transpose(1, 2))
        if bias is not None:
            scores = (scores.view(*leading, *size[1:]) + bias).view(size)
    weights = scores.softmax(-1)
    return torch.bmm(drop(weights, dropout) if dropout > 0 else weights, value)


def _piecewise(query: Tensor, key: Tensor, value: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Some samples and heads at a time in one small buffer, written over itself: it stays in the cache, and no call has to
    pay for fresh pages of memory. Without a gradient only."""
    count, rows, columns = query.shape[0], query.shape[1], key.shape[1]
    size = max(1, min(count, PIECE_NUMBERS // (rows * columns)))
    buffer, context = query.new_empty(size, rows, columns), value.new_empty(count, rows, value.shape[-1])
    for first in range(0, count, size):
        part = slice(first, first + size)
        scores = buffer[: min(size, count - first)]
        beta, start = (0, scores) if bias is None else (1, bias)
        torch.baddbmm(start, query[part], key[part].transpose(1, 2), beta=beta, alpha=scale, out=scores)
        torch.softmax(scores, -1, out=scores)
        torch.bmm(scores, value[part], out=context[part])
    return context


def _closed(bias: Tensor, allowed: Tensor | None) -> Tensor:
    return bias if allowed is None else torch.where(allowed, bias, -math.inf)


def drop(weights: Tensor, chance: float) -> Tensor:
    """Dropout in steps of 1/65536, five times as quick as torch's own on a CPU; a graph that is compiled has torch's own."""
    if torch.compiler.is_compiling():
        return F.dropout(weights, chance)
    kept = dropout_masks.kept(1, weights.numel(), chance, weights.device).view(weights.shape)
    return weights * kept.to(weights.dtype).mul_(dropout_masks.rounded(chance)[1])
