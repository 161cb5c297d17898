"""What every `torch.autograd.Function` around a kernel needs: a typed call, its inputs kept, a gradient of its gradient.

A kernel computes a gradient once. Where the gradient of that gradient is wanted (`create_graph=True`), the plain form that
defines the kernel is differentiated instead, as often as one likes.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

Backward = Callable[..., Any]


def applied(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    """Its output, tied to its inputs for the gradient."""
    untyped: Any = function
    output: Tensor = untyped.apply(*inputs)
    return output


def keep(ctx: Any, inputs: Sequence[Any], *more: Tensor) -> None:
    """Keep the inputs of `forward`, as they came, and more tensors for backward."""
    tensors = [part for part in inputs if isinstance(part, Tensor)]
    ctx.others = [None if isinstance(part, Tensor) else (part,) for part in inputs]
    ctx.save_for_backward(*tensors, *more)


def kept(ctx: Any) -> tuple[list[Any], list[Tensor]]:
    """The inputs in their order, and the other tensors."""
    tensors = iter(ctx.saved_tensors)
    inputs = [next(tensors) if other is None else other[0] for other in ctx.others]
    return inputs, list(tensors)


def differentiable_by(definition: Callable[..., Tensor | tuple[Tensor, ...]]) -> Callable[[Backward], Backward]:
    """For a backward that cannot be differentiated itself: `definition` takes what `forward` takes, and can.

    A `forward` that went by the definition sets `ctx.plain`, and backward does, too.
    """

    def decorate(backward: Backward) -> Backward:
        @wraps(backward)
        def backward_or_definition(ctx: Any, *grads: Tensor | None) -> Any:
            again = torch.is_grad_enabled()
            if not (again or getattr(ctx, "plain", False)):
                return backward(ctx, *grads)
            with torch.enable_grad():
                return plain_gradients(definition, kept(ctx)[0], ctx.needs_input_grad, grads, again=again)

        return backward_or_definition

    return decorate


def plain_gradients(
    definition: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Sequence[Any],
    wanted: Sequence[bool],
    grads: Sequence[Tensor | None],
    *,
    again: bool,
) -> tuple[Tensor | None, ...]:
    """The gradients of the wanted inputs by the definition, with a graph of their own if they are differentiated `again`."""
    # Views, so that what one input owes to another is not counted as the gradient of the definition.
    own = [part.view_as(part) if need else part for part, need in zip(inputs, wanted, strict=True)]
    outputs = definition(*own)
    both = zip((outputs,) if isinstance(outputs, Tensor) else outputs, grads, strict=True)
    pairs = [(output, grad) for output, grad in both if grad is not None and output.requires_grad]
    leaves = [part for part, need in zip(own, wanted, strict=True) if need]
    outs, pulls = zip(*pairs, strict=True)
    gradients = iter(torch.autograd.grad(outs, leaves, pulls, create_graph=again, allow_unused=True))
    return tuple(next(gradients) if need else None for need in wanted)
