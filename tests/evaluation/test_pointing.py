"""Whether the largest weight lies in a box."""

import numpy as np
import pytest

from saccade.errors import ShapeError
from saccade.evaluation.pointing import grid_of, pointed


@pytest.mark.parametrize(
    ("cells", "shape", "grid"),
    [(36, (48, 48), (6, 6)), (12, (30, 40), (3, 4)), (12, (40, 30), (4, 3)), (7, (9, 60), (1, 7))],
)
def test_cells_divide_a_picture_evenly(cells: int, shape: tuple[int, int], grid: tuple[int, int]) -> None:
    assert grid_of(cells, *shape) == grid


@pytest.mark.parametrize(
    ("cell", "box", "hit"),
    [
        (5, (8, 8, 8, 8), True),
        (5, (8, 0, 8, 8), False),
        (0, (0, 0, 4, 4), True),
        (15, (12, 12, 4, 4), True),
        (5, (6, 6, 1, 1), False),
    ],
)
def test_the_middle_of_the_heaviest_cell_counts(cell: int, box: tuple[int, ...], hit: bool) -> None:
    weights = np.full(4, 0.01, np.float32).repeat(4)
    weights[cell] = 0.5
    # Cell 5 of a grid of 4 × 4 over 24 × 24 pixels lies from 6 to 12.
    assert pointed(weights, box, (24, 24) if cell == 5 else (16, 16)) is hit


def test_what_is_no_row_of_weights_is_refused() -> None:
    with pytest.raises(ShapeError, match="the weights of the cells"):
        pointed(np.zeros((2, 2), np.float32), (0, 0, 1, 1), (4, 4))
