"""Panels of curves as an SVG file: a legend, and of each panel a title, a grid, its curves, and marks of skipped steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from saccade.view.charts.panels import Curve, Panel, Panels, thinned
from saccade.view.output import colors
from saccade.view.output.display_text import columns, visible
from saccade.view.output.scales import LinearScale
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
from saccade.view.output.svg_layout import CENTERED, SMALL, Box, numbers_below, numbers_left

LETTER = 6.8  # pixels of a letter of the legend
MOST_LINES = 3  # of one name
SKIPPED = "#d6336c"
RAW = 0.3  # how much of its color a curve has that was smoothed


@dataclass(frozen=True)
class Sheet:
    """Measures of a drawing, for a desk or for a phone."""

    width: float = 780
    left: float = 62
    right: float = 20
    height: float = 230
    """Of the place of curves of a panel."""
    columns: int = 9
    """About how many numbers the shared axis has."""
    points: int = 60
    """Most of a dotted curve; more would be a band."""


WIDE, NARROW = Sheet(), Sheet(360, 48, 12, 190, 5, 20)


def panels_svg(chart: Panels, sheet: Sheet = WIDE) -> str:
    """The chart as an SVG file."""
    top, head = _head(chart, sheet)
    parts, y = [*head], top
    for number, panel in enumerate(chart.panels):
        box = Box(sheet.left, y + 30, sheet.width - sheet.left - sheet.right, sheet.height)
        parts += _panel(chart, panel, box, sheet)
        y = box.bottom + (26 if number < len(chart.panels) - 1 else 22)
    foot = text(chart.across, sheet.left + (sheet.width - sheet.left - sheet.right) / 2, y + 14, CENTERED)
    notes = [_skipped_note(sheet, y + 32)] if any(panel.skipped for panel in chart.panels) else []
    return document(sheet.width, y + 28 + 18 * len(notes), chart.title, *parts, foot, *notes)


def _head(chart: Panels, sheet: Sheet) -> tuple[float, list[str]]:
    """The title and the legend, a line for each run unless several fit; and where the panels begin."""
    longest = int((sheet.width - 64) / LETTER)
    parts = [text(chart.title, 20, 34, {"font-size": 16, "font-weight": 600}, longest=int(sheet.width / 9))]
    x, y = 20.0, 58.0
    for number, name in enumerate(chart.names):
        lines = wrap(visible(name), longest)[:MOST_LINES] or [""]
        wide = 44 + LETTER * max(map(columns, lines))
        if x > 20 and x + wide > sheet.width - 12:
            x, y = 20.0, y + 19
        parts.append(segments([(x, y - 4, x + 20, y - 4)], {"stroke": run_color(number), "stroke-width": 3}))
        for more, line in enumerate(lines):
            parts.append(text(line, x + 27, y + 16 * more, {"font-size": 12, "fill": INK}, longest=longest))
        x, y = (x + wide, y) if len(lines) == 1 else (sheet.width, y + 16 * (len(lines) - 1))
    return y + 10, parts


def run_color(number: int) -> str:
    """The color of a run; those after the last color begin anew."""
    return colors.DISTINCT[number % len(colors.DISTINCT)]


def faint_color(number: int) -> str:
    """The same, as a curve has it that was smoothed."""
    shade = [int(run_color(number)[place : place + 2], 16) for place in (1, 3, 5)]
    return colors.hexadecimal(colors.tint(RAW, shade))


def _panel(chart: Panels, panel: Panel, box: Box, sheet: Sheet) -> list[str]:
    """One panel: its title, axes and curves."""
    across, up = chart.horizontal(box.x, box.right), panel.up(box.bottom, box.y)
    grid = [(box.x, y, box.right, y) for y, _ in up.marks()]
    raw = [_raw(curve, across, up) for curve in panel.curves if curve.raw is not None]
    return [
        text(panel.title, box.x, box.y - 10, {"font-size": 12, "font-weight": 600}, longest=int(box.width / 7)),
        segments(grid, {"stroke": FAINT}),
        segments([(box.x, box.bottom, box.right, box.bottom)], {"stroke": QUIET}),
        numbers_left(up, box.x - 8),
        numbers_below(across, box.bottom + 16, sheet.columns),
        *raw,
        *(_curve(curve, across, up, sheet.points) for curve in reversed(panel.curves)),  # the first on top
        *_crosses([float(across(place)) for _, place in panel.skipped], box.bottom - 7),
    ]


def _raw(curve: Curve, across: LinearScale, up: LinearScale) -> str:
    assert curve.raw is not None
    x, y = thinned(curve.x, curve.raw)
    return polyline(across(x), up(y), {"stroke": faint_color(curve.run), "stroke-width": 1.2})


def _curve(curve: Curve, across: LinearScale, up: LinearScale, most: int) -> str:
    x, y = thinned(curve.x, curve.y)
    color = run_color(curve.run)
    stroke: Attributes = {"stroke": color, "stroke-width": 1.4 if curve.dotted else 2}
    line = polyline(across(x), up(y), stroke)
    if not curve.dotted and len(x) > 1:
        return line
    shown: Attributes = {"fill": PAPER, "stroke": color, "stroke-width": 1.8}
    every = -(-len(x) // most)
    places = zip(across(x)[::every].tolist(), up(y)[::every].tolist(), strict=True)
    return group({}, line, *(circle(place, height, 3.2, shown) for place, height in places))


def _crosses(places: Sequence[float], y: float) -> list[str]:
    """A cross at the foot of the panel for each step that was skipped."""
    strokes = [(x - 3.5, y - 3.5, x + 3.5, y + 3.5) for x in places] + [(x - 3.5, y + 3.5, x + 3.5, y - 3.5) for x in places]
    return [segments(strokes, {"stroke": SKIPPED, "stroke-width": 1.6})] if strokes else []


def _skipped_note(sheet: Sheet, y: float) -> str:
    """What a cross means."""
    words = text("skipped: gradient not finite", sheet.left + 12, y, SMALL)
    return group({}, *_crosses([sheet.left + 4], y - 4), words)
