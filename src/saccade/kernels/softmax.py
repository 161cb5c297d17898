"""Softmax of rows of logits in their place, and its cross-entropy with its gradient: one pass over memory instead of five.

Its meaning is `cross_entropy_definition`; float32 on the CPU runs in `saccade.kernels.loops.softmax_loops`.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.runtime import kernels_on, run


def cross_entropy_(
    logits: Float[Tensor, "N V"], bias: Float[Tensor, " V"], target: Int[Tensor, " N"], smoothing: float
) -> Float[Tensor, " N"]:
    """−log softmax(logits + bias) at the target for each row, `smoothing` of it spread over all V alike.

    Afterwards `logits` hold the gradient of their row's loss for logits + bias. Not differentiable itself.
    """
    _check(target, logits.shape)
    if bias.shape != logits.shape[1:]:
        raise ShapeError(f"bias: expected {logits.shape[1]} numbers, got {tuple(bias.shape)}")
    if not kernels_on(logits, bias) or not logits.is_contiguous() or 0 in logits.shape:
        return cross_entropy_definition(logits, bias, target, smoothing)
    losses = logits.new_empty(len(logits))
    arrays = (part.detach().contiguous().numpy() for part in (bias, target))
    run("cross_entropy", logits.numpy(), *arrays, np.float32(smoothing), losses.numpy())
    return losses


def _check(target: Tensor, shape: torch.Size) -> None:
    """Refuse targets that there are not: the kernel would read and write somewhere else in memory."""
    if target.shape != shape[:1]:
        raise ShapeError(f"targets: expected one for each of {shape[0]} rows, got {tuple(target.shape)}")
    size = shape[1]
    if target.is_cpu and target.numel():
        low, high = (int(end) for end in target.aminmax())
        if low < 0 or high >= size:
            raise ShapeError(f"targets: expected 0 … {size - 1}, got {low if low < 0 else high}")


def log_totals(logits: Float[Tensor, "... V"]) -> Float[Tensor, "..."]:
    """log Σ exp over the last dimension: what is to be taken from logits to make log-probabilities of them."""
    if not kernels_on(logits) or logits.requires_grad or not logits.is_contiguous() or 0 in logits.shape:
        return torch.logsumexp(logits, -1)
    levels = logits.new_empty(logits.shape[:-1])
    run("log_totals", logits.detach().flatten(0, -2).numpy(), levels.flatten().numpy())
    return levels


def cross_entropy_definition(logits: Tensor, bias: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The same in plain torch."""
    logs = torch.log_softmax(logits.add_(bias), -1)
    answers = logs.gather(1, target[:, None])[:, 0]
    losses = -(1 - smoothing) * answers - smoothing * logs.mean(1)
    logits.copy_(logs.exp_()).sub_(smoothing / logits.shape[1])
    logits.scatter_add_(1, target[:, None], logits.new_full((len(target), 1), smoothing - 1))
    return losses
