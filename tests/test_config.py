"""Configs: what is written is read back, what is typed is understood or refused by its name."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saccade import config
from saccade.config import Amount, Count, Positive, Rate, Share
from saccade.errors import DataError, UnknownName, UsageError


@dataclass(frozen=True, kw_only=True)
class Boat:
    """A config as they are written everywhere."""

    length: Positive
    "In meters."
    sails: Count = 2
    "How many."
    speed: Rate = 5.5
    """In knots,
    on a good day."""
    ballast: Amount = 0.0
    "In tons."
    leak: Share = 0.0
    "Share of the hold that is wet."
    rig: Literal["sloop", "ketch"] = "sloop"
    "How the sails are set."
    name: str = ""
    "What is painted on the stern."
    afloat: bool = True
    "Whether it swims."


# TOML can write every character but half a surrogate pair.
texts = st.text(st.characters(exclude_categories=["Cs"]))
single = st.one_of(st.booleans(), st.integers(), st.floats(), texts)
values = st.recursive(single, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
keys = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
tables = st.dictionaries(keys, values | st.dictionaries(keys, values, max_size=4), max_size=4)


def same(one: Any, other: Any) -> bool:
    """Equal in value and in kind; NaN is NaN, and 0.0 is not -0.0."""
    if isinstance(one, dict | list):
        pairs = zip(one.values(), other.values(), strict=True) if isinstance(one, dict) else zip(one, other, strict=True)
        whole = list(one) == list(other) if isinstance(one, dict) else True
        return whole and type(one) is type(other) and all(same(a, b) for a, b in pairs)
    if isinstance(one, float) and isinstance(other, float):
        return math.copysign(1, one) == math.copysign(1, other) and (one == other or (one != one and other != other))
    return type(one) is type(other) and bool(one == other)


def ordered(table: dict[str, Any]) -> dict[str, Any]:
    """As `write` orders it: plain keys first, sections after."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    return plain | {key: value for key, value in table.items() if isinstance(value, dict)}


@given(tables)
@example({"a": "".join(map(chr, range(0x20))) + "\x7f\x80\x85\u2028\ufeff", "b": '"""\\u0041\\', "c": "'''\r\n"})
@example({"s": {"tiny": 5e-324, "huge": 1.7976931348623157e308, "inf": math.inf, "minus": -math.inf, "nan": math.nan}})
@example({"s": {"big": 2**70, "flags": [True, [False]], "none": [], "minus_zero": -0.0, "whole": 1e16}})
def test_what_is_written_is_read_back(table: dict[str, Any]) -> None:
    read = tomllib.loads(config.write(table))
    # A NaN's sign has no meaning, and TOML's reader is free in it.
    assert same(read, tomllib.loads(config.write(read)))
    assert same(_unsigned(read), _unsigned(ordered(table)))


def _unsigned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unsigned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unsigned(inner) for inner in value]
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def test_every_config_of_a_run_is_read_back(tmp_path: Path) -> None:
    from saccade.training.settings import resolve

    words = ["data.locales=en_US,de_DE", "train.learning_rate=1e-30", "search.length_penalty=1e300", "train.beta1=0"]
    settings = resolve({"system": "bahdanau", "data": {"name": "dates"}}, words)
    path = tmp_path / "config.toml"
    path.write_text(config.write(settings.table()), encoding="utf-8")
    assert resolve(config.read(path)) == settings


def test_unwritable_values_are_refused_by_their_key() -> None:
    for value in (None, {"deeper": 1}, "\ud800"):
        with pytest.raises(UsageError, match=r"train\.rate"):
            config.write({"train": {"rate": value}})


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a.b=5", 5),
        ("a.b=-5", -5),
        ("a.b=1_000", 1000),
        ("a.b=3e-4", 3e-4),
        ("a.b=.5", ".5"),
        ("a.b=inf", math.inf),
        ("a.b=true", True),
        ("a.b=True", "True"),
        ("a.b=[1, 2.5, 'x']", [1, 2.5, "x"]),
        ("a.b=[1, 2", "[1, 2"),
        ("a.b=plain text", "plain text"),
        ("a.b=en_US,de_DE", "en_US,de_DE"),
        ("a.b='quoted = 5'", "quoted = 5"),
        ('a.b="\\u00e9"', "é"),
        ("a.b=x=y=z", "x=y=z"),
        ("a.b==", "="),
        ("a.b=", ""),
        ("  a.b  =  5  ", 5),
        ("a.b=2020-01-01", "2020-01-01"),
        ("a.b={x = 1}", "{x = 1}"),
        ("a.b=train.de,train.en", "train.de,train.en"),
        ("a.b=C:\\data\\my.tsv", "C:\\data\\my.tsv"),
        ("a.b=5\nc = 6", "5\nc = 6"),
        ("a.b=7 # and more", "7 # and more"),
        ("a.b='#1.tsv'", "#1.tsv"),
    ],
)
def test_values_of_words(word: str, value: object) -> None:
    assert same(config.words([word]), {"a": {"b": value}})


@given(st.lists(st.tuples(keys, keys, single.filter(lambda value: value == value)), max_size=5))
def test_words_say_what_toml_says(entries: list[tuple[str, str, Any]]) -> None:
    words = [f"{section}.{key}={config.write({'v': value})[4:-1]}" for section, key, value in entries]
    expected: dict[str, dict[str, Any]] = {}
    for section, key, value in entries:
        expected.setdefault(section, {})[key] = value
    assert same(config.words(words), expected)


