"""The figure of kernel regression as attention (Nadaraya 1964, Watson 1964): the fit, one query, all the weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from saccade.view.output import colors
from saccade.view.output.axis_labels import axis_labels
from saccade.view.output.scales import Floats, LinearScale, color_range, limits, matrix, padded, series
from saccade.view.output.svg import (
    INK,
    PAPER,
    QUIET,
    Attributes,
    circle,
    document,
    element,
    group,
    polyline,
    segments,
    text,
)
from saccade.view.output.svg_layout import CENTERED, SMALL, Box, grid, numbers_below, numbers_left, turned, weights_panel

WIDTH, HEIGHT = 1000, 508
PLOT, STRIP, MATRIX = Box(60, 116, 500, 246), Box(60, 394, 500, 50), Box(656, 116, 266, 328)
LINE, QUERY = "#1f5fd0", "#e8590c"
FITTED: Attributes = {"stroke": LINE, "stroke-width": 2.6, "stroke-linecap": "round"}
DASHED: Attributes = {"stroke": QUIET, "stroke-width": 1.6, "stroke-dasharray": "6 5"}
SENTENCE = "The query is x, the keys are the xᵢ, the values are the yᵢ: the fit is a weighted mean of the values."


@dataclass(frozen=True)
class Regression:
    """What the figure shows, sorted by x; `row` is the query singled out."""

    points: tuple[Floats, Floats]
    line: tuple[Floats, Floats]
    truth: Floats | None
    weights: Floats
    row: int

    @property
    def across(self) -> LinearScale:
        return LinearScale(*padded(limits(self.points[0], self.line[0]), 0.02), PLOT.x, PLOT.right)

    @property
    def up(self) -> LinearScale:
        seen = [self.points[1], self.line[1]] + ([] if self.truth is None else [self.truth])
        return LinearScale(*padded(limits(*seen)), PLOT.bottom, PLOT.y)

    @property
    def looked(self) -> Floats:
        """The weights of the query singled out."""
        return np.asarray(self.weights[self.row])

    @property
    def shades(self) -> list[str]:
        """Their colors, the same as in the matrix."""
        unit = LinearScale(*(color_range(limits(self.weights)) or (0.0, 1.0)))(self.looked)
        return [colors.hexadecimal(color) for color in colors.ramp(unit)]


def kernel_regression(
    points_x: ArrayLike,
    points_y: ArrayLike,
    line_x: ArrayLike,
    line_y: ArrayLike,
    weights: ArrayLike,
    *,
    truth: ArrayLike | None = None,
    query: int | None = None,
    title: str = "Nadaraya–Watson regression is attention",
) -> str:
    """Kernel regression as attention: data, fit (and truth) at the left, the weights (queries × keys) at the right.

    `weights[q, k]` is how much the fit at `line_x[q]` looked at point k; both are sorted by x here. One query (an
    index into `line_x`, the middle one unless given) is singled out: the points light up by its weights.
    """
    points, line, values = series(points_x, points_y), series(line_x, line_y), matrix(weights)
    if values.shape != (len(line[0]), len(points[0])):
        raise ValueError(f"expected weights of shape {(len(line[0]), len(points[0]))}, got {values.shape}")
    index = len(values) // 2 if query is None else query
    if not 0 <= index < len(values):
        raise ValueError(f"expected a query between 0 and {len(values) - 1}, got {index}")
    queries, keys = np.argsort(line[0]), np.argsort(points[0])
    shown = Regression(
        points=(points[0][keys], points[1][keys]),
        line=(line[0][queries], line[1][queries]),
        truth=None if truth is None else series(line_x, truth)[1][queries],
        weights=values[np.ix_(queries, keys)],
        row=int(np.flatnonzero(queries == index)[0]),
    )
    return _figure(shown, title)


def _figure(shown: Regression, title: str) -> str:
    """The whole figure."""
    heading = text(title, 24, 44, {"font-size": 20, "font-weight": 600})
    sentence = text(SENTENCE, 24, 68, {"font-size": 13, "fill": QUIET}, longest=160)
    return document(WIDTH, HEIGHT, title, heading, sentence, *_fit(shown), *_strip(shown), *_weights(shown))


def _fit(shown: Regression) -> list[str]:
    """The data, the curves, and the query with the points lit up by its weights."""
    across, up = shown.across, shown.up
    x, y = across(shown.line[0]), up(shown.line[1])
    here = (x[shown.row], PLOT.y, x[shown.row], STRIP.bottom)
    return [
        grid(across, up, PLOT),
        numbers_left(up, PLOT.x - 8),
        turned("y", PLOT.x - 34, PLOT),
        *([] if shown.truth is None else [polyline(x, up(shown.truth), DASHED)]),
        segments([here], {"stroke": QUERY, "stroke-dasharray": "2 3"}),
        polyline(x, y, FITTED),
        _points(shown),
        circle(x[shown.row], y[shown.row], 5.5, {"fill": PAPER, "stroke": QUERY, "stroke-width": 2.4}),
        *_key(shown.truth is not None),
    ]


def _points(shown: Regression) -> str:
    """Points, larger and brighter the more they were looked at; the brightest are drawn last."""
    x, y = shown.across(shown.points[0]), shown.up(shown.points[1])
    share = np.clip(np.nan_to_num(_shares(shown.looked)), 0, 1)
    shades = shown.shades
    marks = [circle(x[key], y[key], 3.2 + 2.6 * share[key], {"fill": shades[key]}) for key in np.argsort(share)]
    return group({"stroke": INK, "stroke-width": 0.7}, *marks)


def _shares(weights: Floats) -> Floats:
    """The weights as shares of the largest."""
    low, high = limits(weights) or (0.0, 1.0)
    return LinearScale(min(low, 0.0), high)(weights)


def _key(with_truth: bool) -> list[str]:
    """What the marks of the left half mean, on one line above it."""
    x, y = PLOT.x, PLOT.y - 16
    names = [("data", 14.0), ("fit", 84.0)] + [("truth", 144.0)] * with_truth
    return [
        circle(x + 4, y - 4, 3.6, {"fill": colors.hexadecimal(colors.ramp(0.0))}),
        segments([(x + 58, y - 4, x + 78, y - 4)], FITTED),
        *([segments([(x + 117, y - 4, x + 138, y - 4)], DASHED)] * with_truth),
        group(SMALL, *(text(name, x + offset, y) for name, offset in names)),
    ]


def _strip(shown: Regression) -> list[str]:
    """The weights of the query singled out, a stem at each key, under the plot and on its scale."""
    across, up = shown.across, LinearScale(0, 1, STRIP.bottom, STRIP.y)
    x, tops = across(shown.points[0]), up(np.clip(_shares(shown.looked), 0, 1))
    stems = [
        segments([(x[key], STRIP.bottom, x[key], tops[key])], {"stroke": shade}) for key, shade in enumerate(shown.shades)
    ]
    name = f"the weights of one query, x = {shown.line[0][shown.row]:.3g}"
    return [
        group({"stroke-width": 3}, *stems),
        segments([(STRIP.x, STRIP.bottom, STRIP.right, STRIP.bottom)], {"stroke": QUIET}),
        text(name, STRIP.x, STRIP.y - 8, {"font-size": 11, "fill": QUERY}),
        numbers_below(across, STRIP.bottom + 16),
        text("x", STRIP.x + STRIP.width / 2, STRIP.bottom + 36, CENTERED),
    ]


def _weights(shown: Regression) -> list[str]:
    """The right half: all weights, the row of the query singled out framed."""
    rows, columns = shown.weights.shape
    down, across = axis_labels(shown.line[0], rows, "row"), axis_labels(shown.points[0], columns, "column")
    height = MATRIX.height / rows
    place: Attributes = {"x": MATRIX.x, "y": MATRIX.y + height * shown.row, "width": MATRIX.width, "height": height}
    return [
        text("the weights of every query", MATRIX.x, MATRIX.y - 16, SMALL),
        *weights_panel(shown.weights, down, across, MATRIX),
        element("rect", {**place, "fill": "none", "stroke": QUERY, "stroke-width": 1.4}),
        turned("query x", MATRIX.x - 36, MATRIX),
        text("key xᵢ, sorted", MATRIX.x + MATRIX.width / 2, MATRIX.bottom + 36, CENTERED),
    ]
