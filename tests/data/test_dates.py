"""The data set of dates: what it writes is CLDR's, what it leaves untagged is clear, and its splits are kept apart."""

import dataclasses
import datetime
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter

import pytest
from babel import Locale
from babel.dates import format_date

from saccade.data.picture_sets import date_readings
from saccade.data.sets.date_formats import ZEROS, Format, formats, native
from saccade.data.sets.date_readings import certain, full_year
from saccade.data.sets.dates import LOCALES, WINDOW, YEARS, Config, describe, load, normalize, readings, tagged, years
from saccade.data.examples import Pair, Splits
from saccade.errors import UnknownName, UsageError

SMALL = Config(train_size=20_000, valid_size=1_000, test_size=2_000)
# Every month, weekday, leap day, century, and number of digits.
DAYS = [datetime.date(1900, 1, 1) + datetime.timedelta(97 * number) for number in range(750)]
DAYS += [datetime.date(2000, 2, 29), datetime.date(1969, 12, 31), datetime.date(2068, 1, 9), datetime.date(2099, 12, 31)]

DAYS_OF_TEST = [
    datetime.date(year, 1, 1) + datetime.timedelta(number)
    for year in years("test")
    for number in range((datetime.date(year + 1, 1, 1) - datetime.date(year, 1, 1)).days)
]

