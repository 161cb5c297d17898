"""What a date may mean: every ISO date that one of the locales' formats gives for a text.

A format reads a little more than it writes: days and months with or without a leading zero, letters in any case, words
with or without a dot or comma after them, and any weekday, since a date that only its weekday can settle is not clear.
A year must have as many digits as the format gives it. Two digits mean the year of `WINDOW` that ends in them, as in POSIX.

Every format is spelled out with each of its names, and its numbers as zeros: the text's own outline then finds, in one
look, all formats that fit it.
"""

import datetime
import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from saccade.data.sets.date_formats import LOCALES, ZEROS, Format, Piece, formats, normalize

WINDOW = range(1969, 2069)
# How many digits a number may have.
LENGTHS = {"d": (1, 2), "M": (1, 2), "y": (4,), "yy": (2,)}

_TO_ZERO = str.maketrans({chr(ord(zero) + digit): zero for zero in ZEROS.values() for digit in range(10)})
_RUN = re.compile(r"(\d)\1*")
_NUMBER = re.compile(r"\d+")
_STOP = re.compile(r"[.,،፣](?= |$)")


@dataclass
class Reader:
    """How to read the numbers of an outline, in their order, and who reads them so.

    A part is one of `LENGTHS`, or the number that must stand there because it belongs to a name, as in `tháng 4`.
    """

    parts: tuple[str | int, ...]
    month: int
    locales: set[str] = field(default_factory=set)

    def read(self, numbers: list[str]) -> str | None:
        """The ISO date, if there is one."""
        values = {"M": self.month}
        for part, number in zip(self.parts, numbers, strict=True):
            if isinstance(part, int):
                if number.lstrip("0") != str(part):
                    return None
            elif len(number) not in LENGTHS[part]:
                return None
            else:
                values[part[0]] = full_year(int(number)) if part == "yy" else int(number)
        return _iso(values["y"], values["M"], values["d"])


def full_year(two_digits: int) -> int:
    """The year of the window that ends in these digits."""
    return WINDOW.start + (two_digits - WINDOW.start) % 100


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return None


def readings(text: str, locale: str | None = None) -> set[str]:
    """The ISO dates that the formats of all locales, or of this one, give for a text without tag."""
    text = normalize(text).casefold()
    numbers = _NUMBER.findall(text)
    days = set()
    for reader in _readers().get(_outline(text), ()):
        if locale is None or locale in reader.locales:
            days.add(reader.read(numbers))
    return {day for day in days if day is not None}


def _outline(text: str) -> str:
    """The text without stops, and with each number as one zero of its numbering system."""
    return _RUN.sub(r"\1", _STOP.sub("", text).translate(_TO_ZERO))


@functools.cache
def _readers() -> dict[str, list[Reader]]:
    """The readers of each outline; those that differ in their locale only are one."""
    readers: dict[str, dict[tuple[tuple[str | int, ...], int], Reader]] = {}
    for form in itertools.chain.from_iterable(map(formats, LOCALES)):
        for outline, parts, month in _spelled(form):
            reader = readers.setdefault(outline, {}).setdefault((parts, month), Reader(parts, month))
            reader.locales.add(form.locale)
    return {outline: list(own.values()) for outline, own in readers.items()}


def _spelled(form: Format) -> Iterator[tuple[str, tuple[str | int, ...], int]]:
    """A format with each of its names: the outline, what its numbers are, and the month if it is named."""
    for choice in itertools.product(*(_choices(piece) for piece in form.pieces)):
        outline, parts, month = "", list[str | int](), 0
        for piece, at in zip(form.pieces, choice, strict=True):
            text = piece.names[at] if piece.names else piece.text
            if piece.names or not piece.kind:
                parts += map(int, _NUMBER.findall(text))
            else:
                text = form.zero
                parts.append("yy" if piece.kind == "y" and piece.digits == 2 else piece.kind)
            if piece.kind == "M" and piece.names:
                month = at
            outline += text
        yield _outline(outline.casefold()), tuple(parts), month


def _choices(piece: Piece) -> list[int]:
    return [at for at, name in enumerate(piece.names) if name] or [0]


@functools.cache
def certain(locale: str) -> tuple[Format, ...]:
    """The formats of a locale whose texts no format of the same locale reads as another date."""
    # In these twelve dates, year, month and day can change places.
    probes = [datetime.date(2000 + month % 12 + 1, month, 13 - month) for month in range(1, 13)]
    return tuple(
        form for form in formats(locale) if all(readings(form.write(day), locale) == {day.isoformat()} for day in probes)
    )
