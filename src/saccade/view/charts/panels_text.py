"""Panels of curves for the terminal: colored where there is color, else each curve marked with the letter of its run."""

import numpy as np
from numpy.typing import NDArray

from saccade.view.charts.curve import BRAILLE, Canvas, bottom
from saccade.view.charts.panels import Curve, Panel, Panels
from saccade.view.charts.panels_svg import SKIPPED, run_color
from saccade.view.output.display_text import columns
from saccade.view.output.scales import LinearScale
from saccade.view.output.screen import Screen, painted, this_screen

HEIGHT = 12  # lines of a panel
TICKS = 5  # about so many numbers at its side
LETTERS = "abcdefghijklmnopqrstuvwxyz"
APART, POINTS_APART = 12, 4  # columns between two letters of one curve, and between two points


def panels_text(chart: Panels, color: bool | None = None, width: int | None = None) -> str:
    """The chart as text."""
    screen = this_screen(color, width)
    margin = max(len(label) for panel in chart.panels for _, label in panel.up(0, 1).marks(TICKS)) + 1
    lines = [line for panel in chart.panels for line in _panel(chart, panel, margin, screen)]
    foot = screen.fit(chart.across, screen.width)
    notes = [f"{_cross(screen)} skipped: gradient not finite"] if any(panel.skipped for panel in chart.panels) else []
    centered = " " * max(0, (screen.width + margin - columns(foot)) // 2) + foot
    return "\n".join([*_legend(chart, screen), "", *lines, centered, *notes])


def _legend(chart: Panels, screen: Screen) -> list[str]:
    """A line for each run, with its color or its letter."""
    lines, validated = [], any(curve.dotted for panel in chart.panels for curve in panel.curves)
    for number, name in enumerate(chart.names):
        key = painted(screen.glyphs.across * 2, rgb(run_color(number))) if screen.color else letter(number)
        name += f" ({letter(number).upper()}: validation)" * (validated and not screen.color)
        lines.append(f"{key} {screen.fit(name, screen.width - 3)}")
    return lines


def _panel(chart: Panels, panel: Panel, margin: int, screen: Screen) -> list[str]:
    """One panel: its title, the drawing with its axes, and an empty line."""
    wide = screen.width - margin - 1
    up, across = panel.up(0, 1), chart.horizontal(0, 1)
    upward = {round((1 - place) * (HEIGHT - 1)): label for place, label in up.marks(TICKS)}
    cells = _drawn(panel, up, across, wide, screen)
    lines = [" " * margin + screen.fit(panel.title, wide)]
    for row in range(HEIGHT):
        side = screen.glyphs.tick_left if row in upward else screen.glyphs.down
        lines.append(f"{upward.get(row, ''):>{margin - 1}} {side}{''.join(cells[row])}".rstrip())
    return [*lines, *(" " * margin + line for line in bottom(across, wide, screen.glyphs))]


def _drawn(panel: Panel, up: LinearScale, across: LinearScale, wide: int, screen: Screen) -> list[list[str]]:
    """The characters of all curves over each other; where two meet, the first run is on top."""
    cells = [[" "] * wide for _ in range(HEIGHT)]
    strokes = np.zeros((HEIGHT, wide), dtype=np.int64)
    for curve in reversed(panel.curves):
        canvas = Canvas(wide, HEIGHT, screen.glyphs)
        canvas.line(across(curve.x), up(curve.y))
        if curve.dotted or len(curve.x) == 1:
            every = -(-len(curve.x) * POINTS_APART // wide)
            canvas.scatter(across(curve.x)[::every], up(curve.y)[::every])
        codes = canvas.codes()
        strokes |= codes
        for row, column in zip(*np.nonzero(codes), strict=True):
            mark = "*" if screen.ascii_only else chr(BRAILLE + int(strokes[row, column]))
            cells[row][column] = painted(mark, rgb(run_color(curve.run))) if screen.color else mark
        for row, column in zip(*np.nonzero(canvas.points), strict=True):
            mark = screen.glyphs.point
            cells[row][column] = painted(mark, rgb(run_color(curve.run))) if screen.color else _point(curve)
        if not screen.color and not curve.dotted and len(panel.curves) > 1:
            _mark(cells, codes, curve.run)
    for _, place in panel.skipped:
        cells[-1][round(float(across(place)) * (wide - 1))] = _cross(screen)
    return cells


def _mark(cells: list[list[str]], codes: NDArray[np.int64], run: int) -> None:
    """The letter of a run along its curve."""
    used = np.flatnonzero(codes.any(axis=0))
    for column in used[(used + run * 3) % APART == 0].tolist():
        row = int(np.flatnonzero(codes[:, column])[0])
        cells[row][column] = letter(run)


def _point(curve: Curve) -> str:
    """What stands for a point where there is no color: a capital for a validation."""
    return letter(curve.run).upper() if curve.dotted else letter(curve.run)


def letter(number: int) -> str:
    """What stands for a run where there is no color."""
    return LETTERS[number % len(LETTERS)]


def rgb(color: str) -> tuple[int, int, int]:
    """The channels of `#rrggbb`."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def _cross(screen: Screen) -> str:
    return painted(screen.glyphs.times, rgb(SKIPPED)) if screen.color else screen.glyphs.times
