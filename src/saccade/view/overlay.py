"""A picture whose tiles were looked at: put together again, once plain and once under its weights (Ilse et al. 2018)."""

from collections.abc import Sequence

import numpy as np

from saccade.view import colors
from saccade.view.elements import document, text
from saccade.view.gallery import sizes
from saccade.view.images import Pixels, image
from saccade.view.panels import SMALL, heading
from saccade.view.scales import Floats, Scale

SIDE = 340.0  # of a picture: its longer side
COVER = (0.3, 0.7)  # how much of it the color hides, from the smallest weight to the largest
WIDE = 2 * SIDE + 64


def whole(tiles: Pixels, grid: tuple[int, int]) -> Pixels:
    """The one picture that the tiles came from, row by row.

    Shapes: tiles (rows·columns, height, width, …) -> (rows·height, columns·width, …)
    """
    rows, columns = grid
    height, width = tiles.shape[1:3]
    apart = tiles.reshape(rows, columns, *tiles.shape[1:])
    return np.ascontiguousarray(apart.swapaxes(1, 2).reshape(rows * height, columns * width, *tiles.shape[3:]))


def span(weights: Floats) -> tuple[float, float]:
    """What the ramp runs over: from 0, or from below where a weight is, to the largest."""
    return min(0.0, float(weights.min())), max(0.0, float(weights.max()))


def painted(weights: Floats, grid: tuple[int, int]) -> Pixels:
    """One translucent pixel for each tile. Shapes: weights (places) -> (rows, columns, 4)"""
    low, high = span(weights)
    unit = Scale(low, high if high > low else 1.0)(weights.reshape(grid))
    cover = (255 * (COVER[0] + (COVER[1] - COVER[0]) * unit)).round().astype(np.uint8)
    return np.concatenate([colors.ramp(unit), cover[:, :, None]], axis=2)


def svg(tiles: Pixels, grid: tuple[int, int], weights: Floats, title: str, notes: Sequence[str] = ()) -> str:
    """The plain picture at the left, the painted one at the right, and what the colors mean below."""
    picture = whole(tiles, grid)
    wide, high = sizes(picture.shape[0], picture.shape[1], SIDE)
    top, right = 64.0 + 18 * len(notes), 44 + wide
    low, high_weight = span(weights)
    bottom = top + high + 16
    ramp = colors.ramp(np.linspace(0, 1, 64))[None]
    return document(
        WIDE,
        bottom + 40,
        title,
        *heading(title, notes),
        image(picture, 20, top, wide, high),
        image(picture, right, top, wide, high),
        image(painted(weights, grid), right, top, wide, high),
        image(ramp, right, bottom, 120, 10),
        text(f"{low:.3g}", right, bottom + 24, SMALL),
        text(f"{high_weight:.3g}", right + 120, bottom + 24, {**SMALL, "text-anchor": "end"}),
        text(f"{grid[0]} × {grid[1]} tiles", 20, bottom + 10, SMALL),
    )
