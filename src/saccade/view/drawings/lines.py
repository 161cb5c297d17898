"""Tokens in two columns, joined by lines as strong as the weights between them (Vig 2019, the attention-head view)."""

from collections.abc import Iterator

import numpy as np

from saccade.view.drawings.bars import written
from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.screen import Screen
from saccade.view.output.svg import DOTTED, FAINT, QUIET, document, element, segments, text
from saccade.view.output.svg_layout import LONGEST_NAME, SMALL, heading, heading_width
from saccade.view.trace import Axis, Look, Scene

MOST = 200  # places of a side; more could not be told apart
LINE, GAP, BAR = 19.0, 240.0, 36.0  # of the drawing: a token's height, between the columns, the bar of a probability
LEVELS = 24  # strengths of lines
FAINTEST = 0.03  # of the strongest line: weaker ones are left out
LOOKED = (58, 42, 120)  # the strongest line of attention
LISTED = 3  # keys of each query in the terminal


def svg(figure: Figure) -> str:
    """Queries at the left, with the probability of each if there is one; keys at the right."""
    names = figure.names(figure.queries), figure.names(figure.keys)
    left, right = (6.8 * max(display_text.columns(display_text.fit(name, LONGEST_NAME)) for name in side) for side in names)
    percents = figure.percents(figure.queries)
    start = 20 + left + (BAR + 44 if percents else 0)
    top = 84.0 + 18 * len(figure.notes)
    end = start + GAP
    heads = {**SMALL, "font-weight": 600}
    parts = [*heading(figure.title, figure.notes), *_strokes(figure, start + 6, end - 6, top)]
    parts.append(text(figure.look.queries, start, top - 12, {**heads, "text-anchor": "end"}, longest=24))
    parts.append(text(figure.look.keys, end, top - 12, heads, longest=24))
    parts += _tokens(figure.queries, names[0], start, top, "end") + _tokens(figure.keys, names[1], end, top, "start")
    for row, (percent, probability) in enumerate(zip(percents, _probabilities(figure.queries), strict=True)):
        y = top + row * LINE
        parts.append(element("rect", {"x": 20, "y": y + 4, "width": BAR, "height": 8, "fill": FAINT}))
        parts.append(element("rect", {"x": 20, "y": y + 4, "width": BAR * probability, "height": 8, "fill": QUIET}))
        parts.append(text(percent, 24 + BAR, y + 12, {**SMALL, "font-size": 10}))
    wide = max(end + right + 20, heading_width(figure.title, figure.notes), 340.0)
    return document(wide, top + max(map(len, names)) * LINE + 16, figure.title, *parts)


def _probabilities(axis: Axis) -> list[float]:
    return [] if axis.probabilities is None else list(axis.probabilities.tolist())


def _tokens(axis: Axis, names: list[str], x: float, top: float, anchor: str) -> list[str]:
    unknown = set(axis.unknown)
    return [
        text(
            name,
            x,
            top + row * LINE + 12,
            {"text-anchor": anchor, **(DOTTED if row in unknown else {})},
            longest=LONGEST_NAME,
        )
        for row, name in enumerate(names)
    ]


def _strokes(figure: Figure, start: float, end: float, top: float) -> Iterator[str]:
    """The lines, one path for each strength, the strongest last, so that it is on top."""
    weights = figure.weights if figure.signed else np.clip(figure.weights, 0.0, None)
    share = np.abs(weights) / (np.abs(weights).max() or 1.0)
    levels = np.where(share < FAINTEST, 0, np.ceil(share * LEVELS)).astype(int)
    for level in range(1, LEVELS + 1):
        for color, mask in ((colors.BELOW, weights < 0), (colors.ABOVE if figure.signed else LOOKED, weights >= 0)):
            rows, columns = np.nonzero((levels == level) & mask)
            if rows.size:
                y = top + 9 + LINE * np.stack([rows, columns])
                ends = [(start, begin, end, finish) for begin, finish in y.T.tolist()]
                stroke = colors.hexadecimal(colors.tint((level / LEVELS) ** 1.5, color))
                yield segments(ends, {"stroke": stroke, "stroke-width": 0.6 + 2.4 * level / LEVELS})


def table(figure: Figure, screen: Screen, most: int) -> Iterator[str]:
    """A line for each query: its name, its probability if there is one, and the keys that it looked at most."""
    words = [screen.fit(word, screen.width // 4) for word in figure.names(figure.queries)[:most]]
    keys, width = figure.names(figure.keys, numbered=True), max(map(display_text.columns, words))
    percents = figure.percents(figure.queries) or [""] * len(words)
    room = max(map(len, percents))
    for word, percent, weights in zip(words, percents, figure.weights, strict=False):
        order = np.argsort(-np.abs(weights) if figure.signed else -weights, kind="stable")[:LISTED].tolist()
        looked = "   ".join(f"{written(float(weights[place]))} at {keys[place]}" for place in order)
        yield screen.fit(f"{padded(word, width)} {percent:>{room}}{' ' * bool(room)} {looked}", screen.width).rstrip()


def padded(word: str, width: int) -> str:
    return word + " " * (width - display_text.columns(word))


def _terminal(figure: Figure, screen: Screen) -> str:
    return "\n".join(table(figure, screen, MOST))


def _fits(scene: Scene, look: Look) -> bool:
    return look.places is None and max(scene.shape(look)) <= MOST


DRAWING = Drawing(name="lines", fits=_fits, terminal=_terminal, svg=svg)