@given(st.text().filter(lambda text: "\n" not in text))
def test_any_word_is_understood_or_refused(text: str) -> None:
    path, equals, _ = text.partition("=")
    section, dot, key = path.strip().partition(".")
    if equals and dot and section and key:
        assert list(config.words([text])[section]) == [key]
    else:
        with pytest.raises(UsageError, match=r"section\.key=value"):
            config.words([text])


@pytest.mark.parametrize("word", ["steps=5", "train.steps", "train.=5", ".steps=5", "=5", "", "train", "train=a.b"])
def test_what_is_no_word_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"expected section\.key=value") as error:
        config.words([word])
    assert repr(word) in str(error.value)
    assert error.value.exit_code == 2


def test_the_last_of_two_equal_words_wins() -> None:
    assert config.words(["a.b=1", "a.c=2", "a.b=3"]) == {"a": {"b": 3, "c": 2}}


def test_merged_takes_the_second_and_leaves_both_alone() -> None:
    base = {"system": "one", "train": {"rate": 1, "steps": 2}, "model": {"hidden": 3}}
    over = {"system": "two", "train": {"rate": 9}, "data": {"seed": 4}}
    joined = config.merged(base, over)
    assert joined == {"system": "two", "train": {"rate": 9, "steps": 2}, "model": {"hidden": 3}, "data": {"seed": 4}}
    joined["model"]["hidden"] = joined["data"]["seed"] = 0
    assert base["model"] == {"hidden": 3}
    assert over["data"] == {"seed": 4}


def test_defaults_and_given_values() -> None:
    assert config.build(Boat, {"length": 9}, "boat") == Boat(length=9)
    boat = config.build(Boat, {"length": 9, "speed": 7, "rig": "ketch", "afloat": False}, "boat")
    assert config.plain(boat) == {
        "length": 9, "sails": 2, "speed": 7.0, "ballast": 0.0, "leak": 0.0, "rig": "ketch", "name": "", "afloat": False,
    }  # fmt: skip
    assert isinstance(boat.speed, float)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("length", 0),
        ("length", 2.5),
        ("length", "long"),
        ("length", [1]),
        ("length", True),
        ("sails", -1),
        ("sails", math.inf),
        ("speed", 0.0),
        ("speed", math.nan),
        ("speed", math.inf),
        ("speed", "fast"),
        ("speed", True),
        ("ballast", -0.5),
        ("ballast", math.inf),
        ("leak", 1),
        ("leak", math.nan),
        ("rig", "schooner"),
        ("name", 5),
        ("name", True),
        ("afloat", "perhaps"),
        ("afloat", 3),
    ],
)
def test_wrong_values_are_refused_by_the_key_as_typed(key: str, value: object) -> None:
    with pytest.raises(UsageError) as error:
        config.build(Boat, {"length": 9, key: value}, "boat")
    text = str(error.value)
    assert text.startswith(f"boat.{key}: ")
    assert repr(value) in text
    assert "\n" not in text
    assert error.value.exit_code == 2


def test_what_must_be_given_is_named() -> None:
    with pytest.raises(UsageError, match=r"^boat\.length: field required"):
        config.build(Boat, {"sails": 1}, "boat")


@pytest.mark.parametrize(("key", "near"), [("lenght", "length"), ("sail", "sails"), ("Speed", "speed")])
def test_an_unknown_key_names_the_nearest(key: str, near: str) -> None:
    with pytest.raises(UnknownName) as error:
        config.build(Boat, {"length": 9, key: 1}, "boat")
    assert str(error.value) == f"unknown key in [boat] {key!r}; did you mean {near!r}?"
    assert error.value.exit_code == 2


def test_an_unknown_key_like_no_other_lists_all() -> None:
    with pytest.raises(UnknownName, match="known: afloat, ballast, leak, length, name, rig, sails, speed"):
        config.build(Boat, {"xyzzy": 1}, "boat")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    with pytest.raises(DataError, match=r"recipe\.toml: no such file"):
        config.read(path)
    path.write_bytes(b"a = 1\nb = \xff\n")
    with pytest.raises(DataError, match=r"recipe\.toml: cannot be read"):
        config.read(path)
    path.write_text("a = 1\nb =\n")
    with pytest.raises(DataError, match=r"recipe\.toml: not TOML .*line 2") as error:
        config.read(path)
    assert error.value.exit_code == 3
    with pytest.raises(DataError, match="expected a file, got a directory; name a TOML file"):
        config.read(tmp_path)
    path.write_text('a = "é"\n[b]\nc = 1\n', encoding="utf-8")
    assert config.read(path) == {"a": "é", "b": {"c": 1}}


@dataclass(frozen=True, kw_only=True)
class Ferry(Boat):
    """A boat that carries cars."""

    cars: int = 4
    "How many."
    speed: float = 12.0
    "In knots, always."


def test_described_tells_what_is_inherited_and_what_is_said_anew() -> None:
    told = {line[0]: line for line in config.described(Ferry)}
    assert list(told) == [line[0] for line in config.described(Boat)] + ["cars"]
    assert told["length"] == ("length", "whole number > 0", None, "In meters.")
    assert told["speed"] == ("speed", "number", 12.0, "In knots, always.")


def test_described_tells_every_field() -> None:
    told = config.described(Boat)
    assert [line[0] for line in told] == ["length", "sails", "speed", "ballast", "leak", "rig", "name", "afloat"]
    assert told[0] == ("length", "whole number > 0", None, "In meters.")
    assert told[2] == ("speed", "number > 0", 5.5, "In knots, on a good day.")
    assert told[5] == ("rig", "sloop | ketch", "sloop", "How the sails are set.")
    assert told[7] == ("afloat", "true | false", True, "Whether it swims.")
