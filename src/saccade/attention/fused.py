"""softmax(scale · q·k) v by the quickest way that this machine has: torch's fused kernel, or two products and a softmax.

What was measured (2 cores, float32): below some hundred queries and keys the plain form is quicker, above it the fused
kernel, which also needs no n×n matrix; `is_causal` costs half of a boolean triangle; dropout, a bias that learns, values
of another width than keys, or fewer than four dimensions throw torch off its fused kernel without a word.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

# Up to this many pairs a sample and head, the plain form is quicker than the fused kernel.
SHORT_PAIRS = 192 * 192


def softmax_pool(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    allowed: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Context (…, Q, V) of one block; rows with nothing allowed give zeros. `causal` is for as many queries as keys."""
    short = query.shape[-2] * key.shape[-2] <= SHORT_PAIRS
    learns = bias is not None and bias.requires_grad and torch.is_grad_enabled()
    if short or learns or dropout > 0:
        return _plain(query, key, value, scale, allowed, bias, causal, dropout)
    return _fused(query, key, value, scale, allowed, bias, causal)


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    allowed: Tensor | None,
    bias: Tensor | None,
    causal: bool,
) -> Tensor:
    leading, width = query.shape[:-2], value.shape[-1]
    size = max(query.shape[-1], width)
    padded = (F.pad(t, (0, size - t.shape[-1])) if t.shape[-1] < size else t for t in (query, key, value))
    query, key, value = (_four(t, len(leading)) for t in padded)
    mask = allowed if bias is None else _closed(bias, allowed)
    context = F.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=None if mask is None else _four_mask(mask, leading),
        is_causal=causal,
        scale=scale,
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


def _plain(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    allowed: Tensor | None,
    bias: Tensor | None,
    causal: bool,
    dropout: float,
) -> Tensor:
    leading = query.shape[:-2]
    # The queries are scaled, not the products: there are fewer of them.
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (query * scale, key, value)]
    empty = None if allowed is None else ~allowed.any(-1, keepdim=True)
    if allowed is not None and empty is not None:
        # A row with nothing open is opened for the softmax, and zeroed after it: no NaN, and no gradient.
        bias = _closed(query.new_zeros(()) if bias is None else bias, allowed | empty)
    if causal:
        triangle = query.new_full((query.shape[-2], key.shape[-2]), -math.inf).triu(1)
        bias = triangle if bias is None else bias + triangle
    weights = _softmax(flat[0], flat[1], bias, leading)
    if dropout > 0:
        weights = drop(weights, dropout)
    context = torch.bmm(weights, flat[2]).view(*leading, query.shape[-2], value.shape[-1])
    return context if empty is None else context.masked_fill(empty, 0)


def _softmax(query: Tensor, key: Tensor, bias: Tensor | None, leading: torch.Size) -> Tensor:
    """softmax(q k' + bias), (N, Q, K); written over itself where no gradient will ask for it."""
    size = (query.shape[0], query.shape[1], key.shape[1])
    if bias is not None and bias.dim() == 2 and bias.shape == size[1:]:
        scores = torch.baddbmm(bias, query, key.transpose(1, 2))
    else:
        scores = torch.bmm(query, key.transpose(1, 2))
        if bias is not None:
            scores = (scores.view(*leading, *size[1:]) + bias).view(size)
    if torch.is_grad_enabled() and scores.requires_grad:
        return scores.softmax(-1)
    return torch.softmax(scores, -1, out=scores)


def _closed(bias: Tensor, allowed: Tensor | None) -> Tensor:
    return bias if allowed is None else torch.where(allowed, bias, -math.inf)


def drop(weights: Tensor, chance: float) -> Tensor:
    """Dropout in steps of 1/65536: one 64-bit draw decides four weights, five times as quick as torch's own on a CPU."""
    if chance >= 1:
        return weights * 0
    count = weights.numel()
    draws = torch.empty(-(-count // 4), dtype=torch.int64, device=weights.device).random_(-(1 << 63), None)
    kept = (draws.view(torch.int16)[:count] >= round(chance * 65536) - 32768).view(weights.shape)
    return weights * kept.to(weights.dtype).mul_(1 / (1 - chance))
