"""A text whose words are shaded by how much each was looked at, as readers would rather see it than a matrix of one row.

Above it the sentences may have weights, too (Yang et al. 2016, figures 5 and 6): a mark before each says how much it was.
Shades begin at 0, so that words that are all alike look alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.view import colors, labels
from saccade.view.elements import INK, QUIET, Attributes, document, element, text
from saccade.view.scales import Integers
from saccade.view.screen import Screen, painted

WORD, SENTENCE, PAPER = np.array((255, 176, 59)), np.array((214, 69, 93)), np.array((251, 251, 253))
WIDE, LINE, LETTER = 720, 26, 7.4  # of the picture: its width, a line's height, a column of text
LONGEST = 60  # columns of a word


@dataclass(frozen=True)
class Sentence:
    """Some words with their weights; the weight of all of them together, if sentences were weighed."""

    words: Sequence[str]
    weights: Sequence[float]
    weight: float | None = None


@dataclass(frozen=True)
class Placed:
    """A word on its line."""

    word: str
    share: float
    line: int
    column: int
    sentence: int | None
    "The number of the sentence that it begins."


def placed(sentences: Sequence[Sentence], width: int, indent: int) -> Iterator[Placed]:
    """Every word where it stands in lines of so many columns; a sentence that has a weight begins a line."""
    most = max([0.0, *(weight for sentence in sentences for weight in sentence.weights)]) or 1.0
    line, column = -1, width
    for number, sentence in enumerate(sentences):
        apart = sentence.weight is not None or number == 0
        for place, (word, weight) in enumerate(zip(sentence.words, sentence.weights, strict=True)):
            shown = labels.fit(word, min(LONGEST, width - indent))
            size = labels.columns(shown)
            if column + size > width or (apart and place == 0):
                line, column = line + 1, indent
            yield Placed(shown, max(weight, 0.0) / most, line, column, number if place == 0 else None)
            column += size + 1


def terminal(sentences: Sequence[Sentence], screen: Screen) -> str:
    """The text for the terminal: colored behind the words or, without color, with shades in a line below them."""
    weighed = any(sentence.weight is not None for sentence in sentences)
    indent = 3 if weighed else 0
    lines: dict[int, list[Placed]] = {}
    for one in placed(sentences, screen.width, indent):
        lines.setdefault(one.line, []).append(one)
    shares = _shares(sentences)
    shown = [row for line in lines.values() for row in _row(line, shares, screen)]
    return "\n".join(row.rstrip() for row in [*shown, _legend(sentences, screen)])


def _shares(sentences: Sequence[Sentence]) -> list[float]:
    weights = [sentence.weight or 0.0 for sentence in sentences]
    return [weight / (max(weights, default=0.0) or 1.0) for weight in weights]


def _row(line: Sequence[Placed], shares: Sequence[float], screen: Screen) -> list[str]:
    above, below, at = "", "", 0
    first = line[0].sentence
    if line[0].column:
        share = shares[first] if first is not None else 0.0
        above, below, at = _mark(share, screen), " " * 3, 3
    for one in line:
        gap, size = " " * (one.column - at), labels.columns(one.word)
        word = screen.fit(one.word, LONGEST)
        above += gap + (_tinted(word, one.share, WORD) if screen.color else word)
        below += gap + _shade(one.share, screen) * size
        at = one.column + size
    return [above] if screen.color else [above, below]


def _mark(share: float, screen: Screen) -> str:
    """Two columns that say how much a sentence was."""
    return (_tinted("  ", share, SENTENCE) if screen.color else _shade(share, screen) * 2) + " "


def _shade(share: float, screen: Screen) -> str:
    shades = screen.glyphs.shades
    return shades[min(int(share * len(shades)), len(shades) - 1)]


def tint(share: float, color: Integers) -> NDArray[np.uint8]:
    """From paper to this color."""
    mixed: NDArray[np.uint8] = (PAPER + (color - PAPER) * min(max(share, 0.0), 1.0)).round().astype(np.uint8)
    return mixed


def _tinted(word: str, share: float, color: Integers) -> str:
    return painted(painted(word, (27, 31, 42)).removesuffix("\x1b[0m"), tint(share, color), background=True)


def _legend(sentences: Sequence[Sentence], screen: Screen) -> str:
    weights = [weight for sentence in sentences for weight in sentence.weights]
    return screen.fit(f"{len(weights)} words; the most that one was: {max(weights, default=0.0):.2g}", screen.width)


def svg(sentences: Sequence[Sentence], title: str, notes: Sequence[str] = ()) -> str:
    """The text as a picture."""
    weighed = any(sentence.weight is not None for sentence in sentences)
    left, top = 44 if weighed else 20, 60 + 18 * len(notes)
    words = list(placed(sentences, int((WIDE - left - 20) / LETTER), 0))
    shares = _shares(sentences)
    parts = [text(title, 20, 32, {"font-size": 16, "font-weight": 600}, longest=80)]
    small: Attributes = {"font-size": 11, "fill": QUIET}
    parts += [text(note, 20, 52 + 18 * number, small, longest=110) for number, note in enumerate(notes)]
    for one in words:
        x, y, size = left + one.column * LETTER, top + one.line * LINE, labels.columns(one.word) * LETTER
        if weighed and one.sentence is not None:
            fill = colors.hexadecimal(tint(shares[one.sentence], SENTENCE))
            parts.append(element("rect", {"x": 20, "y": y, "width": 14, "height": LINE - 6, "fill": fill}))
        fill = colors.hexadecimal(tint(one.share, WORD))
        parts.append(element("rect", {"x": x - 3, "y": y, "width": size + 5, "height": LINE - 6, "fill": fill}))
        parts.append(text(one.word, x + size / 2, y + 14, {"text-anchor": "middle", "fill": INK}, longest=LONGEST))
    bottom = top + (max((one.line for one in words), default=0) + 1) * LINE
    return document(WIDE, bottom + 16, title, *parts)
