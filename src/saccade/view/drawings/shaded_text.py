"""A text whose words are shaded by their weights, which is easier to read than a matrix of one row.

In a document, sentences have weights, too (Yang et al. 2016, figures 5 and 6): a mark before each sentence shows its
weight, and its words are shaded by their weight times the square root of the sentence's, so that words of a sentence with
little weight stay pale. Shades begin at 0, so that equal weights look equal.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from textwrap import wrap
from typing import Any

import numpy as np

from saccade.view.drawings.figure import Drawing, Figure, one_query_at
from saccade.view.output import display_text
from saccade.view.output.colors import ABOVE, BELOW, SENTENCE, WORD, hexadecimal, tint
from saccade.view.output.scales import Integers
from saccade.view.output.screen import Color, Screen, painted
from saccade.view.output.svg import DOTTED, INK, document, element, text
from saccade.view.output.svg_layout import SMALL, heading
from saccade.view.trace import Look, Scene, matrix

WIDE, LINE, LETTER = 720, 26, 7.4  # of the drawing: its width, a line's height, a column of text
LONGEST = 60  # columns of a word


@dataclass(frozen=True)
class Sentence:
    """Some words with their weights; the weight of all of them together, if sentences were weighed."""

    words: Sequence[str]
    weights: Sequence[float]
    weight: float | None = None
    signed: bool = False
    "Whether weights below 0 have a shade, too, of another color."
    unknown: Collection[int] = ()

    def shades(self) -> list[float]:
        """How dark each word is, before all are divided by the largest; not below 0 unless signed."""
        factor = 1.0 if self.weight is None else sqrt(max(self.weight, 0.0))
        return [(weight if self.signed else max(weight, 0.0)) * factor for weight in self.weights]


@dataclass(frozen=True)
class Placed:
    """A word on its line."""

    word: str
    share: float
    line: int
    column: int
    sentence: int | None
    "The number of the sentence that it begins."
    signed: bool
    unknown: bool

    @property
    def shade(self) -> Color:
        """What the word stands on."""
        return tint(abs(self.share), WORD if not self.signed else ABOVE if self.share > 0 else BELOW)


def placed(sentences: Sequence[Sentence], width: int, indent: int) -> Iterator[Placed]:
    """Every word with its position in lines of `width` columns; a sentence begins a line, even one without words."""
    most = max([0.0, *(abs(shade) for sentence in sentences for shade in sentence.shades())]) or 1.0
    line, column = -1, width
    for number, sentence in enumerate(sentences):
        shaded = list(zip(sentence.words, sentence.shades(), strict=True)) or [("", 0.0)]
        for place, (word, shade) in enumerate(shaded):
            shown = display_text.fit(word, min(LONGEST, width - indent))
            size = display_text.columns(shown)
            if column + size > width or place == 0:
                line, column = line + 1, indent
            begins, unknown = number if place == 0 else None, place in sentence.unknown
            yield Placed(shown, shade / most, line, column, begins, sentence.signed, unknown)
            column += size + 1


def terminal(sentences: Sequence[Sentence], screen: Screen) -> str:
    """The text for the terminal: words on a color or, without color, over a line of shades."""
    indent = 3 if _weighed(sentences) else 0
    lines: dict[int, list[Placed]] = {}
    for one in placed(sentences, screen.width, indent):
        lines.setdefault(one.line, []).append(one)
    shares = _shares(sentences)
    shown = [row for line in lines.values() for row in _row(line, shares, screen)]
    meaning = [
        row for line in legend(sentences, root="sqrt" if screen.ascii_only else "√") for row in wrap(line, screen.width)
    ]
    return "\n".join(row.rstrip() for row in [*shown, *meaning])


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
        gap, size = " " * (one.column - at), display_text.columns(one.word)
        word = screen.fit(one.word, LONGEST)
        above += gap + (_tinted(word, one.shade) if screen.color else word)
        below += gap + ("-" if one.share < -0.2 else _shade(abs(one.share), screen)) * size
        at = one.column + size
    return [above] if screen.color else [above, below]


def _mark(share: float, screen: Screen) -> str:
    """Two columns that show the weight of a sentence."""
    return (_tinted("  ", tint(share, SENTENCE)) if screen.color else _shade(share, screen) * 2) + " "


def _shade(share: float, screen: Screen) -> str:
    shades = screen.glyphs.shades
    return shades[min(int(share * len(shades)), len(shades) - 1)]


def _tinted(word: str, color: Color) -> str:
    return painted(painted(word, (27, 31, 42)).removesuffix("\x1b[0m"), color, background=True)


def legend(sentences: Sequence[Sentence], root: str = "√") -> list[str]:
    """What the shades mean, and the weight of the darkest."""
    weights = [weight for sentence in sentences for weight in sentence.weights]
    lines = [f"{len(weights)} words; largest weight {max(weights, default=0.0):.2g}"]
    known = [sentence.weight for sentence in sentences if sentence.weight is not None]
    if any(sentence.signed for sentence in sentences):
        lines[0] += f", smallest {min(weights, default=0.0):.2g}; red: raised the output, blue: lowered it"
    if known:
        lines[0] += f", of a sentence {max(known):.2g}"
        lines.append(f"Mark: the sentence's weight. Shade: the word's weight times {root}(its sentence's).")
    return lines


def svg(sentences: Sequence[Sentence], title: str, notes: Sequence[str] = ()) -> str:
    """The text as SVG; a text that runs from right to left begins at the right."""
    weighed = _weighed(sentences)
    left, top = 44 if weighed else 20, 60 + 18 * len(notes)
    wide = WIDE - left - 20
    words = list(placed(sentences, int(wide / LETTER), 0))
    mirrored = 2 * sum(display_text.runs_right_to_left(one.word) for one in words) > len(words)
    shares = _shares(sentences)
    parts = heading(title, notes)
    for one in words:
        across, y, size = one.column * LETTER, top + one.line * LINE, display_text.columns(one.word) * LETTER
        x = WIDE - left - across - size if mirrored else left + across
        if weighed and one.sentence is not None:
            mark = {"x": WIDE - 34 if mirrored else 20, "y": y, "width": 14, "height": LINE - 6}
            parts.append(element("rect", {**mark, "fill": hexadecimal(tint(shares[one.sentence], SENTENCE))}))
        if one.word:
            ground = {"x": x - 3, "y": y, "width": size + 5, "height": LINE - 6}
            parts.append(element("rect", {**ground, "fill": hexadecimal(one.shade)}))
            style = {"text-anchor": "middle", "fill": INK, **(DOTTED if one.unknown else {})}
            parts.append(text(one.word, x + size / 2, y + 14, style, longest=LONGEST))
    bottom = top + (max((one.line for one in words), default=0) + 1) * LINE + 16
    meaning = legend(sentences)
    parts += [text(line, 20, bottom + 18 * number, SMALL, longest=110) for number, line in enumerate(meaning)]
    return document(WIDE, bottom + 18 * len(meaning), title, *parts)


def owners(scene: Scene, look: Look) -> Integers | None:
    """The sentence (query) of each word (key); None unless each sentence looked at words of its own, in their order.

    A word with no weight at all belongs where the word before it does, at the beginning where the next one does.
    Shapes: (keys)
    """
    seen = matrix(scene, replace(look, weights=np.abs(look.weights))) != 0  # in any head
    if (seen.sum(axis=0) > 1).any() or not seen.any():
        return None
    known = np.flatnonzero(seen.any(axis=0))
    sentences = seen.argmax(axis=0)[known]
    if (np.diff(sentences) < 0).any():
        return None
    before = np.searchsorted(known, np.arange(seen.shape[1]), side="right") - 1
    return np.asarray(sentences[np.maximum(before, 0)], dtype=np.int64)


def sentence_look(scene: Scene, look: Look) -> Look | None:
    """The look of one query at the sentences that this look is from."""
    shape = 1, scene.shape(look)[0]
    at_sentences = (other for other in scene.looks if scene.axes[other.keys].kind == "sentences")
    return next((other for other in at_sentences if other.places is None and scene.shape(other) == shape), None)


def sentences(figure: Figure) -> list[Sentence]:
    """The document's sentences, each with its words and weights, and its own weight if there is one."""
    whose, above = owners(figure.scene, figure.look), sentence_look(figure.scene, figure.look)
    assert whose is not None  # else this drawing does not fit
    own: list[float | None] = [None] * len(figure.weights)
    if above is not None:
        same = above.heads == figure.look.heads
        own = matrix(figure.scene, above, figure.head if same else None)[0].tolist()
    names, listed = figure.names(figure.keys), []
    for number, row in enumerate(figure.weights):
        places = np.flatnonzero(whose == number).tolist()
        unknown = [index for index, place in enumerate(places) if place in figure.keys.unknown]
        weights = row[places].tolist()
        listed.append(Sentence([names[place] for place in places], weights, own[number], figure.signed, unknown))
    return listed


def _one_sentence(figure: Figure) -> list[Sentence]:
    return [Sentence(figure.names(figure.keys), figure.row, None, figure.signed, figure.keys.unknown)]


def _is_document(scene: Scene, look: Look) -> bool:
    kinds = scene.axes[look.queries].kind, scene.axes[look.keys].kind
    return look.places is None and kinds == ("sentences", "words") and owners(scene, look) is not None


def _document_page(scene: Scene, look: Look) -> dict[str, Any]:
    whose, above = owners(scene, look), sentence_look(scene, look)
    assert whose is not None
    names = [other.name for other in scene.looks]
    return {"sentences": whose.tolist(), "above": None if above is None else names.index(above.name)}


DRAWING = Drawing(
    name="shaded_text",
    fits=one_query_at("words"),
    terminal=lambda figure, screen: terminal(_one_sentence(figure), screen),
    svg=lambda figure: svg(_one_sentence(figure), figure.title, figure.notes),
)
DOCUMENT = Drawing(
    name="shaded_text",
    fits=_is_document,
    terminal=lambda figure, screen: terminal(sentences(figure), screen),
    svg=lambda figure: svg(sentences(figure), figure.title, figure.notes),
    page=_document_page,
)
