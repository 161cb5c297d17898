"""The attention of torch's own modules, from their inputs: their fast path shows nothing but its output."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Attended
from saccade.attention.looks import Later
from saccade.attention.masks import lengths
from saccade.inside.replayed import added, closed, pooled, replayed, scaled

# Modules with a fast path that closes when anybody watches torch's functions.
FAST = (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)


def is_fast(module: nn.Module) -> bool:
    """Whether this is one of them, with torch's own forward."""
    kind = next((kind for kind in FAST if isinstance(module, kind)), None)
    return kind is not None and type(module).forward is kind.forward


def of_multihead(
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
    """What a call of nn.MultiheadAttention with these arguments looked at."""
    masks = _Masks(key_padding_mask, attn_mask)

    def make(query: Tensor, key: Tensor, value: Tensor, *given: Tensor) -> Attended:
        return _attended(module, query, key, value, masks.of(given))

    return Later(make, (query, key, value, *masks.given(), *module.parameters()))


def of_encoder_layer(
    module: nn.TransformerEncoderLayer,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Later:
    """What a call of nn.TransformerEncoderLayer looked at on its fast path, which does not call its attention."""
    masks = _Masks(src_key_padding_mask, src_mask)

    def make(src: Tensor, *given: Tensor) -> Attended:
        sizes = [len(one) for one in src.unbind()] if src.is_nested else None
        own = src.to_padded_tensor(0.0) if src.is_nested else src
        own = module.norm1(own) if module.norm_first else own
        return _attended(module.self_attn, own, own, own, masks.of(given), sizes)

    return Later(make, (src, *masks.given(), *module.self_attn.parameters()))


class _Masks(NamedTuple):
    """Of keys, (B, K), and of pairs, (Q, K) or (B · H, Q, K); True closes, numbers are added to scores."""

    padding: Tensor | None
    pairs: Tensor | None

    def given(self) -> list[Tensor]:
        """Those that there are."""
        return [mask for mask in self if mask is not None]

    def of(self, tensors: Sequence[Tensor]) -> "_Masks":
        """The same, from what `given` gave."""
        left = iter(tensors)
        return _Masks(*(None if mask is None else next(left) for mask in self))


def _attended(
    module: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor, masks: _Masks, sizes: list[int] | None = None
) -> Attended:
    """The heads' queries and keys, (B, H, Q, D), from what the module was given."""
    padding = masks.padding
    if not module.batch_first and query.dim() == 3:
        query, key, value = (side.transpose(0, 1) for side in (query, key, value))
    if query.dim() == 2:
        query, key, value = (side.unsqueeze(0) for side in (query, key, value))
        padding = None if padding is None else padding.unsqueeze(0)
    query, key, value = (
        _heads(module, F.linear(side, weight, bias))
        for side, (weight, bias) in zip((query, key, value), _projections(module), strict=True)
    )
    more = [] if module.bias_k is None or module.bias_v is None else [(module.bias_k, module.bias_v)]
    if module.add_zero_attn:
        more.append((module.out_proj.weight.new_zeros(1, 1, module.embed_dim),) * 2)
    for vectors in more:
        shape = (len(key), module.num_heads, 1, module.head_dim)
        extra_key, extra_value = (_heads(module, vector).expand(shape) for vector in vectors)
        key, value = torch.cat((key, extra_key), -2), torch.cat((value, extra_value), -2)
    by_pair = masks.pairs
    if by_pair is not None and by_pair.dim() == 3:
        by_pair = by_pair.reshape(-1, module.num_heads, *by_pair.shape[1:])
    tensors = [
        F.pad(closed(mask, query.dtype), (0, len(more)))
        for mask in (None if padding is None else padding[:, None, None], by_pair)
        if mask is not None
    ]
    steps = [scaled(module.head_dim**-0.5), *(added(number) for number in range(len(tensors)))]
    call = replayed(query, key, value, tensors, steps, None if sizes is None else lengths(sizes)).call
    return Attended(pooled(call, value), call)


def _heads(module: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-1], module.num_heads, module.head_dim).transpose(1, 2)


def _projections(module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """Weight and bias for queries, keys and values."""
    if module.in_proj_weight is not None:
        weights = list(module.in_proj_weight.chunk(3))
    else:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    biases: Sequence[Tensor | None] = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    return list(zip(weights, biases, strict=True))
