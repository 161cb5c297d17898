"""Which numbers dropout keeps, drawn by torch's generator four at a time: one at a time takes eight times as long."""

import torch
from torch import Tensor

STEPS = 1 << 16  # a chance is rounded to a multiple of one in so many


def rounded(dropout: float) -> tuple[int, float]:
    """How many of 65,536 chances drop a number, and the factor of what is left, so that the mean stays what it was.

    Below 1 at least one chance is left to keep it; at 1 nothing is left.
    """
    if dropout >= 1:
        return STEPS, 0.0
    dropped = min(round(dropout * STEPS), STEPS - 1)
    # Where little is left, what a chance was rounded by is much of it: there the mean is kept by the rounded one.
    return dropped, 1 / (1 - dropout) if dropout <= 0.99 else STEPS / (STEPS - dropped)


def kept(
    rows: int,
    columns: int,
    dropout: float,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """(rows, columns) of True for what stays and False for what is dropped."""
    count, (dropped, _) = rows * columns, rounded(dropout)
    if dropped == STEPS:
        return torch.zeros(rows, columns, dtype=torch.bool, device=device)
    if torch.compiler.is_compiling():  # which cannot take `random_`
        return torch.rand(rows, columns, device=device, generator=generator) >= dropped / STEPS
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(1 << 63), None, generator=generator)
    return (draws.view(torch.int16)[:count] >= dropped - STEPS // 2).view(rows, columns)
