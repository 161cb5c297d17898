"""A text whose words are shaded by how much each was looked at, as readers would rather see it than a matrix of one row.

Above it the sentences may have weights, too (Yang et al. 2016, figures 5 and 6): a mark before each says how much it was,
and its words are shaded by their weight times the square root of the sentence's, so that what stands in a sentence that
was passed over stays pale. Shades begin at 0, so that words that are all alike look alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from textwrap import wrap

from saccade.view import labels
from saccade.view.colors import SENTENCE, WORD, hexadecimal, tint
from saccade.view.elements import INK, document, element, text
from saccade.view.panels import SMALL, heading
from saccade.view.screen import Color, Screen, painted

WIDE, LINE, LETTER = 720, 26, 7.4  # of the picture: its width, a line's height, a column of text
LONGEST = 60  # columns of a word
ALIKE = 1.5  # the heaviest of words that are all about alike, over their mean, is less than this


@dataclass(frozen=True)
class Sentence:
    """Some words with their weights; the weight of all of them together, if sentences were weighed."""

    words: Sequence[str]
    weights: Sequence[float]
    weight: float | None = None

    def shades(self) -> list[float]:
        """How dark each word is before all are compared: not below 0."""
        factor = 1.0 if self.weight is None else sqrt(max(self.weight, 0.0))
        return [max(weight, 0.0) * factor for weight in self.weights]


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
    """Every word where it stands in lines of so many columns; a sentence begins a line, even one without words."""
    most = max([0.0, *(shade for sentence in sentences for shade in sentence.shades())]) or 1.0
    line, column = -1, width
    for number, sentence in enumerate(sentences):
        shaded = list(zip(sentence.words, sentence.shades(), strict=True)) or [("", 0.0)]
        for place, (word, shade) in enumerate(shaded):
            shown = labels.fit(word, min(LONGEST, width - indent))
            size = labels.columns(shown)
            if column + size > width or place == 0:
                line, column = line + 1, indent
            yield Placed(shown, shade / most, line, column, number if place == 0 else None)
            column += size + 1


def terminal(sentences: Sequence[Sentence], screen: Screen) -> str:
    """The text for the terminal: colored behind the words or, without color, with shades in a line below them."""
    indent = 3 if _weighed(sentences) else 0
    lines: dict[int, list[Placed]] = {}
    for one in placed(sentences, screen.width, indent):
        lines.setdefault(one.line, []).append(one)
    shares = _shares(sentences)
    shown = [row for line in lines.values() for row in _row(line, shares, screen)]
    told = [row for line in legend(sentences, root="sqrt" if screen.ascii_only else "√") for row in wrap(line, screen.width)]
    return "\n".join(row.rstrip() for row in [*shown, *told])


def _weighed(sentences: Sequence[Sentence]) -> bool:
    return any(sentence.weight is not None for sentence in sentences)


def _shares(sentences: Sequence[Sentence]) -> list[float]:
    weights = [max(sentence.weight or 0.0, 0.0) for sentence in sentences]
    return [weight / (max(weights, default=0.0) or 1.0) for weight in weights]


def _row(line: Sequence[Placed], shares: Sequence[float], screen: Screen) -> list[str]:
    above, below, at = "", "", 0
    first = line[0].sentence
    if line[0].column:
        above, below, at = (_mark(shares[first], screen) if first is not None else " " * 3), " " * 3, 3
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


def _tinted(word: str, share: float, color: Color) -> str:
    return painted(painted(word, (27, 31, 42)).removesuffix("\x1b[0m"), tint(share, color), background=True)


def legend(sentences: Sequence[Sentence], root: str = "√") -> list[str]:
    """What the shades mean, and how much the darkest is."""
    weights = [weight for sentence in sentences for weight in sentence.weights]
    lines = [f"{len(weights)} words; the most that one was: {max(weights, default=0.0):.2g}"]
    known = [sentence.weight for sentence in sentences if sentence.weight is not None]
    if len(sentences) == 1 and len(weights) > 1 and max(weights) * len(weights) < ALIKE * sum(weights):
        lines[0] += ", all about alike"
    if known:
        lines[0] += f", and a sentence: {max(known):.2g}"
        lines.append(f"Mark: the sentence's weight. Shade: the word's weight times {root}(its sentence's).")
    return lines


def svg(sentences: Sequence[Sentence], title: str, notes: Sequence[str] = ()) -> str:
    """The text as a picture; a text that runs from right to left begins at the right."""
    weighed = _weighed(sentences)
    left, top = 44 if weighed else 20, 60 + 18 * len(notes)
    wide = WIDE - left - 20
    words = list(placed(sentences, int(wide / LETTER), 0))
    mirrored = 2 * sum(labels.runs_right_to_left(one.word) for one in words) > len(words)
    shares = _shares(sentences)
    parts = heading(title, notes)
    for one in words:
        across, y, size = one.column * LETTER, top + one.line * LINE, labels.columns(one.word) * LETTER
        x = WIDE - left - across - size if mirrored else left + across
        if weighed and one.sentence is not None:
            mark = {"x": WIDE - 34 if mirrored else 20, "y": y, "width": 14, "height": LINE - 6}
            parts.append(element("rect", {**mark, "fill": hexadecimal(tint(shares[one.sentence], SENTENCE))}))
        if one.word:
            ground = {"x": x - 3, "y": y, "width": size + 5, "height": LINE - 6}
            parts.append(element("rect", {**ground, "fill": hexadecimal(tint(one.share))}))
            parts.append(text(one.word, x + size / 2, y + 14, {"text-anchor": "middle", "fill": INK}, longest=LONGEST))
    bottom = top + (max((one.line for one in words), default=0) + 1) * LINE + 16
    told = legend(sentences)
    parts += [text(line, 20, bottom + 18 * number, SMALL, longest=110) for number, line in enumerate(told)]
    return document(WIDE, bottom + 18 * len(told), title, *parts)
