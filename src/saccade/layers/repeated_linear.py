"""A linear map used at every step of a loop, whose weight gradient is one matrix product after the last step.

Autograd would add to the gradient of the weight at each step: T small products, and the whole weight read and written
T times. Here a step's backward only notes its input and its gradient; when the loop's first state is reached, which
comes after all steps, the notes are joined and multiplied once. Notes belong to one call of backward: another that
ends on the way, because only a late input's gradient was asked for, leaves its own behind, and they are not counted.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.function import applied
from saccade.kernels.runtime import traced

Notes = dict[int, list[tuple[Tensor, Tensor]]]


def _this_backward() -> int:
    """A number of its own for each call of backward, the one by which torch's checkpointing tells them apart."""
    number: int = torch._C._current_graph_task_id()
    return number


class RepeatedLinear:
    """`weight` (out, in) for the steps of one loop: `start = begin(start)`, then `map(x, add)` at each step.

    Every x must depend on what `begin` returned; that is what a recurrent state does.
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self.notes: Notes = {}

    def begin(self, start: Tensor) -> Tensor:
        """The loop's first state, tied to the weight."""
        return start if traced() else applied(_Begin, start, self.weight, self.notes)

    def map(self, x: Tensor, add: Tensor | None = None) -> Tensor:
        """add + x W', for (B, in) and what broadcasts to (B, out)."""
        if traced() or torch.is_autocast_enabled(x.device.type):
            return F.linear(x, self.weight) if add is None else F.linear(x, self.weight) + add
        return applied(_Map, x, add, self.weight.detach(), self)


class _Begin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, start: Tensor, weight: Tensor, notes: Notes) -> Tensor:
        ctx.notes = notes
        return start.view_as(start)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        notes = ctx.notes.pop(_this_backward(), None)
        if notes is None:
            return grad, None, None
        gradients, inputs = (torch.cat(parts) for parts in zip(*notes, strict=True))
        return grad, gradients.t() @ inputs, None


class _Map(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, add: Tensor | None, weight: Tensor, repeated: RepeatedLinear) -> Tensor:
        ctx.repeated, ctx.add_shape = repeated, None if add is None else add.shape
        ctx.save_for_backward(x, weight)
        return x @ weight.t() if add is None else torch.addmm(add, x, weight.t())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        x, weight = ctx.saved_tensors
        # The weight itself, not only its numbers, where a gradient of this gradient is wanted.
        weight = ctx.repeated.weight if torch.is_grad_enabled() else weight
        ctx.repeated.notes.setdefault(_this_backward(), []).append((grad, x))
        added = None if ctx.add_shape is None else grad.sum_to_size(ctx.add_shape)
        return grad @ weight, added, None, None
