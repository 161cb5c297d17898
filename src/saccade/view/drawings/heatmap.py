"""A heat map of weights, queries down and keys across: as characters and as SVG."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.view.drawings.figure import AXES, Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.axis_labels import AxisLabels, Labels, axis_labels
from saccade.view.output.scales import Floats, Integers, LinearScale, bins, color_range, limits, matrix, pool
from saccade.view.output.screen import Screen, painted, ruler, this_screen
from saccade.view.output.svg import document
from saccade.view.output.svg_layout import (
    FINEST,
    STRIP,
    Box,
    Marks,
    class_legend,
    heading,
    heading_width,
    labels_height,
    room,
    weights_panel,
)

CELL = 2  # characters across one cell: a character is about twice as tall as it is wide
TALLEST_NAME = 12
APART = 0.01  # share of the largest number by which a color differs from that of 0
WIDEST = 60  # pixels of a column that is widened so that its name need not stand


def terminal(
    weights: ArrayLike,
    *,
    rows: Labels = None,
    columns: Labels = None,
    color: bool | None = None,
    width: int | None = None,
    signed: bool = False,
    beside: Sequence[str] = (),
    span: tuple[float, float] | None = None,
) -> str:
    """A matrix (queries × keys) as colored or shaded cells, with its labels and a legend.

    Colors begin at 0; with `signed`, 0 is in their middle, and without color, a cell below 0 has a minus.
    `beside` are texts at the right of the rows.
    Every row keeps its label where labels are texts; of labels that are numbers, round ones are shown.
    What does not fit the width is pooled, the largest weight of each bin, and the legend says so. `color=None`
    asks the terminal.
    """
    values, screen = matrix(weights), this_screen(color, width)
    down, across = axis_labels(rows, values.shape[0], "row"), axis_labels(columns, values.shape[1], "column")
    names = [screen.fit(text, screen.width // 4) for text in down.texts]
    margin = max(map(display_text.columns, names)) + 1
    aside = max(map(len, beside), default=-1) + 1
    row_bins, column_bins = _layout(down, across, (screen.width - margin - 2 - aside) // CELL)
    pooled, span = pool(values, row_bins, column_bins, signed=signed), span or limits(values)

    side, edge = screen.glyphs.down, screen.glyphs.across * (CELL * len(column_bins))
    corners = screen.glyphs.corners
    lines = [" " * (margin + 1) + line for line in _header(across, len(column_bins), screen)]
    lines.append(" " * margin + corners[0] + edge + corners[1])
    for start, cells in zip(row_bins, _cells(pooled, span, screen, signed), strict=True):
        right = f" {beside[start]:>{aside - 1}}" if beside and len(row_bins) == len(beside) else ""
        lines.append(" " * (margin - 1 - display_text.columns(names[start])) + f"{names[start]} {side}{cells}{side}{right}")
    lines.append(" " * margin + corners[2] + edge + corners[3])
    lines.append(_legend(span, screen, signed))
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


def _cells(values: Floats, span: tuple[float, float] | None, screen: Screen, signed: bool = False) -> list[str]:
    """One text per row of the matrix; a cell that is not a number is a question mark."""
    unit = LinearScale(*(color_range(span, signed=signed) or (0.0, 1.0)))(values)
    if screen.color:
        return [_colored(row, colors.SIGNED if signed else colors.ANCHORS) for row in unit]
    shades = screen.glyphs.shades
    return [_signs(2 * row - 1, shades) if signed else _shaded(row, shades) for row in unit]


def _shaded(row: Floats, shades: str) -> str:
    levels = np.where(np.isnan(row), -1, np.clip(row, 0, 1) * len(shades)).astype(int)
    return "".join("? " if level < 0 else shades[min(level, len(shades) - 1)] * CELL for level in levels)


def _signs(row: Floats, shades: str) -> str:
    """Numbers between -1 and 1: shades of how far from 0 they are, with a minus in those below."""
    plain = _shaded(np.abs(row), shades)
    cells = [plain[place : place + CELL] for place in range(0, len(plain), CELL)]
    return "".join(f"{cell[0]}-" if value < 0 and cell.strip() else cell for cell, value in zip(cells, row, strict=True))


def _colored(row: Floats, anchors: NDArray[Any]) -> str:
    """Neighbors of one color share one escape sequence."""
    cells = zip(map(tuple, colors.ramp(row, anchors).tolist()), np.isnan(row).tolist(), strict=True)
    return "".join(
        painted(("? " if missing else " " * CELL) * len(list(run)), shade, background=True)
        for (shade, missing), run in groupby(cells)
    )


def _legend(span: tuple[float, float] | None, screen: Screen, signed: bool = False) -> str:
    """The range of the colors, with the ramp where there is room; where it begins at 0, the smallest number, too."""
    if span is None:
        return screen.fit("no number is finite", screen.width)
    colored = color_range(span, signed=signed) or span
    smallest, low, high = (f"{value:.2g}" for value in (span[0], *colored))
    if colored[0] == colored[1] or (span[0] == span[1] and not signed):
        return screen.fit(f"every number is {smallest}", screen.width)
    apart = not signed and span[0] > APART * span[1]  # a smallest number that is not drawn as 0
    start, end = ("0 ", f" max {high}, min {smallest}") if apart else (f"min {low if signed else smallest} ", f" max {high}")
    size = min(10, (screen.width - len(start + end)) // CELL)
    if size < 2:
        return screen.fit(f"{low if signed else smallest} to {high}", screen.width)
    return start + _cells(np.linspace(-1 if signed else 0, 1, size)[None], (0.0, 1.0), screen, signed)[0] + end


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
    marks: Marks | None = None,
    signed: bool = False,
    span: tuple[float, float] | None = None,
) -> str:
    """A matrix (queries × keys) with labels on both axes and a color bar.

    Colors go from 0 to the largest weight, with `signed` as far to both sides of 0, unless `span` is given.
    Labels that are texts are all shown; of labels that are numbers, round ones. More than 128 rows or columns are pooled,
    the largest weight of each bin. Notes are small lines under the title.
    """
    values = matrix(weights)
    down, across = axis_labels(rows, values.shape[0], "row"), axis_labels(columns, values.shape[1], "column")
    height, width = (min(count, FINEST) * _cell(max(values.shape)) for count in values.shape)
    lying = room(across) - 4
    if across.values is None and lying > width / len(across.texts) and lying <= WIDEST and lying * len(across.texts) <= 640:
        width = lying * len(across.texts)  # a little wider, and names need not stand
    marks = marks or Marks()
    top = (52 if title else 20) + 18 * len(notes) + labels_height(across, width)
    box = Box(20 + room(down) + STRIP * bool(marks.row_colors), top, max(width, 40), max(height, 40))
    parts = weights_panel(values, down, across, box, marks, signed=signed, span=span)
    legend, bottom = class_legend(marks.legend, box.bottom + 40, 640) if marks.legend else ([], box.bottom + 20)
    wide = max(240, heading_width(title, notes, 120), box.right + 84)
    wide = max(wide, 660 if marks.legend else 0) + 40 * bool(marks.beside)
    return document(wide, bottom + 24, title or "attention weights", *heading(title, notes, 120), *parts, *legend)


def _cell(longer_side: int) -> float:
    """Pixels for one cell: large enough for its name, unless there are many."""
    return min(24.0, max(480 / longer_side, 480 / FINEST))


def _terminal(figure: Figure, screen: Screen) -> str:
    return terminal(
        figure.weights,
        rows=figure.rows,
        columns=figure.columns,
        color=screen.color,
        width=screen.width,
        signed=figure.signed,
        beside=figure.percents(figure.queries),
        span=figure.span,
    )


def _svg(figure: Figure) -> str:
    queries, keys = figure.queries, figure.keys
    palette = colors.class_colors([*(queries.classes or ()), *(keys.classes or ())])
    marks = Marks(
        frozenset(queries.unknown),
        frozenset(keys.unknown),
        figure.percents(queries),
        [palette[name] for name in queries.classes or ()],
        [palette[name] for name in keys.classes or ()],
        palette,
    )
    return svg(
        figure.weights,
        rows=figure.rows,
        columns=figure.columns,
        title=figure.title,
        notes=figure.notes,
        marks=marks,
        signed=figure.signed,
        span=figure.span,
    )


DRAWING = Drawing(name="heatmap", fits=lambda scene, look: look.places is None, terminal=_terminal, svg=_svg, axes=AXES)
