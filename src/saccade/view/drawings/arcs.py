"""The words of a text in a row, and over them an arc from each to those words of the same text that it looked at: likely
heads in a dependency tree (Kim et al. 2017), or earlier words that a recurrent network came back to (Cheng et al. 2016)."""

from collections.abc import Iterator, Sequence

import numpy as np

from saccade.view.drawings import lines
from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.svg import DOTTED, Attributes, circle, document, polyline, text
from saccade.view.output.svg_layout import LONGEST_NAME, heading, heading_width
from saccade.view.trace import Look, Scene

MOST = 60  # words in a row
LETTER, GAP, LEAST = 7.4, 14.0, 22.0  # of the drawing: a column of text, between words, the narrowest word
FLAT, TALLEST = 0.55, 170.0  # an arc's height beside half its width, and the most
FAINTEST = 0.12  # of the strongest arc: weaker ones are left out
LOOP = 5.0  # half the width of an arc from a word to itself
ROOT = 26.0  # the height of what a word has left of 1
STEPS = 33  # points of an arc
TURN = np.linspace(0, np.pi, STEPS)


def svg(figure: Figure) -> str:
    """Arcs end in a dot at the word that was looked at. What a row has left of 1 (a tree's root) stands as a line."""
    names = figure.names(figure.keys)
    sizes = [max(LEAST, LETTER * display_text.columns(display_text.fit(name, LONGEST_NAME))) for name in names]
    ends = 24 + np.cumsum([size + GAP for size in sizes])
    places = (ends - GAP - np.array(sizes) / 2).tolist()
    arcs = list(_arcs(figure, places))
    base = 64.0 + 18 * len(figure.notes) + max([ROOT, *(arc[-1] for arc in arcs)])
    unknown = set(figure.keys.unknown)
    words = [
        text(name, x, base + 20, {"text-anchor": "middle", **(DOTTED if number in unknown else {})}, longest=LONGEST_NAME)
        for number, (name, x) in enumerate(zip(names, places, strict=True))
    ]
    drawn = [part for arc in arcs for part in _drawn(*arc, base)]
    wide = max(340.0, float(ends[-1]) + 10, heading_width(figure.title, figure.notes))
    return document(wide, base + 38, figure.title, *heading(figure.title, figure.notes), *drawn, *words)


def _arcs(figure: Figure, places: Sequence[float]) -> Iterator[tuple[float, str, float, float, float]]:
    """The share of the strongest, the color, both ends and the height of each arc, the strongest last."""
    weights = figure.weights if figure.signed else np.clip(figure.weights, 0.0, None)
    sums = weights.sum(-1)
    # A word that saw nothing has no root.
    left = np.where((sums > 0) & (not figure.signed), np.clip(1 - sums, 0.0, None), 0.0)
    most = max(float(np.abs(weights).max()), float(left.max())) or 1.0
    found = [(float(left[row]), x, x, ROOT) for row, x in enumerate(places)]
    for row, column in np.ndindex(*weights.shape):
        aside = LOOP if row == column else 0.0
        start, end = places[row] - aside, places[column] + aside
        high = 3 * LOOP if row == column else min(FLAT * abs(end - start) / 2, TALLEST)
        found.append((float(weights[row, column]), start, end, high))
    for weight, start, end, high in sorted(found, key=lambda one: abs(one[0])):
        share = abs(weight) / most
        if share >= FAINTEST:
            color = colors.BELOW if weight < 0 else colors.ABOVE if figure.signed else lines.LOOKED
            yield share, colors.hexadecimal(colors.tint(share**1.5, color)), start, end, high


def _drawn(share: float, color: str, start: float, end: float, high: float, base: float) -> list[str]:
    x, y = start + (end - start) * (1 - np.cos(TURN)) / 2, base - high * np.sin(TURN)
    if start == end:  # the first half, which stands
        x, y = x[: STEPS // 2 + 1], y[: STEPS // 2 + 1]
    stroke: Attributes = {"stroke": color, "stroke-width": 0.6 + 2.0 * share}
    return [polyline(x, y, stroke), circle(float(x[-1]), float(y[-1]), 1.2 + 1.6 * share, {"fill": color})]


def _fits(scene: Scene, look: Look) -> bool:
    axis = scene.axes[look.keys]
    is_text = axis.kind != "characters" and axis.grid is None  # single letters, and places of a picture, make no sentence
    return look.places is None and look.queries == look.keys and is_text and max(scene.shape(look)) <= MOST


DRAWING = Drawing(name="arcs", fits=_fits, terminal=lines.DRAWING.terminal, svg=svg)
