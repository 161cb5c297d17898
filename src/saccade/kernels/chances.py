"""Which numbers dropout keeps, drawn by torch's generator four at a time: one at a time takes eight times as long."""

import torch
from torch import Tensor

from saccade.kernels.heads import STEPS


def kept(rows: int, columns: int, dropout: float) -> Tensor:
    """(rows, columns) of 1 for what stays and 0 for what is struck out; a chance is rounded to one in 65,536."""
    count = rows * columns
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    stays = draws.view(torch.int16)[:count] >= round(dropout * STEPS) - STEPS // 2 if dropout < 1 else torch.zeros(count)
    return stays.to(torch.uint8).view(rows, columns)


def scale(dropout: float) -> float:
    """What is left is multiplied with this, so that the mean stays what it was."""
    return 1 / (1 - dropout) if dropout < 1 else 0.0
