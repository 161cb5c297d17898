"""Attention of many heads over short sequences, forward and backward, without copying heads apart.

softmax(scale · q k') v with dropout of the weights; what is closed by a mask gets no weight, and a row with nothing open
gives zeros. Its meaning is `pool_definition`; float32 on the CPU runs in `saccade.kernels.compiled_heads`.
"""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.function import applied
from saccade.kernels.panels import COLUMNS
from saccade.kernels.runtime import kernels_on, run

STEPS = 1 << 16  # a chance is rounded to a multiple of one in so many


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
    return applied(_PoolHeads, query, key, value, scale, allowed, causal, dropout)


def pool_definition(query: Tensor, key: Tensor, value: Tensor, scale: float, allowed: Tensor | None, causal: bool) -> Tensor:
    """The same in plain torch, without dropout."""
    scores = scale * (query @ key.transpose(-1, -2))
    if causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if allowed is None:
        return scores.softmax(-1) @ value
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    return weights.masked_fill(~allowed.any(-1, keepdim=True), 0) @ value


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
        dropout: float,
    ) -> Tensor:
        (B, H, Q, _), K, V = query.shape, key.shape[2], value.shape[3]
        kept = B if any(ctx.needs_input_grad[:3]) else 0
        weights, context = query.new_empty(kept, H, Q, K), query.new_empty(B, Q, H, V)
        open_ = np.zeros((0, 1, 1, 0), np.bool_) if allowed is None else _four(allowed, K).numpy()
        drops = _drops(dropout)
        arrays = [_flat(part) for part in (query, key, value)]
        numbers = (np.float32(scale), drops, weights.numpy(), context.numpy())
        run("heads_forward", *arrays, _places(query, key, value), open_, causal, *numbers)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale, ctx.drops = scale, drops
        return context.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, pull: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights = ctx.saved_tensors
        pull = pull if pull.stride(3) == 1 else pull.contiguous()
        given = (query, key, value, pull)
        grads = [query.new_empty(part.transpose(1, 2).shape) for part in (query, key, value)]
        arrays = [_flat(part) for part in given]
        numbers = (np.float32(ctx.scale), ctx.drops, weights.numpy(), *(grad.numpy() for grad in grads))
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


def _drops(dropout: float) -> tuple[np.uint64, np.uint32, np.float32]:
    """A seed from torch's generator, the limit below which a chance strikes out, and the factor of what is left."""
    if dropout <= 0:
        return np.uint64(0), np.uint32(0), np.float32(1)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    return np.uint64(seed), np.uint32(round(dropout * STEPS)), np.float32(1 / (1 - dropout))
