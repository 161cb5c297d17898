"""Pictures as SVG, each one file that needs nothing else: a heat map of weights, and Nadaraya–Watson regression."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from saccade.view import labels
from saccade.view.elements import document
from saccade.view.labels import Labels
from saccade.view.panels import FINEST, Box, heading, room, weights_panel
from saccade.view.regression import Regression, figure
from saccade.view.scales import matrix, series


def heatmap(
    weights: ArrayLike,
    *,
    rows: Labels = None,
    columns: Labels = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A matrix (queries × keys) as a picture, with labels on both sides and a color bar.

    Labels that are texts are names, all shown; labels that are numbers are a scale with round ticks. More than 128
    rows or columns are pooled, the largest weight of each bin. Notes are small lines under the title.
    """
    values = matrix(weights)
    down, across = labels.axis(rows, values.shape[0], "row"), labels.axis(columns, values.shape[1], "column")
    height, width = (min(count, FINEST) * cell(max(values.shape)) for count in values.shape)
    top = (52 if title else 20) + 18 * len(notes) + (room(across) if across.values is None else 0)
    box = Box(20 + room(down), top, max(width, 40), max(height, 40))
    parts = weights_panel(values, down, across, box)
    wide = max([240, *(7 * labels.columns(labels.fit(note, 120)) + 40 for note in notes), box.right + 84])
    return document(wide, box.bottom + 44, title or "attention weights", *heading(title, notes, 120), *parts)


def cell(longer_side: int) -> float:
    """Pixels for one cell: large enough for its name, unless there are many."""
    return min(24.0, max(480 / longer_side, 480 / FINEST))


def nadaraya_watson(
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
    chosen = len(values) // 2 if query is None else query
    if not 0 <= chosen < len(values):
        raise ValueError(f"expected a query between 0 and {len(values) - 1}, got {chosen}")
    queries, keys = np.argsort(line[0]), np.argsort(points[0])
    shown = Regression(
        points=(points[0][keys], points[1][keys]),
        line=(line[0][queries], line[1][queries]),
        truth=None if truth is None else series(line_x, truth)[1][queries],
        weights=values[np.ix_(queries, keys)],
        row=int(np.flatnonzero(queries == chosen)[0]),
    )
    return figure(shown, title)
