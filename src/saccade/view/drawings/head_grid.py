"""What each head attends to: for every measure a grid of layers and heads, colored by it (Clark et al. 2019)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.head_measures import MEASURES, SHARES, HeadSums, is_measured, summed, within
from saccade.view.output import display_text
from saccade.view.output.scales import Floats
from saccade.view.output.screen import Screen
from saccade.view.output.svg import FAINT, QUIET, Attributes, cells, document, element, text
from saccade.view.output.svg_layout import CENTERED, SMALL, heading
from saccade.view.trace import Look, Scene

ACROSS, PANEL, APART = 4, 190.0, 46.0  # panels in a row; the width of one; between two
WIDEST, HIGHEST = 22.0, 22.0  # pixels of a cell


@dataclass(frozen=True)
class HeadGrid:
    """Every measure of the heads of a stack of layers, (layers, heads); NaN where there is nothing to measure."""

    stack: str
    layers: Sequence[int]
    values: Mapping[str, Floats]

    def most(self, measure: str) -> float:
        """What is full color: shares have one scale, other measures their own."""
        alike = SHARES if measure in SHARES else [measure]
        found = [self.values[name] for name in alike if name in self.values]
        return float(np.nanmax(np.stack(found))) or 1.0

    def largest(self, measure: str) -> tuple[int, int]:
        """The layer and head of the largest number."""
        values = self.values[measure]
        row, head = np.unravel_index(np.nanargmax(values), values.shape)
        return self.layers[int(row)], int(head)


def grids(sums: Mapping[str, HeadSums]) -> list[HeadGrid]:
    """The grids of every stack; a measure that no head has is left out."""
    found = []
    for stack in dict.fromkeys(one.stack for one in sums.values()):
        own = [one for one in sums.values() if one.stack == stack]
        heads = max(one.heads for one in own)
        values = {name: np.array([_row(one, name, heads) for one in own]) for name in MEASURES}
        known = {name: value for name, value in values.items() if not np.isnan(value).all()}
        found.append(HeadGrid(stack, [one.layer for one in own], known))
    return found


def _row(one: HeadSums, measure: str, heads: int) -> list[float]:
    means = (one.mean(measure, head) if head < one.heads else None for head in range(heads))
    return [np.nan if mean is None else mean for mean in means]


def drawn(sums: Mapping[str, HeadSums], title: str, notes: Sequence[str] = (), measure: str | None = None) -> str:
    """An SVG of all measures, or of one, a panel each; several stacks stand under one another."""
    notes = [*notes, "down: layers from 1 · across: heads from 0 · shares of weight on one scale from 0"]
    parts, y, right = heading(title, notes), 66.0 + 18 * len(notes), 0.0
    for grid in grids(sums):
        names = [name for name in grid.values if measure in (None, name)]
        if not names:
            continue
        parts.append(text(grid.stack, 20, y, {"font-size": 13, "font-weight": 600}))
        y += 24
        rows, heads = grid.values[names[0]].shape
        wide, high = min(WIDEST, PANEL / heads), min(HIGHEST, PANEL / heads, 360 / rows)
        for start in range(0, len(names), ACROSS):
            for place, name in enumerate(names[start : start + ACROSS]):
                x = 46 + place * (heads * wide + APART)
                parts += _panel(grid, name, x, y, wide, high)
                right = max(right, x + heads * wide)
            y += rows * high + 72
    notes_end = max(7 * display_text.columns(display_text.fit(line, 110)) + 40 for line in (title, *notes))
    return document(max(right + 30, notes_end, 360.0), y, title, *parts)


def _panel(grid: HeadGrid, measure: str, x: float, y: float, wide: float, high: float) -> Iterator[str]:
    values, most = grid.values[measure], grid.most(measure)
    rows, heads = values.shape
    width, height = heads * wide, rows * high
    layer, head = grid.largest(measure)
    yield text(measure, x, y + 2, {"font-weight": 600})
    yield text(MEASURES[measure], x, y + 16, {**SMALL, "font-size": 10})
    top = y + 24
    yield element("rect", {"x": x - 1, "y": top - 1, "width": width + 2, "height": height + 2, "fill": FAINT})
    yield cells(values / most, x, top, width, height)
    every = max(1, -(-rows // 12))
    for row in range(0, rows, every):
        place: Attributes = {**SMALL, "font-size": 9, "text-anchor": "end"}
        yield text(str(grid.layers[row]), x - 4, top + (row + 0.5) * high + 3, place)
    for number in range(0, heads, max(1, -(-heads // 12))):
        yield text(str(number), x + (number + 0.5) * wide, top + height + 11, {**CENTERED, "font-size": 9})
    said = f"most {written(float(np.nanmax(values)))} in {layer}.{head}"
    row = list(grid.layers).index(layer)
    frame: Attributes = {
        "x": x + head * wide,
        "y": top + row * high,
        "width": wide,
        "height": high,
        "fill": "none",
        "stroke": "#ffffff",
    }
    yield element("rect", {**frame, "stroke-width": 1.6})
    yield text(said, x, top + height + 25, {"font-size": 10, "fill": QUIET})


def written(value: float | None) -> str:
    """A share or a number as people read it in a table."""
    return "-" if value is None or np.isnan(value) else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def lines(sums: Mapping[str, HeadSums], order: Sequence[tuple[str, int]], screen: Screen) -> list[str]:
    """A table: a line for each head, in this order, with its measures."""
    known = [name for name in MEASURES if any(name in one.sums for one in sums.values())]
    several = len({one.stack for one in sums.values()}) > 1
    table = [["head", *known, *["stack"] * several]]
    for name, number in order:
        one = sums[name]
        numbers = [written(one.mean(measure, number)) for measure in known]
        table.append([f"{one.layer}.{number}", *numbers, *[one.stack] * several])
    wide = [max(6, len(cell)) for cell in table[0][: len(known) + 1]]
    rows = ("  ".join([*map(str.rjust, row, wide), *row[len(wide) :]]) for row in table)
    return [screen.fit(row, screen.width).rstrip() for row in rows]


def every(sums: Mapping[str, HeadSums]) -> list[tuple[str, int]]:
    """All heads in the order of their layers: the name of the look, and the head."""
    return [(name, head) for name, one in sums.items() for head in range(one.heads)]


def on_page(scene: Scene) -> dict[str, object]:
    """What the page draws: of each stack its looks by number, and the measures of their heads."""
    sums = summed([scene])
    places = {look.name: number for number, look in enumerate(scene.looks)}
    stacks = []
    for grid in grids(sums):
        own = [name for name, one in sums.items() if one.stack == grid.stack]
        values = {name: _listed(value) for name, value in grid.values.items()}
        most = {name: grid.most(name) for name in grid.values}
        looks = [places[name] for name in own]
        stacks.append({"name": grid.stack, "looks": looks, "layers": list(grid.layers), "values": values, "most": most})
    return {"about": MEASURES, "stacks": stacks}


def _listed(values: Floats) -> list[list[float | None]]:
    rows: list[list[float]] = values.round(5).tolist()
    return [[None if value != value else value for value in row] for row in rows]


def _terminal(figure: Figure, screen: Screen) -> str:
    sums = summed([figure.scene])
    return "\n".join(lines(sums, every(sums), screen))


def _fits(scene: Scene, look: Look) -> bool:
    own = [each for each in scene.looks if is_measured(each) and within(each) and scene.shape(each)[0] > 1]
    return look.places is None and sum(each.heads for each in own) > 1


DRAWING = Drawing(
    name="head_grid", fits=_fits, terminal=_terminal, svg=lambda figure: drawn(summed([figure.scene]), figure.title)
)
