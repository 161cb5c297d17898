"""Parts of an SVG figure: a box, numbered axes with a grid, and a matrix of cells with its labels and color bar."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.view.output import display_text
from saccade.view.output.axis_labels import AxisLabels
from saccade.view.output.scales import Floats, LinearScale, bins, limits, pool
from saccade.view.output.svg import FAINT, QUIET, Attributes, cells, group, segments, text

FINEST = 128  # more rows or columns than this are pooled
LONGEST_NAME = 18
SMALL: Attributes = {"font-size": 11, "fill": QUIET}
CENTERED: Attributes = {**SMALL, "text-anchor": "middle"}


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture, from its top left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


def heading(title: str | None, notes: Sequence[str] = (), longest: int = 110) -> list[str]:
    """The title, if there is one, and the notes under it."""
    first = 52 if title else 20
    parts = [text(title, 20, 32, {"font-size": 16, "font-weight": 600})] if title else []
    return parts + [text(note, 20, first + 18 * line, SMALL, longest=longest) for line, note in enumerate(notes)]


def grid(across: LinearScale, up: LinearScale, box: Box, *, rows: int = 5, columns: int = 8) -> str:
    """Faint lines at round numbers over the box."""
    standing = [(x, box.y, x, box.bottom) for x, _ in across.marks(columns)]
    lying = [(box.x, y, box.right, y) for y, _ in up.marks(rows)]
    return segments(standing + lying, {"stroke": FAINT})


def numbers_left(scale: LinearScale, x: float, count: int = 5) -> str:
    """The numbers of a vertical axis, ending at x."""
    marks = [text(label, x, place + 4) for place, label in scale.marks(count)]
    return group({**SMALL, "text-anchor": "end"}, *marks)


def numbers_below(scale: LinearScale, y: float, count: int = 8) -> str:
    """The numbers of a horizontal axis, on the baseline y."""
    return group({**SMALL, "text-anchor": "middle"}, *(text(label, place, y) for place, label in scale.marks(count)))


def turned(name: str, x: float, box: Box) -> str:
    """The name of a vertical axis, read from below."""
    y = box.y + box.height / 2
    return text(name, x, y, {**CENTERED, "transform": f"rotate(-90 {x} {y})"})


def room(axis: AxisLabels) -> float:
    """Pixels that the longest label takes."""
    return 6.6 * max(display_text.columns(display_text.fit(name, LONGEST_NAME)) for name in axis.texts) + 10


def weights_panel(values: Floats, down: AxisLabels, across: AxisLabels, box: Box) -> list[str]:
    """A matrix as colored cells, labels on its sides, and the color bar at its right."""
    span = limits(values)
    pooled = pool(values, bins(values.shape[0], FINEST), bins(values.shape[1], FINEST))
    unit = LinearScale(*(span or (0.0, 1.0)))(pooled)
    bar = Box(box.right + 14, box.y, 12, box.height)
    return [
        cells(unit, box.x, box.y, box.width, box.height),
        row_labels(down, box),
        column_labels(across, box),
        *color_bar(span, bar),
        *([text("gray: NaN", box.right, box.bottom + 34, {**SMALL, "text-anchor": "end"})] * bool(np.isnan(unit).any())),
    ]


def row_labels(axis: AxisLabels, box: Box) -> str:
    """Labels at the left of a matrix."""
    scale = LinearScale(0, len(axis.texts), box.y, box.bottom)
    marks = axis.marks(_count(axis, box.height, 40))
    placed = [text(label, box.x - 6, float(scale(place)) + 4, longest=LONGEST_NAME) for place, label in marks]
    return group({**SMALL, "text-anchor": "end"}, *placed)


def column_labels(axis: AxisLabels, box: Box) -> str:
    """Labels of the columns: numbers under the matrix, names standing on it."""
    scale = LinearScale(0, len(axis.texts), box.x, box.right)
    marks = [(float(scale(place)), label) for place, label in axis.marks(_count(axis, box.width, 48))]
    if axis.values is not None:
        return group({**SMALL, "text-anchor": "middle"}, *(text(label, x, box.bottom + 16) for x, label in marks))
    if display_text.short(axis.texts):
        return group({**SMALL, "text-anchor": "middle"}, *(text(label, x, box.y - 6) for x, label in marks))
    return group(SMALL, *(_standing(label, x + 4, box.y - 6) for x, label in marks))


def _standing(label: str, x: float, y: float) -> str:
    return text(label, x, y, {"transform": f"rotate(-90 {x:.2f} {y:.2f})"}, longest=LONGEST_NAME)


def _count(axis: AxisLabels, length: float, apart: float) -> int:
    """How many labels to ask for: names down to 11 pixels from each other, numbers `apart` pixels."""
    return max(2, int(length / (apart if axis.values is not None else 11)))


def color_bar(span: tuple[float, float] | None, box: Box) -> list[str]:
    """The ramp from the smallest number (bottom) to the largest, with round numbers beside it."""
    if span is None or span[0] == span[1]:
        return [text("all NaN" if span is None else f"all {span[0]:.3g}", box.x, box.y + 10, SMALL)]
    scale = LinearScale(*span, box.bottom, box.y)
    marks = [text(label, box.right + 5, place + 4) for place, label in scale.marks(max(2, int(box.height / 45)))]
    return [cells(np.linspace(1, 0, 64)[:, None], box.x, box.y, box.width, box.height), group(SMALL, *marks)]
