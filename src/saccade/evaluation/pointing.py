"""Whether attention over a picture points at what a word names: the pointing game (Zhang et al. 2016)."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError


def grid_of(cells: int, height: int, width: int) -> tuple[int, int]:
    """Rows and columns of so many cells that divide a picture of this shape most evenly."""
    known = [(rows, cells // rows) for rows in range(1, cells + 1) if cells % rows == 0]
    return min(known, key=lambda grid: abs(math.log((height / grid[0]) / (width / grid[1]))))


def pointed(weights: NDArray[np.float32], box: Sequence[int], shape: tuple[int, ...]) -> bool:
    """Whether the middle of the cell with the largest weight lies in a box: row, column, height and width in pixels."""
    if weights.ndim != 1 or not len(weights):
        raise ShapeError(f"expected the weights of the cells of a grid, got {weights.shape}")
    rows, columns = grid_of(len(weights), shape[0], shape[1])
    row, column = divmod(int(weights.argmax()), columns)
    down, right = (row + 0.5) * shape[0] / rows, (column + 0.5) * shape[1] / columns
    top, left, height, width = box
    return top <= down < top + height and left <= right < left + width
