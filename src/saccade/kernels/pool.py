"""Additive attention from scores to context in one call, for the few queries of a decoder's step.

Its meaning is softmax(`additive_scores`) over the live keys, times the values; rows with no live key give zeros. Where
there are many queries a matrix product pools faster, and this is not used.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.function import applied
from saccade.kernels.runtime import kernels_on, run

MOST_QUERIES = 8


def pooling_on(query: Tensor, key: Tensor, value: Tensor, vector: Tensor) -> bool:
    """Whether the kernel takes these: float32 on the CPU, (B, few, D), not while compiling for torch."""
    shaped = query.dim() == key.dim() == value.dim() == 3 and query.shape[1] <= MOST_QUERIES
    return shaped and not torch.compiler.is_compiling() and kernels_on(query, key, value, vector)


def additive_pool(
    query: Float[Tensor, "B Q D"],
    key: Float[Tensor, "B K D"],
    vector: Float[Tensor, " D"],
    value: Float[Tensor, "B K C"],
    live: Bool[Tensor, "B K"],
) -> Float[Tensor, "B Q C"]:
    """The context of each query; ask `pooling_on` first."""
    return applied(_Pool, query, key, vector, value, live)


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, vector: Tensor, value: Tensor, live: Tensor) -> Tensor:
        inputs = [part.detach().contiguous() for part in (query, key, vector, value, live)]
        weights = query.new_empty(query.shape[0], query.shape[1], key.shape[1])
        context = query.new_empty(*query.shape[:2], value.shape[2])
        run("pool_forward", *(part.numpy() for part in (*inputs, weights, context)))
        ctx.save_for_backward(*inputs, weights)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        inputs = (grad.contiguous(), *ctx.saved_tensors)
        query, key, vector = ctx.saved_tensors[:3]
        query_grad, key_grad = torch.empty_like(query), torch.zeros_like(key)
        vector_grad = query.new_zeros(query.shape[0], query.shape[2])
        outputs = (query_grad, key_grad, vector_grad)
        run("pool_backward", *(part.numpy() for part in (*inputs, *outputs)))
        return query_grad, key_grad.mul_(vector), vector_grad.sum(0), inputs[-1].transpose(1, 2) @ inputs[0], None
