"""Cross-entropy of a linear output layer without keeping its logits, a block of rows at a time.

The N × V logits of a large vocabulary, their softmax and its gradient would be the largest tensors of a training step,
and each fresh page of memory is dear. One block's buffer is used again and again, and the gradients are made on the way
forward, when the block's probabilities are at hand.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.function import applied, differentiable_by, keep
from saccade.kernels.packed_weights import PackedWeight
from saccade.kernels.packed_weights import times as panel_times
from saccade.kernels.products import product
from saccade.kernels.runtime import traced
from saccade.kernels.softmax import cross_entropy_
from saccade.kernels.wide_products import times, wide
from saccade.layers.linear import OutputWeights, rounded_at_rest

# Numbers of one block of logits, 32 MB of float32: enough rows for a fast matrix product.
BLOCK_NUMBERS = 1 << 23
# A target that counts nothing, as in torch.
IGNORED = -100


def live_rows(
    x: Float[Tensor, "A B D"], target: Int[Tensor, "A B"], live: Bool[Tensor, "A B"]
) -> tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]:
    """The positions that are predicted, without padding, and their targets.

    To leave padding out takes a look at the numbers of `live`. Where these are not at hand, on another device or while torch
    traces, it stays, with a target that is ignored.
    """
    if traced() or not live.is_cpu:
        return x.flatten(0, 1), target.masked_fill(~live, IGNORED).flatten()
    return (x.flatten(0, 1), target.flatten()) if live.all() else (x[live], target[live])


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    target: Int[Tensor, " N"],
    smoothing: float = 0.0,
    ignore_index: int = IGNORED,
) -> Float[Tensor, ""]:
    """Sum over the rows of −log p(target), p = softmax(hidden weight' + bias); `smoothing` of the target's share goes
    to all V alike (Szegedy et al. 2016), as in `torch.nn.functional.cross_entropy`.

    Rows whose target is `ignore_index` count nothing, whatever is in them.
    """
    _check(hidden, weight, bias, target)
    live = target != ignore_index
    if traced() or not hidden.is_cpu:
        rows = hidden.masked_fill(~live[:, None], 0)
        return cross_entropy_definition(rows, weight, bias, target, smoothing, ignore_index=ignore_index)
    if not live.all():
        hidden, target = hidden[live], target[live]
    # Asked for inside `forward`, where gradients are always off, this could not be told from evaluation.
    wanted = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (hidden, weight, bias))
    if not wanted and (panels := rounded_at_rest(OutputWeights(weight, bias), hidden)):
        return _of_panels(hidden, panels, target, smoothing)
    return applied(_LinearCrossEntropy, hidden, weight, bias, target, smoothing, wanted)


def _of_panels(hidden: Tensor, panels: PackedWeight, target: Tensor, smoothing: float) -> Tensor:
    """The same by weights that were rounded, as texts are written by them."""
    rows, total = max(1, BLOCK_NUMBERS // panels.width), hidden.new_zeros((), dtype=torch.float64)
    nothing = hidden.new_zeros(panels.width)  # the panels have the bias
    for given, wanted in zip(hidden.split(rows), target.split(rows), strict=True):
        total += cross_entropy_(panel_times(given, panels), nothing, wanted, smoothing).sum(dtype=torch.float64)
    return total.to(hidden.dtype)


def _check(hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> None:
    """Refuse what does not fit: a kernel would read and write beyond it."""
    shapes = [tuple(part.shape) for part in (hidden, weight, bias, target)]
    if (
        hidden.dim() != 2
        or weight.dim() != 2
        or shapes
        != [
            (len(hidden), weight.shape[1]),
            (len(weight), hidden.shape[1]),
            (len(weight),),
            (len(hidden),),
        ]
    ):
        got = ", ".join(map(str, shapes))
        raise ShapeError(f"expected hidden (N, D), weight (V, D), bias (V,) and target (N,), got {got}")
    if target.is_floating_point() or target.dtype == torch.bool:
        raise ShapeError(f"target: expected the number of a class for each row, got {target.dtype}")


def cross_entropy_definition(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    target: Tensor,
    smoothing: float,
    wanted: bool = True,
    *,
    ignore_index: int = IGNORED,
) -> Tensor:
    """The same in plain torch."""
    logits = F.linear(hidden, weight, bias)
    return F.cross_entropy(logits, target, reduction="sum", label_smoothing=smoothing, ignore_index=ignore_index)


def _add_gradients(
    grads: tuple[Tensor, Tensor, Tensor], block: slice, pull: Tensor, given: Tensor, weight: Tensor, *, quick: bool
) -> None:
    """Of these rows, into those of all: of the hidden vectors, the weight and the bias."""
    if quick:
        grads[0][block] = times(pull, weight.t())
        own = times(pull.t(), given.t())
        grads[1].add_(own) if block.start else grads[1].copy_(own)
    else:
        product(pull, weight, out=grads[0][block])
        torch.addmm(grads[1], pull.t(), given, beta=float(block.start > 0), out=grads[1])
    grads[2].add_(pull.sum(0))


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float, wanted: bool
    ) -> Tensor:
        rows = max(1, min(len(hidden), BLOCK_NUMBERS // len(weight)))
        quick = wide(hidden[:rows], weight)
        buffer = hidden.new_empty(0 if quick else rows, len(weight))
        grads = (torch.empty_like(hidden), torch.empty_like(weight), torch.zeros_like(bias)) if wanted else None
        total = hidden.new_zeros((), dtype=torch.float64)
        for first in range(0, len(hidden), rows):
            block = slice(first, first + rows)
            given = hidden[block]
            logits = times(given, weight) if quick else product(given, weight.t(), out=buffer[: len(given)])
            total += cross_entropy_(logits, bias, target[block], smoothing).sum(dtype=torch.float64)
            if grads is not None:
                pull = logits  # what they have become
                _add_gradients(grads, block, pull, given, weight, quick=quick)
        ctx.grads = grads if len(hidden) or grads is None else tuple(grad.zero_() for grad in grads)
        keep(ctx, (hidden, weight, bias, target, smoothing, wanted))
        return total.to(hidden.dtype)

    @staticmethod
    @differentiable_by(cross_entropy_definition)
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        if not ctx.grads:
            raise RuntimeError("linear_cross_entropy gives its gradients away once; compute the loss again")
        hidden, weight, bias = ctx.grads if grad == 1 else (part.mul_(grad) for part in ctx.grads)
        ctx.grads = ()
        return hidden, weight, bias, None, None, None
