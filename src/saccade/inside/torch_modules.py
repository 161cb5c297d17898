"""The attention of torch's own modules, from their inputs: their fast path shows nothing but its output."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Attended
from saccade.attention.looks import Later
from saccade.attention.masks import lengths
from saccade.inside.replayed import SCORES, Slot, Step, closed, pooled, replayed, scaled

# Modules with a fast path that closes when anybody watches torch's functions.
FAST = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)


def is_fast(module: nn.Module) -> bool:
    """Whether this is one of them, with torch's own forward."""
    kind = next((kind for kind in FAST if isinstance(module, kind)), None)
    return kind is not None and type(module).forward is kind.forward


def of_multihead(module: nn.MultiheadAttention, *args: Any, **kwargs: Any) -> Later:
    """What a call of nn.MultiheadAttention looked at."""
    return _multihead(module, *args, **kwargs)


def _multihead(
    module: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Later:
    masks = {"padding": key_padding_mask, "mask": attn_mask}
    given = {name: mask for name, mask in masks.items() if mask is not None}

    def make(query: Tensor, key: Tensor, value: Tensor, *others: Tensor) -> Attended:
        return _attended(module, query, key, value, **dict(zip(given, others, strict=False)))

    return Later(make, (query, key, value, *given.values(), *module.parameters()))


def of_encoder_layer(module: nn.TransformerEncoderLayer, *args: Any, **kwargs: Any) -> Later:
    """What a call of nn.TransformerEncoderLayer looked at on its fast path, which does not call its attention."""
    return _encoder_layer(module, *args, **kwargs)


def _encoder_layer(
    module: nn.TransformerEncoderLayer,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Later:
    before: Callable[[Tensor], Tensor] = module.norm1 if module.norm_first else (lambda x: x)
    masks = {"padding": src_key_padding_mask, "mask": src_mask}
    given = {name: mask for name, mask in masks.items() if mask is not None}

    def make(src: Tensor, *others: Tensor) -> Attended:
        own = before(src.to_padded_tensor(0.0) if src.is_nested else src)
        sizes = [len(one) for one in src.unbind()] if src.is_nested else None
        return _attended(module.self_attn, own, own, own, sizes=sizes, **dict(zip(given, others, strict=False)))

    return Later(make, (src, *given.values(), *module.self_attn.parameters()))


def _attended(
    module: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding: Tensor | None = None,
    mask: Tensor | None = None,
    sizes: list[int] | None = None,
) -> Attended:
    """The heads' queries and keys, (B, H, Q, D), from what the module was given."""
    if not module.batch_first and query.dim() == 3:
        query, key, value = (side.transpose(0, 1) for side in (query, key, value))
    if query.dim() == 2:
        query, key, value = (side.unsqueeze(0) for side in (query, key, value))
        padding = None if padding is None else padding.unsqueeze(0)
    query, key, value = (
        _heads(module, F.linear(side, weight, bias))
        for side, (weight, bias) in zip((query, key, value), _projections(module), strict=True)
    )
    more = [(module.bias_k, module.bias_v)] if module.bias_k is not None else []
    if module.add_zero_attn:
        more.append((torch.zeros_like(key[:, :, :1]), torch.zeros_like(key[:, :, :1])))
    for extra_key, extra_value in more:
        shape = (len(key), module.num_heads, 1, module.head_dim)
        key = torch.cat((key, _one(module, extra_key).expand(shape)), -2)
        value = torch.cat((value, _one(module, extra_value).expand(shape)), -2)
    steps, tensors = [scaled(module.head_dim**-0.5)], []
    for one in (padding[:, None, None] if padding is not None else None, _by_head(module, mask)):
        if one is not None:
            tensors.append(F.pad(closed(one, query.dtype), (0, len(more))))
            steps.append(Step(torch.add, (SCORES, Slot(len(tensors) - 1)), {}))
    attended = replayed(query, key, value, tensors, steps, None if sizes is None else lengths(sizes))
    return Attended(pooled(attended.call, value), attended.call)


def _heads(module: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return x.unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2)


def _one(module: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return x if x.dim() == 4 else _heads(module, x)


def _by_head(module: nn.MultiheadAttention, mask: Tensor | None) -> Tensor | None:
    return mask if mask is None or mask.dim() == 2 else mask.unflatten(0, (-1, module.num_heads))


def _projections(module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """Weight and bias for queries, keys and values."""
    if module.in_proj_weight is not None:
        weights = list(module.in_proj_weight.chunk(3))
    else:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    biases = [None] * 3 if module.in_proj_bias is None else list(module.in_proj_bias.chunk(3))
    return list(zip(weights, biases, strict=True))
