"""Text that is safe to show: hostile characters as escapes, long labels cut, and the labels of an axis."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from saccade.view.scales import Floats, numbers, ticks

Labels = Iterable[str | float] | None

# Control, format (bidirectional controls are among these), surrogate, unassigned; line and paragraph separators.
HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}
JOINERS = "\u200c\u200d"  # format characters that ordinary Persian, Hindi and emoji are spelled with
LEFT_TO_RIGHT = "\u200e"  # keeps neighbors in their order; only we write it, in a text it is shown as an escape


def visible(text: str, *, ascii_only: bool = False) -> str:
    """The text with everything that could steer a terminal, reorder a line or break XML written as an escape."""
    shown = "".join(_escaped(letter, ascii_only) for letter in text)
    # Without the marks, a date after an arrow after Arabic would be reordered: 2026-03-01 reads 01-03-2026.
    return shown.replace("→", f"{LEFT_TO_RIGHT}→{LEFT_TO_RIGHT}") if runs_right_to_left(shown) else shown


def _escaped(letter: str, ascii_only: bool) -> str:
    if letter.isascii() and letter.isprintable():
        return letter
    if ascii_only or (unicodedata.category(letter) in HIDDEN and letter not in JOINERS):
        return letter.encode("unicode_escape").decode("ascii")
    return letter


def place(text: str, *, blank: str = "␣") -> str:
    """The name of a place (a letter, a word, a piece of one): spaces at its ends can be seen, and so can nothing."""
    inner = text.strip(" ")
    if not inner:
        return blank * len(text) or '""'
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    return blank * before + inner + blank * after


def clusters(text: str) -> list[str]:
    """The text in pieces that stay together: a letter with the marks that stand on it."""
    pieces: list[str] = []
    for letter in text:
        if pieces and _columns(letter) == 0:
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return pieces


def runs_right_to_left(text: str) -> bool:
    """Whether a letter of the text is written from right to left."""
    return any(unicodedata.bidirectional(letter) in {"R", "AL", "AN"} for letter in text)


def columns(text: str) -> int:
    """How many terminal columns the text takes: two for a wide letter, none for a combining mark."""
    return sum(_columns(letter) for letter in text)


def short(texts: Iterable[str]) -> bool:
    """Whether each is one letter at the most, which need not lie on its side over a column."""
    return all(len(clusters(visible(text))) <= 1 for text in texts)


def _columns(letter: str) -> int:
    if letter in JOINERS or letter == LEFT_TO_RIGHT or unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fit(text: str, room: int, *, ascii_only: bool = False) -> str:
    """The visible text in at most `room` columns, cut with … (or ~ in ASCII) where it is longer."""
    # The slice bounds the work, and how many marks may be piled on one letter.
    shown = visible(text[: 4 * room], ascii_only=ascii_only)
    if len(text) <= 4 * room and columns(shown) <= room:
        return shown
    kept = ""
    for piece in clusters(shown):
        if columns(kept + piece) > room - 1:
            break
        kept += piece
    return kept + ("~" if ascii_only else "…")


@dataclass(frozen=True)
class Axis:
    """The labels of one side of a matrix: names, which are all shown, or numbers, which are thinned like a ruler."""

    texts: list[str]
    values: Floats | None = None

    def marks(self, count: int = 5) -> list[tuple[float, str]]:
        """About `count` labels and where they stand, in cells from the edge (0.5 is the middle of the first)."""
        middles = np.arange(len(self.texts)) + 0.5
        if self.values is None or not _rises(self.values):
            chosen = range(0, len(self.texts), -(-len(self.texts) // max(count, 1)))
            return [(float(middles[index]), self.texts[index]) for index in chosen]
        round_values = ticks(float(self.values[0]), float(self.values[-1]), count)
        if np.array_equal(self.values, self.values.round()):
            round_values = round_values[round_values == round_values.round()]
        places = np.interp(round_values, self.values, middles)
        return list(zip(places.tolist(), numbers(round_values), strict=True))


def _rises(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and np.all(values[1:] > values[:-1]))


def axis(labels: Labels, count: int, side: str) -> Axis:
    """The axis of `count` cells; without labels it counts them from 0."""
    given: list[str | float] = list(range(count)) if labels is None else list(labels)
    if len(given) != count:
        raise ValueError(f"expected {count} {side} labels, one per {side}, got {len(given)}")
    if any(isinstance(label, str) for label in given):
        return Axis([str(label) for label in given])
    values = np.array(given, dtype=np.float64)
    return Axis(numbers(values), values)