DIGEST = """
import hashlib
from saccade.data.sets.dates import Config, load
splits = load(Config(train_size=3000, valid_size=100, test_size=100))
print(hashlib.sha256(repr(splits).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def splits() -> Splits:
    return load(SMALL)


def _read(pair: Pair) -> set[str]:
    """What a source may mean: in its locale if it names one, else in any."""
    if pair.group == "untagged":
        return readings(pair.source)
    tag, _, text = pair.source.partition("> ")
    return readings(text, tag.removeprefix("<"))


def _through_babel(form: Format, day: datetime.date) -> str:
    """The text by babel itself, with the digits of the locale."""
    text = normalize(format_date(day, form.pattern, Locale.parse(form.locale)))
    zero = ZEROS[Locale.parse(form.locale).default_numbering_system]
    return "".join(native(letter, zero) if letter in "0123456789" else letter for letter in text)


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_are_those_of_babel(locale: str) -> None:
    for turn, form in enumerate(formats(locale)):
        for day in DAYS[turn::7]:
            assert form.write(day) == _through_babel(form, day)


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("en_US", "Tuesday, April 3, 2018"),
        ("en_US", "4/3/18"),
        ("en_GB", "03/04/2018"),
        ("de_DE", "Dienstag, 3. April 2018"),
        ("pl_PL", "3 kwietnia 2018"),
        ("ru_RU", "3 апреля 2018 г."),
        ("ar_EG", "٣/٤/٢٠١٨"),
        ("fa_IR", "۳ آوریل ۲۰۱۸"),
        ("bn_BD", "৩ এপ্রিল, ২০১৮"),
        ("th_TH", "3 เมษายน ค.ศ. 2018"),
        ("ja_JP", "2018年4月3日火曜日"),
        ("ko_KR", "18. 4. 3."),
        ("hu_HU", "2018. április 3."),
        ("vi_VN", "Thứ Ba, 3 tháng 4, 2018"),
    ],
)
def test_a_locale_writes_dates_as_its_people_do(locale: str, text: str) -> None:
    assert text in [form.write(datetime.date(2018, 4, 3)) for form in formats(locale)]


def test_every_locale_has_short_and_long_formats_with_and_without_weekday() -> None:
    for locale in LOCALES:
        kinds = [[piece.kind for piece in form.pieces] for form in certain(locale)]
        assert len(kinds) >= 4, locale
        assert any("E" in kind for kind in kinds), locale
        assert any("E" not in kind for kind in kinds), locale
        named = any(piece.names for form in certain(locale) for piece in form.pieces if piece.kind == "M")
        assert named or locale in ("ja_JP", "zh_CN", "zh_TW"), locale


def test_there_are_many_locales_and_numbering_systems() -> None:
    assert len(LOCALES) == len(set(LOCALES)) >= 40
    assert {form.zero for locale in LOCALES for form in formats(locale)} == set(ZEROS.values())


def test_what_nobody_types_is_normalized() -> None:
    assert normalize(" 3\u202fапреля\u00a02018\u202fг.\n") == "3 апреля 2018 г."
    assert normalize("3\u200f/4\u200e/2018") == "3/4/2018"
    assert normalize("u\u0308") == "ü"


def test_sources_hold_only_what_people_type(splits: Splits) -> None:
    for pair in splits.train:
        assert pair.source == normalize(pair.source)
        assert not set(pair.source) & set("\u202f\u00a0\u200e\u200f")


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


def test_every_source_has_one_reading(splits: Splits) -> None:
    for pair in itertools.chain(splits.train, splits.valid, splits.test):
        assert _read(pair) == {pair.target}, pair


def test_sizes_and_groups(splits: Splits) -> None:
    assert [len(split) for split in (splits.train, splits.valid, splits.test)] == [20_000, 1_000, 2_000]
    for split in (splits.train, splits.valid, splits.test):
        groups = Counter(pair.group for pair in split)
        assert set(groups) == {"tagged", "untagged"}
        assert groups["untagged"] / len(split) == pytest.approx(0.25, abs=0.04)
        assert all((pair.group == "tagged") == pair.source.startswith("<") for pair in split)
    assert {pair.group for pair in load(Config(train_size=500, untagged=0.0)).train} == {"tagged"}


def test_splits_share_no_years_and_no_texts(splits: Splits) -> None:
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    for name, pairs in parts.items():
        assert {int(pair.target[:4]) for pair in pairs} == set(years(name))
    assert sorted(year for name in parts for year in years(name)) == list(YEARS)
    for one, other in itertools.combinations(parts.values(), 2):
        assert not {pair.source for pair in one} & {pair.source for pair in other}


def test_training_has_every_digit_in_every_place_and_every_letter_of_the_test(splits: Splits) -> None:
    for place in range(10):
        assert {pair.target[place] for pair in splits.test} <= {pair.target[place] for pair in splits.train}
    assert {pair.target[3] for pair in splits.train} == set("0123456789")
    assert {pair.target[2] for pair in splits.train} == set("0123456789")
    assert set("".join(pair.source for pair in splits.test)) <= set("".join(pair.source for pair in splits.train))


def test_locales_and_their_formats_are_even() -> None:
    splits = load(Config(train_size=620 * 6, valid_size=620, test_size=1240, untagged=0.0))
    for pairs in (splits.train, splits.valid, splits.test):
        counts = Counter(pair.source[1 : pair.source.index(">")] for pair in pairs)
        assert set(counts.values()) == {len(pairs) // len(LOCALES)}
        assert set(counts) == set(LOCALES)
    texts = {pair.source for pair in splits.test}
    for locale in LOCALES:
        for form in certain(locale):
            held_out = (day for day in DAYS_OF_TEST if day.year in WINDOW or not form.two_digit_year)
            assert any(tagged(locale, form.write(day)) in texts for day in held_out), form


def test_a_locale_alone() -> None:
    splits = load(Config(train_size=300, valid_size=10, test_size=10, locales=" de_DE, ja_JP,de_DE", untagged=0.0))
    assert Counter(pair.source[:7] for pair in splits.train) == {"<de_DE>": 150, "<ja_JP>": 150}


@pytest.mark.parametrize(("locales", "error"), [("de_DD", UnknownName), ("de", UnknownName), (" , ", UsageError)])
def test_unknown_locales_are_refused(locales: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="locale"):
        load(Config(locales=locales))


def test_one_split_does_not_hang_on_the_size_of_another(splits: Splits) -> None:
    other = load(Config(train_size=50, valid_size=70, test_size=2_000))
    assert other.test == splits.test
    assert load(Config(train_size=50, valid_size=70, test_size=2_000, seed=1)).test != splits.test


def test_the_same_config_gives_the_same_examples_in_another_process() -> None:
    here = hashlib.sha256(repr(load(Config(train_size=3000, valid_size=100, test_size=100))).encode()).hexdigest()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == here


def test_the_first_examples_are_known() -> None:
    """The random numbers hang on no version of numpy or Python and on no platform."""
    splits = load(Config(train_size=4, valid_size=2, test_size=2, locales="en_US,de_DE", untagged=0.0))
    assert [pair.source for pair in splits.train] == [
        "<de_DE> 27. September 1941",
        "<en_US> Thursday, March 25, 2083",
        "<en_US> January 5, 2025",
        "<de_DE> Dienstag, 9. Januar 2018",
    ]
    assert [pair.target for pair in splits.test] == ["2064-01-05", "1959-10-12"]


def test_description_has_the_numbers() -> None:
    text = describe()
    assert f"{len(LOCALES)} locales" in text
    assert "1969–2068" in text
    assert "Unicode License v3" in text
