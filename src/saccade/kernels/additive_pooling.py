"""Additive attention from scores to context in one call, for the few queries of a decoder's step.

Its meaning is softmax(`additive_scores`) over the live keys, times the values; rows with no live key give zeros. Where
there are many queries a matrix product pools faster, and this is not used.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade.kernels.additive import scores_definition
from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run

MOST_QUERIES = 8


def pooling_on(query: Tensor, key: Tensor, value: Tensor, vector: Tensor) -> bool:
    """Whether the kernel takes these: float32 on the CPU, (B, few, D)."""
    shaped = query.dim() == key.dim() == value.dim() == 3 and query.shape[1] <= MOST_QUERIES
    return shaped and kernels_on(query, key, value, vector)


def additive_pool(
    query: Float[Tensor, "B Q D"],
    key: Float[Tensor, "B K D"],
    vector: Float[Tensor, " D"],
    value: Float[Tensor, "B K C"],
    live: Bool[Tensor, "B K"],
) -> Float[Tensor, "B Q C"]:
    """The context of each query; ask `pooling_on` first."""
    return applied(_AdditivePool, query, key, vector, value, live)


def pool_definition(query: Tensor, key: Tensor, vector: Tensor, value: Tensor, live: Tensor) -> Tensor:
    """The same in plain torch."""
    scores = scores_definition(query, key, vector).masked_fill(~live[:, None], -math.inf)
    return scores.masked_fill(~live.any(-1)[:, None, None], 0).softmax(-1).masked_fill(~live[:, None], 0) @ value


class _AdditivePool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, vector: Tensor, value: Tensor, live: Tensor) -> Tensor:
        inputs = [part.detach().contiguous() for part in (query, key, vector, value, live)]
        weights = query.new_empty(query.shape[0], query.shape[1], key.shape[1])
        context = query.new_empty(*query.shape[:2], value.shape[2])
        run("pool_forward", *(part.numpy() for part in (*inputs, weights, context)))
        keep(ctx, (query, key, vector, value, live), weights)
        return context

    @staticmethod
    @differentiable_by(pool_definition)
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        given, (weights,) = kept(ctx)
        inputs = [part.detach().contiguous() for part in (grad, *given, weights)]
        query, key, vector = inputs[1:4]
        query_grad, key_grad = torch.empty_like(query), torch.zeros_like(key)
        vector_grad = query.new_zeros(query.shape[0], query.shape[2])
        outputs = (query_grad, key_grad, vector_grad)
        run("pool_backward", *(part.numpy() for part in (*inputs, *outputs)))
        return query_grad, key_grad.mul_(vector), vector_grad.sum(0), inputs[-1].transpose(1, 2) @ inputs[0], None
