"""What a date may mean: in any locale, or in one."""

import dataclasses
import datetime
import itertools

import pytest

from saccade.data.sets import date_readings
from saccade.data.sets.date_formats import formats
from saccade.data.sets.date_readings import certain, full_year
from saccade.data.sets.dates import LOCALES, WINDOW, readings


def test_every_locale_has_short_and_long_formats_with_and_without_weekday() -> None:
    for locale in LOCALES:
        kinds = [[piece.kind for piece in form.pieces] for form in certain(locale)]
        assert len(kinds) >= 4, locale
        assert any("E" in kind for kind in kinds), locale
        assert any("E" not in kind for kind in kinds), locale
        named = any(piece.names for form in certain(locale) for piece in form.pieces if piece.kind == "M")
        assert named or locale in ("ja_JP", "zh_CN", "zh_TW"), locale


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/4/18", {"2018-04-03", "2018-03-04"}),
        ("3/4/2018", {"2018-04-03", "2018-03-04"}),
        ("03/04/2018", {"2018-04-03", "2018-03-04"}),  # en_US writes 3/4/2018, yet its people would read this too
        ("13/4/2018", {"2018-04-13"}),
        ("25/4/18", {"2018-04-25", "2025-04-18"}),  # the year comes first in eu_ES
        ("31/12/99", {"1999-12-31"}),
        ("2018-04-03", {"2018-04-03"}),
        ("3 listopada 2018", {"2018-10-03", "2018-11-03"}),  # Croatian, Polish
        ("3. listopadu 2018", {"2018-11-03"}),  # Czech
        ("25 lip 2018", {"2018-06-25", "2018-07-25"}),
        ("3. APRIL 2018", {"2018-04-03"}),
        ("April 3 2018", {"2018-04-03"}),
        ("٣/٤/٢٠١٨", {"2018-04-03"}),  # nobody with these digits puts the month first
        ("१८/३/२५", {"2018-03-25", "2025-03-18"}),  # Nepali, Marathi
        ("29/2/2019", set()),
        ("3/4/118", set()),
        ("3/٤/2018", set()),
        ("3 tháng 04, 2018", {"2018-04-03"}),
        ("3 tháng 14, 2018", set()),
        ("9" * 5000 + "/4/2018", set()),
        ("tomorrow", set()),
        ("", set()),
    ],
)
def test_readings(text: str, expected: set[str]) -> None:
    assert readings(text) == expected


def test_readings_of_one_locale() -> None:
    assert readings("3/4/18", "en_US") == {"2018-03-04"}
    assert readings("3/4/18", "es_ES") == {"2018-04-03"}
    assert readings("3. listopada 2018.", "hr_HR") == {"2018-10-03"}
    assert readings("3/4/18", "ja_JP") == set()


def test_readings_are_those_of_writing_every_date_in_every_format() -> None:
    """The other way round, by brute force: whoever writes a text for a date reads that date from it."""
    written: dict[str, set[str]] = {}
    some = [datetime.date(year, month, day) for year in (2001, 2003, 1969) for month in (1, 3, 10) for day in (1, 3, 10, 31)]
    for form in itertools.chain.from_iterable(map(formats, LOCALES)):
        for day in some:
            if day.year in WINDOW or not form.two_digit_year:
                written.setdefault(form.write(day), set()).add(day.isoformat())
    assert any(len(meant) > 1 for meant in written.values())
    for text, meant in written.items():
        assert meant <= readings(text), text


def test_formats_of_a_locale_that_contradict_each_other_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    british = tuple(dataclasses.replace(form, locale="en_US") for form in formats("en_GB"))
    monkeypatch.setattr(date_readings, "LOCALES", ("en_US",))
    monkeypatch.setattr(date_readings, "formats", lambda _: formats("en_US") + british)
    monkeypatch.setattr(date_readings, "_readers", date_readings._readers.__wrapped__)
    kept = {form.pattern for form in certain.__wrapped__("en_US")}
    assert not kept & {"M/d/y", "dd/MM/y", "E, M/d/y", "E, dd/MM/y"}
    assert kept >= {"M/d/yy", "MMM d, y", "d MMM y"}


def test_two_digit_years_have_a_window() -> None:
    assert [full_year(number) for number in (69, 99, 0, 68)] == [1969, 1999, 2000, 2068]
    assert sorted(full_year(number) for number in range(100)) == list(WINDOW)
    assert readings("31.12.69") == {"1969-12-31"}
    assert readings("31.12.68") == {"2068-12-31"}
