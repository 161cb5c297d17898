"""Dates as people write them in many locales, and the same dates in ISO 8601 (YYYY-MM-DD).

Formats and names are those of CLDR, by way of babel: full, long, medium and short, and CLDR's further ones with and
without a weekday, with the digits that the locale uses by default. CLDR's data is under the Unicode License v3.

- A tagged source names its locale, as in `<de_DE> 3. April 2018`; it has one reading there.
- An untagged source is the text alone. It is used only where no format of any of our locales reads it as another date:
  `13/4/2018`, but neither `3/4/2018` nor `3 listopada 2018` (November in Polish, October in Croatian).

Years run from 1900 to 2099. Where the century is left out, the year is one of 1969–2068, as in POSIX. A year serves one
split: every seventh from 1903 on is kept for testing, every seventh from 1907 on for validation, the others are learned
from. Locales take turns in every split, and so do the formats of each. The same config gives the same examples as long
as babel carries the same CLDR, and the size of one split does not change another.
"""

import datetime
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import babel
import numpy as np

from saccade.config import Count, Positive, Share
from saccade.data.examples import Example, Splits
from saccade.data.sets.date_formats import LOCALES, Format, normalize
from saccade.data.sets.date_readings import WINDOW, certain, readings
from saccade.errors import UnknownName, UsageError

INPUT, TARGET = str, str


__all__ = ["LOCALES", "WINDOW", "YEARS", "Config", "describe", "load", "normalize", "readings", "tagged", "years"]

YEARS = range(1900, 2100)
HELD_OUT = {"valid": range(1907, 2100, 7), "test": range(1903, 2100, 7)}
STREAMS = ("train", "valid", "test")
ATTEMPTS = 100
TIMES = 3  # how often a form without a century comes in training, for once of each other


@dataclass(frozen=True, kw_only=True)
class Config:
    """Dates in many locales."""

    train_size: Positive = 120_000
    """Training examples."""
    valid_size: Positive = 1_000
    """Examples to choose the best checkpoint by."""
    test_size: Positive = 5_000
    """Test examples."""
    seed: Count = 0
    """Decides which dates are drawn."""
    untagged: Share = 0.25
    """Share of the examples that do not name their locale."""
    locales: str = ""
    """Which locales, separated by commas, such as en_US,de_DE; empty for all of them."""


def load(config: Config) -> Splits:
    """The examples, drawn anew; it takes a few seconds."""
    locales = _locales(config.locales)
    return Splits(
        train=_draw("train", config.train_size, locales, config),
        valid=_draw("valid", config.valid_size, locales, config),
        test=_draw("test", config.test_size, locales, config),
    )


def describe() -> str:
    """The data set in one paragraph, with its numbers."""
    count = sum(len(certain(locale)) for locale in LOCALES)
    train, valid, test = (len(years(split)) for split in STREAMS)
    return (
        f"Dates of {YEARS.start}–{YEARS.stop - 1} in {len(LOCALES)} locales and {count} formats, to ISO 8601; years of two "
        f"digits mean {WINDOW.start}–{WINDOW.stop - 1}. {train} years are learned from, {valid} others are for validation, "
        f"{test} others for testing. Formats and names: Unicode CLDR (Unicode License v3), as in babel {babel.__version__}."
    )


def tagged(locale: str, text: str) -> str:
    """A source that names its locale."""
    return f"<{locale}> {text}"


def years(split: str) -> list[int]:
    """The years that serve this split."""
    if split in HELD_OUT:
        return list(HELD_OUT[split])
    return [year for year in YEARS if not any(year in held for held in HELD_OUT.values())]


def _locales(names: str) -> Sequence[str]:
    locales = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in locales:
        if name not in LOCALES:
            raise UnknownName("locale", name, LOCALES)
    if names.strip() and not locales:
        raise UsageError(f"locales: expected names such as en_US,de_DE, or nothing for all; got {names!r}")
    return locales or LOCALES


def _draw(split: str, size: int, locales: Sequence[str], config: Config) -> list[Example]:
    """The examples of a split, from a stream of random numbers of its own.

    The numbers are the generator's raw ones, which numpy promises never to change.
    """
    stream = np.random.PCG64(np.random.SeedSequence([config.seed, STREAMS.index(split)]))
    untagged = (stream.random_raw(size) < np.uint64(config.untagged * 2**64)).tolist()
    forms = [_form(slot, locales, split) for slot in range(size)]
    pairs: dict[int, Example] = {}
    slots = list(range(size))
    # What is not clear without a tag is drawn again; should a format never be clear, it is tagged in the end.
    for attempt in range(ATTEMPTS):
        for slot, number in zip(slots, stream.random_raw(len(slots)).tolist(), strict=True):
            form = forms[slot]
            days = _days(split, form.two_digit_year)
            pair = _pair(form, days[number % len(days)], untagged[slot] and attempt + 1 < ATTEMPTS)
            if pair is not None:
                pairs[slot] = pair
        slots = [slot for slot in slots if slot not in pairs]
    order = np.argsort(stream.random_raw(size), kind="stable").tolist()
    return [pairs[slot] for slot in order]


def _form(slot: int, locales: Sequence[str], split: str) -> Format:
    """Locales take turns, and at each turn of a locale its formats do."""
    turn, place = divmod(slot, len(locales))
    forms = _forms(locales[place], split)
    return forms[turn % len(forms)]


@functools.cache
def _forms(locale: str, split: str) -> list[Format]:
    """A locale's formats. To learn from, those without a century come more often: nothing else is as hard to read."""
    forms = list(certain(locale))
    return forms + [form for form in forms if form.two_digit_year] * (TIMES - 1) if split == "train" else forms


@functools.cache
def _days(split: str, two_digit_year: bool) -> list[datetime.date]:
    """The days that serve a split; those of the window, where the century is left out."""
    among = [year for year in years(split) if year in WINDOW or not two_digit_year]
    ends = [(datetime.date(year, 1, 1).toordinal(), datetime.date(year, 12, 31).toordinal()) for year in among]
    return [datetime.date.fromordinal(number) for first, last in ends for number in range(first, last + 1)]


def _pair(form: Format, day: datetime.date, untagged: bool) -> Example | None:
    """The example, or nothing if it is to stand without a tag and would not be clear."""
    text, target = form.write(day), day.isoformat()
    if not untagged:
        return Example(tagged(form.locale, text), target, "tagged")
    return Example(text, target, "untagged") if readings(text) == {target} else None
