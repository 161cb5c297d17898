"""Multi30k: lines become pairs, several target languages become groups, and the published sizes."""

import gzip
import os
from pathlib import Path

import pytest

from saccade import recipes
from saccade.data.batches import Integers, padding_share, plan
from saccade.data.examples import Example
from saccade.data.sets.multi30k import Config, load
from saccade.errors import DataError, UnknownName, UsageError
from saccade.task import Task
from saccade.training.settings import resolve

STAGED = os.environ.get("SACCADE_DATA")
COUNTS = {"train": 3, "val": 2, "test_2016_flickr": 1}


def line(language: str, split: str, number: int) -> str:
    return f"{language} {split} zwei männer {number} ."


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few lines in the place and form of the published ones."""
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    (tmp_path / "multi30k" / "tok").mkdir(parents=True)
    for split, count in COUNTS.items():
        for language in ("de", "en", "fr"):
            text = "".join(line(language, split, number) + "\n" for number in range(count))
            path = tmp_path / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz"
            path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def expected(split: str, source: str, target: str, group: str = "") -> list[Example]:
    return [Example(line(source, split, number), line(target, split, number), group) for number in range(COUNTS[split])]


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "fr")])
def test_lines_become_pairs(source: str, target: str) -> None:
    found = load(Config(source=source, target=target))  # type: ignore[arg-type]
    assert list(found.train) == expected("train", source, target)
    assert list(found.valid) == expected("val", source, target)
    assert list(found.test) == expected("test_2016_flickr", source, target)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("target", ["fr,en", " fr , en "])
def test_several_targets_are_groups(target: str) -> None:
    found = load(Config(source="de", target=target))
    for split, pairs in zip(COUNTS, (found.train, found.valid, found.test), strict=True):
        assert list(pairs) == expected(split, "de", "fr", "fr") + expected(split, "de", "en", "en")


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("target", ["de", "en,de", "en,fr,en"])
def test_a_language_stands_once(target: str) -> None:
    with pytest.raises(UsageError) as error:
        load(Config(source="de", target=target))
    assert str(error.value) == f"data.target: expected other languages than de, each once, got {target!r}"


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("target", ["nl", "en,nl", "", "en,"])
def test_an_unknown_language_is_told(target: str) -> None:
    with pytest.raises(UnknownName) as error:
        load(Config(source="de", target=target))
    assert str(error.value).startswith("unknown language ")
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize("keys", [{"target": "cs"}, {"text": "raw"}], ids=str)
def test_what_is_not_there_is_told_with_how_to_come_by_it(keys: dict[str, str]) -> None:
    with pytest.raises(DataError, match="is missing in") as error:
        load(Config(**keys))  # type: ignore[arg-type]
    assert "run `saccade data get multi30k`" in str(error.value)
    assert "\n" not in str(error.value)


def test_lines_that_lack_their_partner_are_an_error(directory: Path) -> None:
    path = directory / "multi30k" / "tok" / "val.lc.norm.tok.en.gz"
    path.write_bytes(gzip.compress(b"alone\n"))
    with pytest.raises(DataError):
        load(Config())


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize("text", ["tok", "raw"])
def test_the_published_text_has_its_published_size(text: str) -> None:
    try:
        found = load(Config(text=text))  # type: ignore[arg-type]
    except DataError as error:
        if "is missing in" not in str(error):
            raise
        pytest.skip(f"multi30k is not in SACCADE_DATA: {error}")
    assert [len(part) for part in (found.train, found.valid, found.test)] == [29_000, 1_014, 1_000]
    assert all(pair.input and pair.target and not pair.group for pair in found.train)


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize("epoch", [0, 1])
def test_batches_of_the_recipe_hold_little_padding_on_both_sides(lengths: Integers, epoch: int) -> None:
    batches = plan(lengths, 4096, seed=1, epoch=epoch)
    assert sum(map(len, batches)) == 29_000
    assert len(batches) < 260  # they are full
    for side in range(2):
        assert padding_share(lengths[:, side], batches) < 0.05


@pytest.fixture(scope="module")
def lengths() -> Integers:
    """Tokens of all sources and targets to learn from, as the recipe cuts them."""
    settings = resolve(recipes.load("multi30k-de-en"))
    assert settings.train.batch_tokens == 4096
    try:
        splits = load(settings.data)
    except DataError as error:
        if "is missing in" not in str(error):
            raise
        pytest.skip(f"multi30k is not in SACCADE_DATA: {error}")
    return Task.fit(settings, splits).corpus(splits.train).lengths
