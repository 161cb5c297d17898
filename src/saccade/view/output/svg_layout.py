"""Parts of an SVG figure: a box, numbered axes with a grid, and a matrix of cells with its labels and color bar."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.view.output import colors, display_text
from saccade.view.output.axis_labels import AxisLabels
from saccade.view.output.scales import Floats, LinearScale, bins, color_range, limits, pool
from saccade.view.output.svg import DOTTED, FAINT, QUIET, Attributes, cells, circle, element, group, segments, text

FINEST = 128  # more rows or columns than this are pooled
LONGEST_NAME = 18
STRIP = 9  # pixels that the colors of classes take beside a matrix
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


def heading_width(title: str | None, notes: Sequence[str] = (), longest: int = 110) -> float:
    """Pixels that they take, with some space at both sides."""
    lines = [9.6 * display_text.columns(display_text.fit(title or "", 80))]
    return 40 + max(lines + [7.0 * display_text.columns(display_text.fit(note, longest)) for note in notes])


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


def labels_height(across: AxisLabels, width: float) -> float:
    """Pixels over a matrix of this width that the names of its columns take; numbers stand below it."""
    return 0 if across.values is not None else 20 if _lie(across, width) else room(across)


def _lie(across: AxisLabels, width: float) -> bool:
    """Whether the names are short enough to be read from left to right, each over its column."""
    return display_text.short(across.texts) or room(across) - 4 <= width / len(across.texts)


@dataclass(frozen=True)
class Marks:
    """What else a matrix shows of its places: which are unknown, texts at the right of rows, and colors of classes."""

    unknown_rows: Collection[int] = ()
    unknown_columns: Collection[int] = ()
    beside: Sequence[str] = ()
    row_colors: Sequence[str] = ()
    column_colors: Sequence[str] = ()
    legend: Mapping[str, str] = field(default_factory=dict)


def weights_panel(
    values: Floats,
    down: AxisLabels,
    across: AxisLabels,
    box: Box,
    marks: Marks | None = None,
    *,
    signed: bool = False,
    span: tuple[float, float] | None = None,
) -> list[str]:
    """A matrix as colored cells, labels on its sides, and the color bar at its right."""
    span, marks = color_range(span or limits(values), signed=signed), marks or Marks()
    pooled = pool(values, bins(values.shape[0], FINEST), bins(values.shape[1], FINEST), signed=signed)
    unit, anchors = LinearScale(*(span or (0.0, 1.0)))(pooled), colors.SIGNED if signed else colors.ANCHORS
    bar = Box(box.right + (54 if marks.beside else 14), box.y, 12, box.height)
    names = Box(box.x - STRIP * bool(marks.row_colors), box.y, box.width, box.height)
    return [
        cells(unit, box.x, box.y, box.width, box.height, anchors),
        *_class_strips(marks, box),
        *([row_labels(AxisLabels(list(marks.beside)), box, right=True)] if marks.beside else []),
        row_labels(down, names, unknown=marks.unknown_rows),
        column_labels(across, box, unknown=marks.unknown_columns),
        *color_bar(span, bar, anchors),
        *([text("gray: NaN", box.right, box.bottom + 34, {**SMALL, "text-anchor": "end"})] * bool(np.isnan(unit).any())),
    ]


def row_labels(axis: AxisLabels, box: Box, unknown: Collection[int] = (), *, right: bool = False) -> str:
    """Labels at the left of a matrix, or at its right; those of unknown places are dotted."""
    scale = LinearScale(0, len(axis.texts), box.y, box.bottom)
    x, marks = box.right + 6 if right else box.x - 6, axis.marks(_count(axis, box.height, 40))
    placed = [
        text(label, x, float(scale(place)) + 4, DOTTED if int(place) in unknown else None, longest=LONGEST_NAME)
        for place, label in marks
    ]
    return group({**SMALL, "text-anchor": "start" if right else "end"}, *placed)


def column_labels(axis: AxisLabels, box: Box, unknown: Collection[int] = ()) -> str:
    """Labels of the columns: numbers under the matrix, names over it, standing unless they are short."""
    scale = LinearScale(0, len(axis.texts), box.x, box.right)
    marks = axis.marks(_count(axis, box.width, 48))
    lying = axis.values is not None or _lie(axis, box.width)
    y = box.bottom + 16 if axis.values is not None else box.y - 6
    parts = []
    for place, label in marks:
        x = float(scale(place)) + (0 if lying else 4)
        turn = {} if lying else {"transform": f"rotate(-90 {x:.2f} {y:.2f})"}
        parts.append(text(label, x, y, {**turn, **(DOTTED if int(place) in unknown else {})}, longest=LONGEST_NAME))
    return group(CENTERED if lying else SMALL, *parts)


def _class_strips(marks: Marks, box: Box) -> list[str]:
    """A strip beside the rows, and one under the columns, in the colors of their classes."""
    down, across = box.height / max(1, len(marks.row_colors)), box.width / max(1, len(marks.column_colors))
    rows = [(box.x - STRIP, box.y + number * down, 5.0, down, fill) for number, fill in enumerate(marks.row_colors)]
    rows += [(box.x + number * across, box.bottom + 3, across, 5.0, fill) for number, fill in enumerate(marks.column_colors)]
    return [element("rect", {"x": x, "y": y, "width": w, "height": h, "fill": fill}) for x, y, w, h, fill in rows]


def class_legend(palette: Mapping[str, str], y: float, wide: float) -> tuple[list[str], float]:
    """A dot and the name of each class, in lines; and where the last line stands."""
    parts, x = [], 20.0
    for name, color in palette.items():
        name = f"class {name}" if name.isdigit() else name
        size = 22 + 6.6 * display_text.columns(display_text.fit(name, LONGEST_NAME * 2))
        if x + size > wide and x > 20:
            x, y = 20.0, y + 18
        parts += [circle(x + 5, y - 4, 5, {"fill": color}), text(name, x + 15, y, SMALL, longest=LONGEST_NAME * 2)]
        x += size + 12
    return parts, y


def _count(axis: AxisLabels, length: float, apart: float) -> int:
    """How many labels to ask for: names down to 11 pixels from each other, numbers `apart` pixels."""
    return max(2, int(length / (apart if axis.values is not None else 11)))


def color_bar(span: tuple[float, float] | None, box: Box, anchors: NDArray[Any] = colors.ANCHORS) -> list[str]:
    """The ramp over this range, from the bottom up, with round numbers beside it."""
    if span is None or span[0] == span[1]:
        return [text("all NaN" if span is None else f"all {span[0]:.3g}", box.x, box.y + 10, SMALL)]
    scale = LinearScale(*span, box.bottom, box.y)
    marks = [text(label, box.right + 5, place + 4) for place, label in scale.marks(max(2, int(box.height / 45)))]
    return [cells(np.linspace(1, 0, 65)[:, None], box.x, box.y, box.width, box.height, anchors), group(SMALL, *marks)]
