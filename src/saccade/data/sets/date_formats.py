"""How a locale writes dates: CLDR's patterns and names, compiled once so that a date is filled in without babel.

CLDR puts characters into its patterns that nobody types: `normalize` makes U+202F and U+00A0 plain spaces and drops
the marks of direction U+200E and U+200F. It is applied to every pattern and name here, and belongs on whatever a user
types. Digits are those of the locale's default numbering system. The calendar is the Gregorian one.
"""

import datetime
import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from babel import Locale
from babel.dates import get_day_names, get_era_names, get_month_names, tokenize_pattern

# fmt: off
LOCALES = (
    "en_US", "en_GB", "en_CA", "de_DE", "de_AT", "fr_FR", "fr_CA", "es_ES", "es_MX", "ca_ES",
    "pt_BR", "pt_PT", "it_IT", "ro_RO", "nl_NL", "sv_SE", "nb_NO", "da_DK", "is_IS", "fi_FI",
    "et_EE", "lv_LV", "lt_LT", "pl_PL", "cs_CZ", "sk_SK", "hr_HR", "sr_RS", "bg_BG", "ru_RU",
    "uk_UA", "kk_KZ", "mn_MN", "el_GR", "tr_TR", "hu_HU", "eu_ES", "he_IL", "ar_EG", "fa_IR",
    "ps_AF", "ur_PK", "hi_IN", "mr_IN", "bn_BD", "as_IN", "ta_IN", "te_IN", "ne_NP", "my_MM",
    "km_KH", "th_TH", "vi_VN", "id_ID", "sw_KE", "am_ET", "ka_GE", "hy_AM", "ja_JP", "ko_KR",
    "zh_CN", "zh_TW",
)
# fmt: on
# Every numbering system that a locale may default to here, by its zero; the other nine digits follow it.
ZEROS = {"latn": "0", "arab": "٠", "arabext": "۰", "beng": "০", "deva": "०", "mymr": "၀"}
STYLES = ("full", "long", "medium", "short")
SKELETONS = ("yMd", "yMMMd", "yMMMMd", "yMEd", "yMMMEd", "yMMMMEd", "yMMMMEEEEd")
WIDTHS: dict[int, Literal["abbreviated", "wide"]] = {3: "abbreviated", 4: "wide"}

_PLAIN = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u200e": None, "\u200f": None})


def normalize(text: str) -> str:
    """The text as people type it: plain spaces, no marks of direction, composed letters (NFC), nothing around it."""
    return unicodedata.normalize("NFC", text.translate(_PLAIN)).strip()


@dataclass(frozen=True)
class Piece:
    """One piece of a format: a literal (`kind` is empty), or a part of the date as a number or a name.

    Kinds are CLDR's letters d, M, y and E (weekday). `names` has the name of each value: months from 1, weekdays from 0,
    which is Monday. A number has none, and is padded to `digits`; a year is written in full unless `digits` is 2.
    """

    kind: str
    text: str = ""
    digits: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """One way in which a locale writes a date."""

    locale: str
    pattern: str
    zero: str
    pieces: tuple[Piece, ...]

    @functools.cached_property
    def two_digit_year(self) -> bool:
        """Whether the century is left out."""
        return any(piece.kind == "y" and piece.digits == 2 for piece in self.pieces)

    @functools.cached_property
    def _tables(self) -> list[tuple[str, Sequence[str]]]:
        return [(piece.kind, _table(piece, self.zero)) for piece in self.pieces]

    def write(self, day: datetime.date) -> str:
        """The date in this format, as babel writes it but for the digits and what `normalize` takes away."""
        numbers = {"": 0, "d": day.day, "M": day.month, "y": day.year, "E": day.weekday()}
        return "".join([table[numbers[kind]] for kind, table in self._tables])


def native(number: str, zero: str) -> str:
    """A number of Latin digits in the numbering system with this zero."""
    return number if zero == "0" else "".join(chr(ord(zero) + int(digit)) for digit in number)


@functools.cache
def _numbers(digits: int, zero: str) -> tuple[str, ...]:
    return tuple(native(f"{number:0{digits}}", zero) for number in range(32))


@functools.cache
def _years(digits: int, zero: str) -> tuple[str, ...]:
    return tuple(native(f"{year % 100:02}" if digits == 2 else str(year), zero) for year in range(10_000))


def _table(piece: Piece, zero: str) -> Sequence[str]:
    """What the piece writes for each value."""
    if piece.kind == "y":
        return _years(piece.digits, zero)
    return piece.names or ([piece.text] if not piece.kind else _numbers(piece.digits, zero))


@functools.cache
def formats(name: str) -> tuple[Format, ...]:
    """The different formats of a locale that hold a year, a month and a day: the four styles first, then skeletons."""
    locale = Locale.parse(name)
    patterns = [locale.date_formats[style].pattern for style in STYLES]
    patterns += [locale.datetime_skeletons[key].pattern for key in SKELETONS if key in locale.datetime_skeletons]
    by_pieces: dict[tuple[Piece, ...], Format] = {}
    for pattern in patterns:
        pieces = tuple(_piece(locale, token) for _, token in tokenize_pattern(pattern))
        if sorted(piece.kind for piece in pieces if piece.kind not in ("", "E")) == ["M", "d", "y"]:
            by_pieces.setdefault(pieces, Format(name, pattern, ZEROS[locale.default_numbering_system], pieces))
    return tuple(by_pieces.values())


def _piece(locale: Locale, token: str | tuple[str, int]) -> Piece:
    """A token of a pattern as a piece: either a literal, or a letter of CLDR and how often it is repeated."""
    if isinstance(token, str):
        return Piece("", text=token.translate(_PLAIN))
    field, count = token
    if field in "Ec":
        days = get_day_names(WIDTHS[max(count, 3)], "format" if field == "E" else "stand-alone", locale)
        return Piece("E", names=tuple(normalize(days[day]) for day in range(7)))
    if field in "ML" and count > 2:
        months = get_month_names(WIDTHS[count], "format" if field == "M" else "stand-alone", locale)
        return Piece("M", names=("", *(normalize(months[month]) for month in range(1, 13))))
    if field == "G":
        return Piece("", text=normalize(get_era_names("abbreviated", locale)[1]))
    if field in "dMLy":
        return Piece("M" if field == "L" else field, digits=count)
    return Piece(field)
