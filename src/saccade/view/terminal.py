"""Pictures made of characters: a heat map of weights, and a curve through points."""

from itertools import groupby, zip_longest

import numpy as np
from numpy.typing import ArrayLike

from saccade.view import colors, labels
from saccade.view.canvas import Canvas
from saccade.view.labels import Axis, Labels
from saccade.view.scales import Floats, Integers, Scale, bins, limits, matrix, padded, pool, series
from saccade.view.screen import Glyphs, Screen, painted, ruler, this_screen

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
    values, screen = matrix(weights), this_screen(color, width)
    down, across = labels.axis(rows, values.shape[0], "row"), labels.axis(columns, values.shape[1], "column")
    names = [screen.fit(text, screen.width // 4) for text in down.texts]
    margin = max(map(labels.columns, names)) + 1
    row_bins, column_bins = _layout(down, across, (screen.width - margin - 2) // CELL)
    pooled, span = pool(values, row_bins, column_bins), limits(values)

    side, edge = screen.glyphs.down, screen.glyphs.across * (CELL * len(column_bins))
    corners = screen.glyphs.corners
    lines = [" " * (margin + 1) + line for line in _header(across, len(column_bins), screen)]
    lines.append(" " * margin + corners[0] + edge + corners[1])
    for start, cells in zip(row_bins, _cells(pooled, span, screen), strict=True):
        lines.append(" " * (margin - 1 - labels.columns(names[start])) + f"{names[start]} {side}{cells}{side}")
    lines.append(" " * margin + corners[2] + edge + corners[3])
    lines.append(_legend(span, screen))
    if pooled.shape != values.shape:
        lines.append(_pooling(values.shape, pooled.shape, screen))
    return "\n".join(line.rstrip(" ") for line in lines)


def _layout(down: Axis, across: Axis, most: int) -> tuple[Integers, Integers]:
    """Bins for rows and columns: columns to fit, rows in the same proportion unless each row has a name."""
    total = len(across.texts)
    column_bins = bins(total, most)
    height = len(down.texts)
    if down.values is not None:
        height = max(1, round(height * len(column_bins) / total))
    return bins(len(down.texts), height), column_bins


def _header(across: Axis, count: int, screen: Screen) -> list[str]:
    """Column labels: names stand upright when each has its column; otherwise a ruler."""
    if across.values is None and count == len(across.texts):
        return _upright([screen.fit(text, TALLEST_NAME) for text in across.texts])
    scale = Scale(0, len(across.texts), 0, count * CELL)
    marks = across.marks(max(4, count // 4))
    return [ruler(((int(scale(place)), screen.fit(text, 10)) for place, text in marks), count * CELL)]


def _upright(names: list[str]) -> list[str]:
    """Names written downward, ending at the frame, each as wide as a cell."""
    pieces = [labels.clusters(name) for name in names]
    height = max(map(len, pieces))
    stacked = zip_longest(*([""] * (height - len(name)) + name for name in pieces), fillvalue="")
    return ["".join(_cell_of(piece) for piece in line) for line in stacked]


def _cell_of(piece: str) -> str:
    # A terminal that reorders Arabic and Hebrew would mirror a line of single letters.
    mark = labels.LEFT_TO_RIGHT if labels.runs_right_to_left(piece) else ""
    return piece + mark + " " * (CELL - labels.columns(piece))


def _cells(values: Floats, span: tuple[float, float] | None, screen: Screen) -> list[str]:
    """One text per row of the matrix; a cell that is not a number is a question mark."""
    unit = Scale(*(span or (0.0, 1.0)))(values)
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
    points, line, screen = series(points_x, points_y), series(line_x, line_y), this_screen(color, width)
    across, up = (Scale(*padded(limits(points[side], line[side]))) for side in (0, 1))
    upward = {round((1 - place) * (height - 1)): text for place, text in up.marks(max(2, height // 4))}
    margin = max(map(len, upward.values()), default=0) + 1
    canvas = Canvas(screen.width - margin - 1, height, screen.glyphs)
    canvas.line(across(line[0]), up(line[1]))
    canvas.scatter(across(points[0]), up(points[1]))

    sides = [screen.glyphs.tick_left if row in upward else screen.glyphs.down for row in range(height)]
    lines = [
        f"{upward.get(row, ''):>{margin - 1}} {sides[row]}{text}"
        for row, text in enumerate(canvas.lines(color=screen.color))
    ]
    lines += [" " * margin + text for text in _bottom(across, screen.width - margin - 1, screen.glyphs)]
    return "\n".join(text.rstrip(" ") for text in lines)


def _bottom(scale: Scale, width: int, glyphs: Glyphs) -> tuple[str, str]:
    """The horizontal axis: a rule with ticks, and the numbers under it."""
    marks = [(round(place * (width - 1)), text) for place, text in scale.marks(max(2, width // 8))]
    ticked = {column for column, _ in marks}
    rule = "".join(glyphs.tick_below if column in ticked else glyphs.across for column in range(width))
    return glyphs.corners[2] + rule, " " + ruler(marks, width)
