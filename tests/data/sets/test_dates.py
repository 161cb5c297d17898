"""The data set of dates: what it writes is CLDR's, what it leaves untagged is clear, and its splits are kept apart."""

import datetime
import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter

import pytest

from saccade.data.examples import Example, Splits
from saccade.data.sets.date_readings import certain
from saccade.data.sets.dates import LOCALES, WINDOW, YEARS, Config, describe, load, normalize, readings, tagged, years
from saccade.errors import UnknownName, UsageError

SMALL = Config(train_size=20_000, valid_size=1_000, test_size=2_000)

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


def _read(pair: Example) -> set[str]:
    """What a source may mean: in its locale if it names one, else in any."""
    if pair.group == "untagged":
        return readings(pair.input)
    tag, _, text = pair.input.partition("> ")
    return readings(text, tag.removeprefix("<"))


def test_sources_hold_only_what_people_type(splits: Splits) -> None:
    for pair in splits.train:
        assert pair.input == normalize(pair.input)
        assert not set(pair.input) & set("\u202f\u00a0\u200e\u200f")


def test_every_source_has_one_reading(splits: Splits) -> None:
    for pair in itertools.chain(splits.train, splits.valid, splits.test):
        assert _read(pair) == {pair.target}, pair


def test_sizes_and_groups(splits: Splits) -> None:
    assert [len(split) for split in (splits.train, splits.valid, splits.test)] == [20_000, 1_000, 2_000]
    for split in (splits.train, splits.valid, splits.test):
        groups = Counter(pair.group for pair in split)
        assert set(groups) == {"tagged", "untagged"}
        assert groups["untagged"] / len(split) == pytest.approx(0.25, abs=0.04)
        assert all((pair.group == "tagged") == pair.input.startswith("<") for pair in split)
    assert {pair.group for pair in load(Config(train_size=500, untagged=0.0)).train} == {"tagged"}


def test_splits_share_no_years_and_no_texts(splits: Splits) -> None:
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    for name, pairs in parts.items():
        assert {int(pair.target[:4]) for pair in pairs} == set(years(name))
    assert sorted(year for name in parts for year in years(name)) == list(YEARS)
    for one, other in itertools.combinations(parts.values(), 2):
        assert not {pair.input for pair in one} & {pair.input for pair in other}


def test_training_has_every_digit_in_every_place_and_every_letter_of_the_test(splits: Splits) -> None:
    for place in range(10):
        assert {pair.target[place] for pair in splits.test} <= {pair.target[place] for pair in splits.train}
    assert {pair.target[3] for pair in splits.train} == set("0123456789")
    assert {pair.target[2] for pair in splits.train} == set("0123456789")
    assert set("".join(pair.input for pair in splits.test)) <= set("".join(pair.input for pair in splits.train))


def test_locales_and_their_formats_are_even() -> None:
    splits = load(Config(train_size=620 * 6, valid_size=620, test_size=1240, untagged=0.0))
    for pairs in (splits.train, splits.valid, splits.test):
        counts = Counter(pair.input[1 : pair.input.index(">")] for pair in pairs)
        assert set(counts.values()) == {len(pairs) // len(LOCALES)}
        assert set(counts) == set(LOCALES)
    texts = {pair.input for pair in splits.test}
    for locale in LOCALES:
        for form in certain(locale):
            held_out = (day for day in DAYS_OF_TEST if day.year in WINDOW or not form.two_digit_year)
            assert any(tagged(locale, form.write(day)) in texts for day in held_out), form


def test_a_locale_alone() -> None:
    splits = load(Config(train_size=300, valid_size=10, test_size=10, locales=" de_DE, ja_JP,de_DE", untagged=0.0))
    assert Counter(pair.input[:7] for pair in splits.train) == {"<de_DE>": 150, "<ja_JP>": 150}


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
    assert [pair.input for pair in splits.train] == [
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
