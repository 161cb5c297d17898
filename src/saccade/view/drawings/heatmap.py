"""A heat map of weights, queries down and keys across: as characters and as SVG."""

from collections.abc import Sequence
from itertools import groupby, zip_longest

import numpy as np
from numpy.typing import ArrayLike

from saccade.view.drawings.figure import AXES, Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.axis_labels import AxisLabels, Labels, axis_labels
from saccade.view.output.scales import Floats, Integers, LinearScale, bins, limits, matrix, pool
from saccade.view.output.screen import Screen, painted, ruler, this_screen
from saccade.view.output.svg import document
from saccade.view.output.svg_layout import FINEST, Box, heading, room, weights_panel

CELL = 2  # characters across one cell: a character is about twice as tall as it is wide
TALLEST_NAME = 12


def terminal(
    weights: ArrayLike,
    *,
    rows: Labels = None,
    columns: Labels = None,
    color: bool | None = None,
    width: int | None = None,
) -> str:
    """A matrix (queries × keys) as colored or shaded cells, with its labels and a legend.

    Every row keeps its label where labels are texts; of labels that are numbers, round ones are shown. What does not
    fit the width is pooled, the largest weight of each bin, and the legend says so. `color=None` asks the terminal.
    """
    values, screen = matrix(weights), this_screen(color, width)
    down, across = axis_labels(rows, values.shape[0], "row"), axis_labels(columns, values.shape[1], "column")
    names = [screen.fit(text, screen.width // 4) for text in down.texts]
    margin = max(map(display_text.columns, names)) + 1
    row_bins, column_bins = _layout(down, across, (screen.width - margin - 2) // CELL)
    pooled, span = pool(values, row_bins, column_bins), limits(values)

    side, edge = screen.glyphs.down, screen.glyphs.across * (CELL * len(column_bins))
    corners = screen.glyphs.corners
    lines = [" " * (margin + 1) + line for line in _header(across, len(column_bins), screen)]
    lines.append(" " * margin + corners[0] + edge + corners[1])
    for start, cells in zip(row_bins, _cells(pooled, span, screen), strict=True):
        lines.append(" " * (margin - 1 - display_text.columns(names[start])) + f"{names[start]} {side}{cells}{side}")
    lines.append(" " * margin + corners[2] + edge + corners[3])
    lines.append(_legend(span, screen))
    if pooled.shape != values.shape:
        lines.append(_pooling(values.shape, pooled.shape, screen))
    return "\n".join(line.rstrip(" ") for line in lines)


def _layout(down: AxisLabels, across: AxisLabels, most: int) -> tuple[Integers, Integers]:
    """Bins for rows and columns: columns to fit, rows in the same proportion unless each row has a name."""
    total = len(across.texts)
    column_bins = bins(total, most)
    height = len(down.texts)
    if down.values is not None:
        height = max(1, round(height * len(column_bins) / total))
    return bins(len(down.texts), height), column_bins


def _header(across: AxisLabels, count: int, screen: Screen) -> list[str]:
    """Column labels: names stand upright when each has its column; otherwise a ruler."""
    if across.values is None and count == len(across.texts):
        return _upright([screen.fit(text, TALLEST_NAME) for text in across.texts])
    scale = LinearScale(0, len(across.texts), 0, count * CELL)
    marks = across.marks(max(4, count // 4))
    return [ruler(((int(scale(place)), screen.fit(text, 10)) for place, text in marks), count * CELL)]


def _upright(names: list[str]) -> list[str]:
    """Names written downward, ending at the frame, each as wide as a cell."""
    pieces = [display_text.clusters(name) for name in names]
    height = max(map(len, pieces))
    stacked = zip_longest(*([""] * (height - len(name)) + name for name in pieces), fillvalue="")
    return ["".join(_cell_of(piece) for piece in line) for line in stacked]


def _cell_of(piece: str) -> str:
    # A terminal that reorders Arabic and Hebrew would mirror a line of single letters.
    mark = display_text.LEFT_TO_RIGHT if display_text.runs_right_to_left(piece) else ""
    return piece + mark + " " * (CELL - display_text.columns(piece))


def _cells(values: Floats, span: tuple[float, float] | None, screen: Screen) -> list[str]:
    """One text per row of the matrix; a cell that is not a number is a question mark."""
    unit = LinearScale(*(span or (0.0, 1.0)))(values)
    return [_colored(row) if screen.color else _shaded(row, screen.glyphs.shades) for row in unit]


def _shaded(row: Floats, shades: str) -> str:
    levels = np.where(np.isnan(row), -1, np.clip(row, 0, 1) * len(shades)).astype(int)
    return "".join("? " if level < 0 else shades[min(level, len(shades) - 1)] * CELL for level in levels)


def _colored(row: Floats) -> str:
    """Neighbors of one color share one escape sequence."""
    cells = zip(map(tuple, colors.ramp(row).tolist()), np.isnan(row).tolist(), strict=True)
    return "".join(
        painted(("? " if missing else " " * CELL) * len(list(run)), shade, background=True)
        for (shade, missing), run in groupby(cells)
    )


def _legend(span: tuple[float, float] | None, screen: Screen) -> str:
    """The smallest and the largest number, with the ramp between them where there is room."""
    if span is None:
        return screen.fit("no number is finite", screen.width)
    low, high = (f"{value:.2g}" for value in span)
    if span[0] == span[1]:
        return screen.fit(f"every number is {low}", screen.width)
    size = min(10, (screen.width - len(f"min {low}  max {high}")) // CELL)
    if size < 2:
        return screen.fit(f"{low} to {high}", screen.width)
    return f"min {low} {_cells(np.linspace(0, 1, size)[None], (0.0, 1.0), screen)[0]} max {high}"


def _pooling(before: tuple[int, ...], after: tuple[int, ...], screen: Screen) -> str:
    sizes = [screen.glyphs.times.join(map(str, shape)) for shape in (before, after)]
    return screen.fit(f"{sizes[0]} drawn as {sizes[1]}: the largest of each bin", screen.width)


def svg(
    weights: ArrayLike,
    *,
    rows: Labels = None,
    columns: Labels = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A matrix (queries × keys) with labels on both axes and a color bar.

    Labels that are texts are all shown; of labels that are numbers, round ones. More than 128 rows or columns are
    pooled, the largest weight of each bin. Notes are small lines under the title.
    """
    values = matrix(weights)
    down, across = axis_labels(rows, values.shape[0], "row"), axis_labels(columns, values.shape[1], "column")
    height, width = (min(count, FINEST) * _cell(max(values.shape)) for count in values.shape)
    top = (52 if title else 20) + 18 * len(notes) + (room(across) if across.values is None else 0)
    box = Box(20 + room(down), top, max(width, 40), max(height, 40))
    parts = weights_panel(values, down, across, box)
    wide = max([240, *(7 * display_text.columns(display_text.fit(note, 120)) + 40 for note in notes), box.right + 84])
    return document(wide, box.bottom + 44, title or "attention weights", *heading(title, notes, 120), *parts)


def _cell(longer_side: int) -> float:
    """Pixels for one cell: large enough for its name, unless there are many."""
    return min(24.0, max(480 / longer_side, 480 / FINEST))


def _terminal(figure: Figure, screen: Screen) -> str:
    return terminal(figure.weights, rows=figure.rows, columns=figure.columns, color=screen.color, width=screen.width)


def _svg(figure: Figure) -> str:
    return svg(figure.weights, rows=figure.rows, columns=figure.columns, title=figure.title, notes=figure.notes)


DRAWING = Drawing(name="heatmap", fits=lambda scene, look: look.places is None, terminal=_terminal, svg=_svg, axes=AXES)
