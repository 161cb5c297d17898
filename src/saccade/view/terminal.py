"""Pictures made of characters: a heat map of weights, and a curve through points."""

from itertools import groupby, zip_longest

import numpy as np
from numpy.typing import ArrayLike

from saccade.view import colors, labels, screen
from saccade.view.canvas import Canvas
from saccade.view.labels import Axis, Labels
from saccade.view.scales import Floats, Integers, Scale, bins, limits, matrix, padded, pool, series
from saccade.view.screen import Glyphs

CELL = 2  # characters across one cell: a character is about twice as tall as it is wide
TALLEST_NAME = 12


def heatmap(
    weights: ArrayLike,
    *,
    rows: Labels = None,
    columns: Labels = None,
    color: bool | None = None,
    width: int | None = None,
) -> str:
    """A matrix (queries × keys) as colored or shaded cells, with its labels and a legend.

    Labels that are texts are names: every row keeps its own. Labels that are numbers are a scale, thinned like a
    ruler. What does not fit the width is pooled, the largest weight of each bin, and the legend says so.
    `color=None` asks the terminal; the text has no line end.
    """
    values = matrix(weights)
    glyphs, colored, room = screen.glyphs(), screen.wants_color(color), screen.columns(width)
    down, across = labels.axis(rows, values.shape[0], "row"), labels.axis(columns, values.shape[1], "column")
    row_names = [labels.fit(text, room // 4, ascii_only=glyphs is screen.ASCII) for text in down.texts]
    margin = max(map(labels.columns, row_names)) + 1
    row_bins, column_bins = _layout(down, across, (room - margin - 2) // CELL)
    pooled = pool(values, row_bins, column_bins)

    lines = [" " * (margin + 1) + line for line in _header(across, len(column_bins), glyphs)]
    lines.append(" " * margin + _edge(glyphs.corners[:2], len(column_bins), glyphs))
    for start, cells in zip(row_bins, _cells(pooled, limits(values), colored, glyphs), strict=True):
        name = row_names[start]
        lines.append(f"{' ' * (margin - 1 - labels.columns(name))}{name} {glyphs.down}{cells}{glyphs.down}")
    lines.append(" " * margin + _edge(glyphs.corners[2:], len(column_bins), glyphs))
    lines.append(_legend(limits(values), colored, glyphs, room))
    if pooled.shape != values.shape:
        before, after = (glyphs.times.join(map(str, shape)) for shape in (values.shape, pooled.shape))
        lines.append(
            labels.fit(f"{before} drawn as {after}: the largest of each bin", room, ascii_only=glyphs is screen.ASCII)
        )
    return "\n".join(line.rstrip(" ") for line in lines)


def _layout(down: Axis, across: Axis, most: int) -> tuple[Integers, Integers]:
    """Bins for rows and columns: columns to fit, rows in the same proportion unless each row has a name."""
    total = len(across.texts)
    column_bins = bins(total, most)
    height = len(down.texts)
    if down.values is not None:
        height = max(1, round(height * len(column_bins) / total))
    return bins(len(down.texts), height), column_bins


def _header(across: Axis, count: int, glyphs: Glyphs) -> list[str]:
    """Column labels: names stand upright when each has its column; otherwise a ruler."""
    ascii_only = glyphs is screen.ASCII
    if across.values is None and count == len(across.texts):
        return _upright([labels.fit(text, TALLEST_NAME, ascii_only=ascii_only) for text in across.texts])
    scale = Scale(0, len(across.texts), 0, count * CELL)
    marks = across.marks(max(2, count // 4))
    return [
        screen.ruler(
            ((int(scale(place)), labels.fit(text, 10, ascii_only=ascii_only)) for place, text in marks), count * CELL
        )
    ]


def _upright(names: list[str]) -> list[str]:
    """Names written downward, ending at the frame, each as wide as a cell."""
    pieces = [labels.clusters(name) for name in names]
    height = max(map(len, pieces))
    stacked = zip_longest(*([""] * (height - len(name)) + name for name in pieces), fillvalue="")
    return ["".join(piece + " " * (CELL - labels.columns(piece)) for piece in line) for line in stacked]


def _edge(corners: str, count: int, glyphs: Glyphs) -> str:
    return corners[0] + glyphs.across * (count * CELL) + corners[1]


def _cells(values: Floats, span: tuple[float, float] | None, colored: bool, glyphs: Glyphs) -> list[str]:
    """One text per row of the matrix; a cell that is not a number is a question mark."""
    unit = Scale(*(span or (0.0, 1.0)))(values)
    return [_colored(row) if colored else _shaded(row, glyphs) for row in unit]


def _shaded(row: Floats, glyphs: Glyphs) -> str:
    levels = np.where(np.isnan(row), -1, np.clip(row, 0, 1) * len(glyphs.shades)).astype(int)
    return "".join("? " if level < 0 else glyphs.shades[min(level, len(glyphs.shades) - 1)] * CELL for level in levels)


def _colored(row: Floats) -> str:
    """Neighbors of one color share one escape sequence."""
    cells = zip(map(tuple, colors.ramp(row).tolist()), np.isnan(row).tolist(), strict=True)
    return "".join(
        screen.painted(("? " if missing else " " * CELL) * len(list(run)), shade, background=True)
        for (shade, missing), run in groupby(cells)
    )


def _legend(span: tuple[float, float] | None, colored: bool, glyphs: Glyphs, room: int) -> str:
    """The smallest and the largest number, with the ramp between them where there is room."""
    if span is None:
        return "no cell is a finite number"
    low, high = (f"{value:.2g}" for value in span)
    if span[0] == span[1]:
        return f"every cell is {low}"
    size = min(10, (room - len(f"min {low}  max {high}")) // CELL)
    strip = _cells(np.linspace(0, 1, max(size, 0))[None], (0.0, 1.0), colored, glyphs)[0]
    return f"min {low} {strip} max {high}" if size > 1 else f"{low} to {high}"


def curve(
    points_x: ArrayLike,
    points_y: ArrayLike,
    line_x: ArrayLike,
    line_y: ArrayLike,
    *,
    width: int | None = None,
    height: int = 16,
    color: bool | None = None,
) -> str:
    """Points and a line through them, on numbered axes; `height` counts the lines of the drawing without its axis."""
    if height < 2:
        raise ValueError(f"expected a height of at least 2 lines, got {height}")
    points, line = series(points_x, points_y), series(line_x, line_y)
    glyphs, room = screen.glyphs(), screen.columns(width)
    across, up = (Scale(*padded(limits(points[side], line[side]))) for side in (0, 1))
    upward = {round((1 - place) * (height - 1)): text for place, text in up.marks(max(2, height // 4))}
    margin = max(map(len, upward.values()), default=0) + 1
    canvas = Canvas(room - margin - 1, height, glyphs)
    canvas.line(across(line[0]), up(line[1]))
    canvas.scatter(across(points[0]), up(points[1]))

    lines = [
        f"{upward.get(row, ''):>{margin - 1}} {glyphs.tick_left if row in upward else glyphs.down}{text}"
        for row, text in enumerate(canvas.lines(color=screen.wants_color(color)))
    ]
    lines += [" " * margin + line for line in _bottom(across, room - margin - 1, glyphs)]
    return "\n".join(line.rstrip(" ") for line in lines)


def _bottom(scale: Scale, width: int, glyphs: Glyphs) -> tuple[str, str]:
    """The horizontal axis: a rule with ticks, and the numbers under it."""
    marks = [(round(place * (width - 1)), text) for place, text in scale.marks(max(2, width // 12))]
    ticked = {column for column, _ in marks}
    rule = "".join(glyphs.tick_below if column in ticked else glyphs.across for column in range(width))
    return glyphs.corners[2] + rule, " " + screen.ruler(marks, width)
