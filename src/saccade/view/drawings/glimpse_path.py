"""A path of glimpses over an image: numbered boxes joined by a line, and what each one saw (Mnih et al. 2014, figure 3)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.embedded_images import Pixels, address, fitted, image, resized, sizes
from saccade.view.output.scales import Floats
from saccade.view.output.screen import Screen, half_blocks
from saccade.view.output.svg import FAINT, INK, PAPER, Attributes, circle, document, element, polyline, text
from saccade.view.output.svg_layout import CENTERED, SMALL, Box, heading
from saccade.view.trace import Look, Scene

WIDE, SIDE, CROP, APART = 760.0, 340.0, 76.0, 14.0  # of the drawing; the image's and a glimpse's longer side; between
FINEST = 96  # pixels of a glimpse, at the most
AIR = 14.0  # how far a box may reach out of the image
TOLD = 3  # numbers of steps at the same place, at the most
COLUMNS = 32  # of the image in the terminal
CROP_COLUMNS = 12  # of a glimpse there
DIGITS = "123456789abcdefghijklmnopqrstuvwxyz"  # marks of the steps in the terminal


def boxes(look: Look) -> Floats:
    """Every box of every step, the smallest scale first. Shapes: (steps, scales, 4)"""
    assert look.places is not None
    places = look.places.reshape(len(look.places), -1, 4).astype(np.float64)
    order = np.argsort(places[:, :, 2] * places[:, :, 3], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(places, order[:, :, None], axis=1))


def centers(places: Floats) -> Floats:
    """Row and column of the middle of each step's smallest box. Shapes: (steps, 2)"""
    return np.asarray(places[:, 0, :2] + places[:, 0, 2:] / 2)


def glimpse(picture: Pixels, box: Floats) -> Pixels:
    """The part of the image in the box; what is outside of the image is gray. Shapes: (height, width, 3)"""
    top, left, height, width = box.tolist()
    counts = [int(np.clip(np.ceil(size), 1, FINEST)) for size in (height, width)]
    rows, columns = (
        np.floor(start + (np.arange(count) + 0.5) * size / count)
        for start, size, count in zip((top, left), (height, width), counts, strict=True)
    )
    inside = [(places >= 0) & (places < size) for places, size in zip((rows, columns), picture.shape, strict=False)]
    known = [np.where(kept, places, 0).astype(np.int64) for kept, places in zip(inside, (rows, columns), strict=True)]
    seen = picture[np.ix_(*known)] if picture.ndim == 3 else picture[np.ix_(*known)][:, :, None]
    return np.asarray(np.where(np.outer(*inside)[:, :, None], seen, np.array(colors.MISSING)), dtype=np.uint8)


def seen(picture: Pixels, scales: Floats) -> list[Pixels]:
    """What is in the boxes of one step, each with as many pixels as the smallest has: the wider a box, the coarser.

    Shapes: scales (scales, 4) -> (height, width, 3) each
    """
    windows = [glimpse(picture, box) for box in scales]
    height, width = windows[0].shape[:2]
    return [_coarser(window, height, width) for window in windows]


