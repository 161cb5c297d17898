"""A chart of lines over bins: one line with points for each series, its legend above, and how many are in each bin."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.view.output import colors
from saccade.view.output.scales import Floats, LinearScale, limits
from saccade.view.output.svg import (
    FAINT,
    INK,
    PAPER,
    QUIET,
    Attributes,
    circle,
    document,
    group,
    polyline,
    segments,
    text,
)
from saccade.view.output.svg_layout import CENTERED, SMALL, Box, numbers_left, turned

WIDTH, LEFT, RIGHT, HEIGHT = 780, 72, 28, 300  # of the drawing; of the margins; of the plot alone
LEGEND, ROW = 66, 20  # the first line of the legend, and from one line to the next
LONGEST = 100  # columns of a name


@dataclass(frozen=True)
class Series:
    """One line: its name, and its height over each bin."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Chart:
    """What is drawn: series over the same bins, and what the axes are called; `note` is in small type at the foot."""

    title: str
    bins: Sequence[str]
    counts: Sequence[int]
    series: Sequence[Series]
    across: str
    up: str
    note: str = ""

    def __post_init__(self) -> None:
        sizes = [len(self.counts), *(len(line.values) for line in self.series)]
        if not self.bins or not self.series or set(sizes) != {len(self.bins)}:
            raise ValueError(f"expected a series or more, and a number for each of {len(self.bins)} bins, got {sizes}")

    @property
    def box(self) -> Box:
        """Where the lines are: below the legend."""
        return Box(LEFT, LEGEND + ROW * len(self.series) + 12, WIDTH - LEFT - RIGHT, HEIGHT)

    @property
    def heights(self) -> LinearScale:
        """From 0, whatever the smallest number is: half as good must look half as high."""
        known = limits(*(np.asarray(line.values, dtype=np.float64) for line in self.series))
        top = max(known[1], 0.0) if known else 0.0
        return LinearScale(0.0, top * 1.08 or 1.0, self.box.bottom, self.box.y)

    @property
    def middles(self) -> Floats:
        """Where each bin stands."""
        places = (np.arange(len(self.bins)) + 0.5) / len(self.bins)
        return np.asarray(self.box.x + places * self.box.width)


def line_chart(chart: Chart) -> str:
    """The chart as an SVG file."""
    box = chart.box
    heading = text(chart.title, 24, 38, {"font-size": 18, "font-weight": 600})
    foot = text(chart.note, box.x, box.bottom + 86, {"font-size": 10, "fill": QUIET}, longest=120)
    lines = [_line(chart, number) for number in reversed(range(len(chart.series)))]  # the first on top
    return document(WIDTH, box.bottom + 104, chart.title, heading, *_axes(chart), *_legend(chart), *lines, foot)


def _axes(chart: Chart) -> list[str]:
    """Lying lines at round numbers, the bins under the plot with their counts, and the names of both axes."""
    box, up, places = chart.box, chart.heights, chart.middles.tolist()
    lying = [(box.x, y, box.right, y) for y, _ in up.marks()]
    names = [text(name, x, box.bottom + 18) for name, x in zip(chart.bins, places, strict=True)]
    counts = [text(f"{count:,}", x, box.bottom + 35) for count, x in zip(chart.counts, places, strict=True)]
    return [
        segments(lying, {"stroke": FAINT}),
        segments([(box.x, box.bottom, box.right, box.bottom)], {"stroke": QUIET}),
        numbers_left(up, box.x - 8),
        group({"font-size": 12, "fill": INK, "text-anchor": "middle"}, *names),
        group({"font-size": 10, "fill": QUIET, "text-anchor": "middle"}, *counts),
        text(chart.across, box.x + box.width / 2, box.bottom + 60, CENTERED),
        turned(chart.up, box.x - 46, box),
    ]


def _legend(chart: Chart) -> list[str]:
    """A line for each series: its stroke, its point and its name."""
    parts = []
    for number, line in enumerate(chart.series):
        y = LEGEND + ROW * number
        stroke, point = _look(number)
        parts += [segments([(24, y, 52, y)], stroke), circle(38, y, 4.5, point)]
        parts.append(text(line.name, 60, y + 4, SMALL, longest=LONGEST))
    return parts


def _line(chart: Chart, number: int) -> str:
    x, y = chart.middles, chart.heights(np.asarray(chart.series[number].values, dtype=np.float64))
    stroke, point = _look(number)
    dots = [circle(across, down, 4.5, point) for across, down in zip(x.tolist(), y.tolist(), strict=True)]
    return group({}, polyline(x, y, stroke), *dots)


def _look(number: int) -> tuple[Attributes, Attributes]:
    """The stroke and the point of a series; every second point is hollow, so that color is not all that tells them apart."""
    color = colors.DISTINCT[number % len(colors.DISTINCT)]
    fill = color if number % 2 == 0 else PAPER
    return {"stroke": color, "stroke-width": 2.4}, {"fill": fill, "stroke": color, "stroke-width": 2}
