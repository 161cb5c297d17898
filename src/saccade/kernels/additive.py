"""Additive scores, v'tanh(q + k) for every pair, without the B×Q×K×D tensor (Bahdanau et al. 2015, eq. 6).

`additive_scores` is a torch operator: autograd, `torch.compile` and fake tensors see one node. Its meaning is
`scores_definition` and `gradients_definition` below, plain torch in blocks; float32 on the CPU runs the same sums in
`saccade.kernels.loops.additive_loops`.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run, traced

# The plain form holds at most about this many numbers of the B×Q×K×D tensor at a time.
BLOCK_NUMBERS = 1 << 22


def scores_definition(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    """(B,Q,D), (B,K,D), (D) -> (B,Q,K), a few query rows at a time."""
    parts = [torch.tanh(query[:, rows, None] + key[:, None]) @ vector for rows in _blocks(query, key)]
    return torch.cat(parts, 1) if parts else query.new_zeros(query.shape[0], 0, key.shape[1])


def gradients_definition(grad: Tensor, query: Tensor, key: Tensor, vector: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for query, key and vector, with tanh computed again block by block."""
    query_grad, key_grad, vector_grad = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(vector)
    for rows in _blocks(query, key):
        t = torch.tanh(query[:, rows, None] + key[:, None])
        pull = grad[:, rows, :, None]
        vector_grad += (pull * t).sum((0, 1, 2))
        slope = pull * (1 - t * t)
        query_grad[:, rows] = slope.sum(2) * vector
        key_grad += slope.sum(1) * vector
    return query_grad, key_grad, vector_grad


def _blocks(query: Tensor, key: Tensor) -> Iterator[slice]:
    B, Q, D = query.shape
    rows = max(1, BLOCK_NUMBERS // max(1, B * key.shape[1] * D))
    return (slice(first, min(first + rows, Q)) for first in range(0, Q, rows))


def _scores(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    if not kernels_on(query, key, vector):
        return scores_definition(query, key, vector)
    scores = query.new_empty(query.shape[0], query.shape[1], key.shape[1])
    run("additive_forward", *_arrays(query, key, vector), scores.numpy())
    return scores


def _gradients(grad: Tensor, query: Tensor, key: Tensor, vector: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if not kernels_on(grad, query, key, vector):
        return gradients_definition(grad, query, key, vector)
    query_grad, key_grad = (torch.empty(t.shape) for t in (query, key))
    vector_grad = torch.empty(query.shape[0], query.shape[2])
    outputs = (t.numpy() for t in (query_grad, key_grad, vector_grad))
    run("additive_backward", *_arrays(grad, query, key, vector), *outputs)
    return query_grad, key_grad, vector_grad.sum(0)


def _arrays(*tensors: Tensor) -> Iterator[object]:
    return (t.detach().contiguous().numpy() for t in tensors)


def _fake_scores(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    return query.new_empty(query.shape[0], query.shape[1], key.shape[1])


def _fake_gradients(grad: Tensor, query: Tensor, key: Tensor, vector: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), vector.new_empty(vector.shape)


def _keep(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: torch.autograd.function.NestedIOFunction, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gradients: tuple[Tensor, Tensor, Tensor] = torch.ops.saccade.additive_gradients(grad, *ctx.saved_tensors)
    return gradients


library = torch.library.Library("saccade", "DEF")
library.define("additive_scores(Tensor query, Tensor key, Tensor vector) -> Tensor")
library.define("additive_gradients(Tensor grad, Tensor query, Tensor key, Tensor vector) -> (Tensor, Tensor, Tensor)")
library.impl("additive_scores", _scores, "CompositeExplicitAutograd")
library.impl("additive_gradients", _gradients, "CompositeExplicitAutograd")
torch.library.register_fake("saccade::additive_scores", _fake_scores, lib=library)
torch.library.register_fake("saccade::additive_gradients", _fake_gradients, lib=library)
torch.library.register_autograd("saccade::additive_scores", _backward, setup_context=_keep, lib=library)
_operator = torch.ops.saccade.additive_scores.default


def additive_scores(
    query: Float[Tensor, "B Q D"], key: Float[Tensor, "B K D"], vector: Float[Tensor, " D"]
) -> Float[Tensor, "B Q K"]:
    """vector'tanh(query_i + key_j) for each pair, as one differentiable operator."""
    inputs = (query, key, vector)
    if torch.compiler.is_compiling():
        scores: Tensor = _operator(*inputs)
        return scores
    if traced():
        return scores_definition(*inputs)
    # A decoder's step takes a fifth of a millisecond: the way through the dispatcher, which takes as long, is saved.
    wanted = torch.is_grad_enabled() and any(t.requires_grad for t in inputs)
    return applied(_Additive, *inputs) if wanted else _scores(*inputs)


class _Additive(torch.autograd.Function):
    """The operator for eager use; the same two functions."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
        keep(ctx, (query, key, vector))
        return _scores(query, key, vector)

    @staticmethod
    @differentiable_by(scores_definition)
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _gradients(grad, *kept(ctx)[0])