def _coarser(window: Pixels, height: int, width: int) -> Pixels:
    """The mean of each block of pixels, where blocks come out even."""
    if window.shape[0] % height or window.shape[1] % width:
        return window
    blocks = window.reshape(height, window.shape[0] // height, width, window.shape[1] // width, 3)
    return np.asarray(blocks.mean((1, 3)).round(), dtype=np.uint8)


def _picture(scene: Scene, look: Look) -> Pixels:
    picture = scene.axes[look.keys].whole_image()
    assert picture is not None
    return picture


def svg(figure: Figure) -> str:
    """The image with the path at the left; at the right what each glimpse saw, all its scales side by side."""
    picture, places = _picture(figure.scene, figure.look), boxes(figure.look)
    wide, high = sizes(picture, SIDE)
    ground = Box(20 + AIR, 60.0 + AIR + 18 * len(figure.notes), wide, high)
    parts = [*heading(figure.title, figure.notes), image(picture, ground.x, ground.y, wide, high)]
    parts += _path(places, ground, picture.shape[0], picture.shape[1])
    group = places.shape[1] * (CROP + 4) - 4
    start = ground.right + 2 * AIR
    columns = max(1, int((WIDE - start - 20 + APART) / (group + APART)))
    down, names = CROP + 24 + APART, _names(figure)
    for step, box in enumerate(places):
        x, y = start + step % columns * (group + APART), ground.y + step // columns * down
        parts.append(text(names[step], x, y + 2, SMALL, longest=int(group / 6.6)))
        for scale, pixels in enumerate(seen(picture, box)):
            parts += _crop(pixels, box[scale], x + scale * (CROP + 4), y + 10)
    bottom = max(ground.bottom + AIR, ground.y + -(-len(places) // columns) * down)
    outer = max(WIDE, start + group + 20)
    return document(outer, bottom + 12, figure.title, *parts)


def _names(figure: Figure) -> list[str]:
    """The number of each step, with its label where this says more."""
    labels = enumerate(figure.names(figure.queries), 1)
    return [str(step) if label in (str(step), str(step - 1), '""') else f"{step}  {label}" for step, label in labels]


def _path(places: Floats, ground: Box, height: int, width: int) -> list[str]:
    """The boxes, the line through their middles, and the numbers on it; dark edges keep them visible on any image."""
    down, across = ground.height / height, ground.width / width
    shades = [colors.ramp(0.45 + 0.55 * step / max(1, len(places) - 1)) for step in range(len(places))]
    parts = []
    for step, scales in enumerate(places):
        for scale, (top, left, tall, wide) in enumerate(scales.tolist()):
            ends = np.array([left, left + wide]) * across, np.array([top, top + tall]) * down
            x, y = (np.clip(end, -AIR, size + AIR) for end, size in zip(ends, (ground.width, ground.height), strict=True))
            frame = {"x": ground.x + x[0], "y": ground.y + y[0], "width": x[1] - x[0], "height": y[1] - y[0], "fill": "none"}
            thick = 2.4 if scale == 0 else 1.2
            parts.append(element("rect", {**frame, "stroke": INK, "stroke-width": thick + 1.6}))
            parts.append(element("rect", {**frame, "stroke": colors.hexadecimal(shades[step]), "stroke-width": thick}))
    middles = centers(places)
    x = ground.x + np.clip(middles[:, 1] * across, -AIR, ground.width + AIR)
    y = ground.y + np.clip(middles[:, 0] * down, -AIR, ground.height + AIR)
    parts += [polyline(x, y, {"stroke": ink, "stroke-width": width}) for ink, width in ((INK, 4.4), (PAPER, 2.0))]
    for steps in reversed(visits(middles)):  # the first steps on top
        first, number = steps[0], " ".join(str(step + 1) for step in steps[:TOLD]) + " …" * (len(steps) > TOLD)
        fill: Attributes = {"fill": colors.hexadecimal(shades[first]), "stroke": INK, "stroke-width": 1.4}
        parts += _dot(float(x[first]), float(y[first]), number, fill)
    return parts


def visits(middles: Floats) -> list[list[int]]:
    """The steps of each place that was looked at, in the order of the first. Shapes: (steps, 2)"""
    found: dict[tuple[float, ...], list[int]] = {}
    for step, middle in enumerate(middles.tolist()):
        found.setdefault(tuple(middle), []).append(step)
    return list(found.values())


def _dot(x: float, y: float, number: str, fill: Attributes) -> list[str]:
    """A number in a circle, several in one that is drawn out."""
    wide = 18 + 6.4 * (len(number) - 1)
    drawn = element("rect", {"x": x - wide / 2, "y": y - 9, "width": wide, "height": 18, "rx": 9, **fill})
    label = text(number, x, y + 4, {**CENTERED, "fill": INK, "font-weight": 700})
    return [drawn if " " in number else circle(x, y, 9, fill), label]


def _crop(pixels: Pixels, box: Floats, x: float, y: float) -> list[str]:
    wide, high = fitted(float(box[2]), float(box[3]), CROP)
    edge = element("rect", {"x": x - 1, "y": y - 1, "width": wide + 2, "height": high + 2, "fill": FAINT})
    return [edge, image(pixels, x, y, wide, high)]


def terminal(figure: Figure, screen: Screen) -> str:
    """A line for each step with its rows and columns; above them, if there is color, the image with numbered steps, and
    what each one saw."""
    picture, places = _picture(figure.scene, figure.look), boxes(figure.look)
    shown = screen.color and not screen.ascii_only
    lines = [*_image(picture, places, screen), *_glimpses(picture, places, screen)] if shown else []
    names = [screen.fit(name, screen.width // 3) for name in _names(figure)]
    width = max(map(display_text.columns, names))
    more = f", {places.shape[1]} scales" if places.shape[1] > 1 else ""
    dash = "-" if screen.ascii_only else "–"
    for name, (top, left, tall, wide) in zip(names, places[:, 0].tolist(), strict=True):
        rows, columns = (f"{start:.0f}{dash}{start + size:.0f}" for start, size in ((top, tall), (left, wide)))
        padded = name + " " * (width - display_text.columns(name))
        lines.append(screen.fit(f"{padded}  rows {rows}, columns {columns}{more}", screen.width))
    return "\n".join(lines)


def _image(picture: Pixels, places: Floats, screen: Screen) -> list[str]:
    height, width = picture.shape[:2]
    across, down = (round(size) for size in fitted(height, width, min(COLUMNS, screen.width)))
    down += down % 2
    at = np.clip(centers(places) / [height, width], 0.0, 1.0) * [down / 2 - 1, across - 1]
    cells = [(int(line), int(column)) for line, column in at.round()]
    marks = {cell: DIGITS[step] for step, cell in reversed(list(enumerate(cells))) if step < len(DIGITS)}
    return half_blocks(resized(picture, down, across), marks)


def _glimpses(picture: Pixels, places: Floats, screen: Screen) -> Iterator[str]:
    """All scales of each step side by side, under its number; as many steps beside each other as there is room for."""
    across = min(CROP_COLUMNS, screen.width // places.shape[1] - 1)
    drawn = []
    for step, scales in enumerate(places):
        patches = [half_blocks(resized(pixels, across + across % 2, across)) for pixels in seen(picture, scales)]
        name = str(step + 1).ljust((across + 1) * len(patches) - 1)
        drawn.append([name, *(" ".join(line) for line in zip(*patches, strict=True))])
    fitting = max(1, (screen.width + 2) // ((across + 1) * places.shape[1] + 1))
    for start in range(0, len(drawn), fitting):
        yield from ("  ".join(line).rstrip() for line in zip(*drawn[start : start + fitting], strict=True))


def _page(scene: Scene, look: Look) -> dict[str, Any]:
    picture = _picture(scene, look)
    crisp = picture.shape[1] <= SIDE
    size = [picture.shape[0], picture.shape[1]]
    return {"size": size, "places": boxes(look).round(2).tolist(), "crisp": crisp, "images": [address(picture)]}


DRAWING = Drawing(
    name="glimpse_path",
    fits=lambda scene, look: look.places is not None,
    terminal=terminal,
    svg=svg,
    page=_page,
)
