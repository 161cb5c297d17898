"""Text that is safe to show: control characters as escapes, long text cut, widths in terminal columns."""

import unicodedata
from collections.abc import Iterable

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


def place_name(text: str, *, blank: str = "␣") -> str:
    """The name of a place (a letter, a word, a piece of one): spaces at its ends can be seen, and so can nothing."""
    inner = text.strip(" ")
    if not inner:
        return blank * len(text) or '""'
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    return blank * before + inner + blank * after


def percent(probability: float) -> str:
    """A probability for people; only what is certain is called 100%, and only what is impossible 0%."""
    between = 0.01 <= probability <= 0.99 or probability in (0.0, 1.0)
    return f"{probability:.0%}" if between else "<1%" if probability < 0.5 else ">99%"


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
