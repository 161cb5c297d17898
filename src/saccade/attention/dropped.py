"""Dropout of attention weights over long sequences, forward and backward, in buffers that do not grow with their length.

softmax(scale · q·k + bias) v with some weights dropped, a block of rows after the other. Nothing of the size of the
weights is kept: for the gradient they are computed once more, and the same ones are dropped, from a seed that torch's
generator gave.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels import dropout_masks
from saccade.kernels.dropout_masks import rounded
from saccade.kernels.function import applied, differentiable_by, keep, kept


class Plan(NamedTuple):
    """All but the tensors: rows and columns of each block, and what a mask opens and a bias adds there.

    Shapes: `seen` gives (…, rows, columns) that broadcast to the leading dimensions, or None
    """

    blocks: Sequence[tuple[slice, slice]]
    leading: torch.Size
    seen: Callable[[slice, slice], tuple[Tensor | None, Tensor | None]]
    scale: float
    dropout: float


def dropped_pool(query: Tensor, key: Tensor, value: Tensor, plan: Plan) -> Tensor:
    """Context (…, Q, V); rows with nothing allowed give zeros. Neither a mask nor a bias gets a gradient."""
    flat = [part.reshape(-1, *part.shape[-2:]) for part in (query, key, value)]
    seed = int(torch.empty((), dtype=torch.int64).random_())
    return applied(_Dropped, *flat, plan, seed).view(*plan.leading, *query.shape[-2:-1], value.shape[-1])


def pool_definition(query: Tensor, key: Tensor, value: Tensor, plan: Plan, seed: int) -> Tensor:
    """The same with nothing written over, block after block: what a second derivative is taken of."""
    blocks = _Blocks(query, key, plan, seed)
    context, factor = value.new_zeros(*query.shape[:2], value.shape[-1]), rounded(plan.dropout)[1]
    for rows, columns in plan.blocks:
        scores = torch.bmm(query[:, rows] * plan.scale, key[:, columns].mT).view(
            *plan.leading, -1, columns.stop - columns.start
        )
        allowed, bias = plan.seen(rows, columns)
        scores = scores if bias is None else scores + bias
        if allowed is None:
            weights = scores.softmax(-1)
        else:
            empty = ~allowed.any(-1, keepdim=True)
            weights = scores.masked_fill(~(allowed | empty), -math.inf).softmax(-1).masked_fill(empty, 0)
        flat = weights.reshape(len(query), *weights.shape[-2:])
        part = torch.bmm(flat * blocks.kept(flat) * factor, value[:, columns])
        context = torch.cat((context[:, : rows.start], part, context[:, rows.stop :]), 1)
    return context


class _Blocks:
    """The weights of one block after the other, before dropout, and which are kept."""

    def __init__(self, query: Tensor, key: Tensor, plan: Plan, seed: int) -> None:
        self.query, self.key, self.plan = query, key, plan
        self.generator = torch.Generator(query.device).manual_seed(seed)
        self.size = max(
            len(query) * (rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in plan.blocks
        )
        self.buffer = query.new_empty(self.size)

    def weights(self, rows: slice, columns: slice) -> Tensor:
        """(N, rows, columns), in the buffer."""
        plan = self.plan
        scores = self.like(self.buffer, rows, columns)
        torch.bmm(self.query[:, rows] * plan.scale, self.key[:, columns].mT, out=scores)
        split = scores.view(*plan.leading, *scores.shape[1:])
        allowed, bias = plan.seen(rows, columns)
        if bias is not None:
            split.add_(bias)
        if allowed is None:
            return torch.softmax(scores, -1, out=scores)
        # A row with nothing open is opened for the softmax, and zeroed after it: no NaN, and no gradient.
        empty = ~allowed.any(-1, keepdim=True)
        split.masked_fill_(~(allowed | empty), -math.inf)
        torch.softmax(scores, -1, out=scores)
        split.masked_fill_(empty, 0)
        return scores

    def kept(self, weights: Tensor) -> Tensor:
        """Which weights stay, shaped like them; the same at each time that all blocks are gone through."""
        drawn = dropout_masks.kept(1, weights.numel(), self.plan.dropout, weights.device, self.generator)
        return drawn.view(weights.shape)

    def like(self, buffer: Tensor, rows: slice, columns: slice) -> Tensor:
        """A part of a buffer in the form of the weights."""
        size = (len(self.query), rows.stop - rows.start, columns.stop - columns.start)
        return buffer[: math.prod(size)].view(size)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, plan: Plan, seed: int) -> Tensor:
        context = value.new_zeros(*query.shape[:2], value.shape[-1])
        factor = rounded(plan.dropout)[1]
        blocks = _Blocks(query, key, plan, seed)
        for rows, columns in plan.blocks if plan.dropout < 1 else ():
            weights = blocks.weights(rows, columns)
            weights.mul_(blocks.kept(weights))
            context[:, rows] = torch.bmm(weights, value[:, columns]).mul_(factor)
        keep(ctx, (query, key, value, plan, seed), context)
        return context

    @staticmethod
    @differentiable_by(pool_definition)
    def backward(ctx: Any, pull: Tensor) -> tuple[Tensor | None, ...]:
        (query, key, value, plan, seed), (context,) = kept(ctx)
        blocks, factor = _Blocks(query, key, plan, seed), rounded(plan.dropout)[1]
        grads = [torch.zeros_like(part) for part in (query, key, value)]
        middle = (pull * context).sum(-1, keepdim=True)
        buffer = query.new_empty(blocks.size)
        for rows, columns in plan.blocks if plan.dropout < 1 else ():
            weights, pulled = blocks.weights(rows, columns), pull[:, rows] * factor
            stays, scores = blocks.kept(weights), blocks.like(buffer, rows, columns)
            torch.mul(weights, stays, out=scores)
            grads[2][:, columns] += torch.bmm(scores.mT, pulled)
            torch.bmm(pulled, value[:, columns].mT, out=scores)
            scores.mul_(stays).sub_(middle[:, rows]).mul_(weights).mul_(plan.scale)
            grads[0][:, rows] = torch.bmm(scores, key[:, columns])
            grads[1][:, columns] += torch.bmm(scores.mT, query[:, rows])
        return *grads, None, None
