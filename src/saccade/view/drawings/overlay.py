"""An image in tiles: put together again, once plain and once under the colors of its weights (Ilse et al. 2018)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from saccade.view.drawings import heatmap
from saccade.view.drawings.figure import Drawing, Figure, has_one_query, image_and_grid
from saccade.view.output import colors
from saccade.view.output.embedded_images import Pixels, address, image, sizes
from saccade.view.output.scales import Floats, LinearScale, symmetric
from saccade.view.output.screen import Screen
from saccade.view.output.svg import INK, PAPER, Attributes, document, element, text
from saccade.view.output.svg_layout import SMALL, Box, heading
from saccade.view.trace import Look, Scene

SIDE = 340.0  # of the image, its longer side
COVER = (0.3, 0.7)  # how much of it the color hides, from the smallest weight to the largest
WIDE = 2 * SIDE + 64


def span(weights: Floats, signed: bool = False) -> tuple[float, float]:
    """The range of the color ramp: from 0, or the smallest weight if below, to the largest; signed, as far to both sides."""
    low, high = min(0.0, float(weights.min())), max(0.0, float(weights.max()))
    return (symmetric((low, high)) if signed else None) or (low, high)


def painted(weights: Floats, grid: tuple[int, int], signed: bool = False) -> Pixels:
    """One translucent pixel for each tile. Shapes: weights (places) -> (rows, columns, 4)"""
    low, high = span(weights, signed)
    unit = LinearScale(low, high if high > low else 1.0)(weights.reshape(grid))
    strength = np.abs(2 * unit - 1) if signed else unit
    cover = (255 * (COVER[0] + (COVER[1] - COVER[0]) * strength)).round().astype(np.uint8)
    return np.concatenate([colors.ramp(unit, colors.SIGNED if signed else colors.ANCHORS), cover[:, :, None]], axis=2)


def svg(
    picture: Pixels,
    grid: tuple[int, int],
    weights: Floats,
    title: str,
    notes: Sequence[str] = (),
    *,
    signed: bool = False,
    framed: int | None = None,
) -> str:
    """The plain image at the left, the colored one at the right, and the color ramp below; one tile may have a frame."""
    wide, high = sizes(picture, SIDE)
    top, right = 64.0 + 18 * len(notes), 44 + wide
    low, high_weight = span(weights, signed)
    bottom = top + high + 16
    ramp = colors.ramp(np.linspace(0, 1, 64), colors.SIGNED if signed else colors.ANCHORS)[None]
    return document(
        WIDE,
        bottom + 40,
        title,
        *heading(title, notes),
        image(picture, 20, top, wide, high),
        image(picture, right, top, wide, high),
        image(painted(weights, grid, signed), right, top, wide, high),
        *(part for x in (20, right) for part in _frame(framed, grid, Box(x, top, wide, high))),
        image(ramp, right, bottom, 120, 10),
        text(f"{low:.3g}", right, bottom + 24, SMALL),
        text(f"{high_weight:.3g}", right + 120, bottom + 24, {**SMALL, "text-anchor": "end"}),
        text(f"{grid[0]} × {grid[1]} tiles", 20, bottom + 10, SMALL),
    )


def _frame(place: int | None, grid: tuple[int, int], ground: Box) -> list[str]:
    """The edges of a tile, light on dark, so that they are seen on any image."""
    if place is None:
        return []
    high, wide = ground.height / grid[0], ground.width / grid[1]
    row, column = divmod(place, grid[1])
    edges: Attributes = {
        "x": ground.x + column * wide,
        "y": ground.y + row * high,
        "width": wide,
        "height": high,
        "fill": "none",
    }
    return [element("rect", {**edges, "stroke": ink, "stroke-width": width}) for ink, width in ((INK, 4.0), (PAPER, 2.0))]


def _terminal(figure: Figure, screen: Screen) -> str:
    assert figure.keys.grid is not None
    return heatmap.terminal(
        figure.weights[0].reshape(figure.keys.grid), color=screen.color, width=screen.width, signed=figure.signed
    )


def _svg(figure: Figure) -> str:
    return svg(
        *image_and_grid(figure.scene, figure.look), figure.weights[0], figure.title, figure.notes, signed=figure.signed
    )


def _page(scene: Scene, look: Look) -> dict[str, Any]:
    picture, grid = image_and_grid(scene, look)
    return {"grid": list(grid), "cover": COVER, "crisp": picture.shape[1] <= SIDE, "images": [address(picture)]}


def _fits(scene: Scene, look: Look) -> bool:
    keys = scene.axes[look.keys]
    over = keys.images if look.kind != "attribution" else keys.whole_image()
    return has_one_query(scene, look) and over is not None and keys.grid is not None


DRAWING = Drawing(name="overlay", fits=_fits, terminal=_terminal, svg=_svg, page=_page)
