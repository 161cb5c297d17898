"""Dropout of attention weights over long sequences, forward and backward, in buffers that do not grow with their length.

softmax(scale · q·k + bias) v with some weights struck out, a block of rows after the other. Nothing of the size of the
weights is kept: for the gradient they are computed once more, and the same ones are struck out, from a seed that torch's
generator gave.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.function import applied

# Chances as near as this to 0 or 1 are drawn in 32 bits; 16 bits are quicker, and enough for the others.
EXTREME = 1 / 1024


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


def kept(count: int, chance: float, device: torch.device, generator: torch.Generator | None = None) -> Tensor:
    """Which of so many numbers are not struck out. One draw of 64 bits decides on four, or on two."""
    kind = torch.int16 if EXTREME <= chance <= 1 - EXTREME else torch.int32
    each, steps = (4, 1 << 16) if kind == torch.int16 else (2, 1 << 32)
    draws = torch.empty(-(-count // each), dtype=torch.int64, device=device).random_(-(1 << 63), None, generator=generator)
    limit = min(round(chance * steps), steps - 1) - steps // 2  # the highest number is kept, whatever is rounded
    return draws.view(kind)[:count] >= limit


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
        return kept(weights.numel(), self.plan.dropout, weights.device, self.generator).view(weights.shape)

    def like(self, buffer: Tensor, rows: slice, columns: slice) -> Tensor:
        """A part of a buffer in the form of the weights."""
        size = (len(self.query), rows.stop - rows.start, columns.stop - columns.start)
        return buffer[: math.prod(size)].view(size)


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, plan: Plan, seed: int) -> Tensor:
        context = value.new_zeros(*query.shape[:2], value.shape[-1])
        ctx.plan, ctx.seed, ctx.factor = plan, seed, 1 / (1 - plan.dropout) if plan.dropout < 1 else 0.0
        blocks = _Blocks(query, key, plan, seed)
        for rows, columns in plan.blocks if plan.dropout < 1 else ():
            weights = blocks.weights(rows, columns)
            weights.mul_(blocks.kept(weights))
            context[:, rows] = torch.bmm(weights, value[:, columns]).mul_(ctx.factor)
        ctx.save_for_backward(query, key, value, context)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, pull: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, context = ctx.saved_tensors
        plan, blocks = ctx.plan, _Blocks(query, key, ctx.plan, ctx.seed)
        grads = [torch.zeros_like(part) for part in (query, key, value)]
        middle = (pull * context).sum(-1, keepdim=True)
        buffer = query.new_empty(blocks.size)
        for rows, columns in plan.blocks if plan.dropout < 1 else ():
            weights, pulled = blocks.weights(rows, columns), pull[:, rows] * ctx.factor
            stays, scores = blocks.kept(weights), blocks.like(buffer, rows, columns)
            torch.mul(weights, stays, out=scores)
            grads[2][:, columns] += torch.bmm(scores.mT, pulled)
            torch.bmm(pulled, value[:, columns].mT, out=scores)
            scores.mul_(stays).sub_(middle[:, rows]).mul_(weights).mul_(plan.scale)
            grads[0][:, rows] = torch.bmm(scores, key[:, columns])
            grads[1][:, columns] += torch.bmm(scores.mT, query[:, rows])
        return *grads, None, None
