"""Sentences and the terms that are judged in them, in lines of three."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets.semeval14 import Config, load
from saccade.errors import DataError
from tests import made_texts

STAGED = os.environ.get("SACCADE_DATA")
SIZES = {"restaurants": (3608, 1120), "laptops": (2328, 638)}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_texts.semeval14(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_the_term_stands_in_its_sentence_and_behind_it() -> None:
    splits = load(Config())
    pair = splits.test[0]
    assert pair.input == "the fried rice was good but the service was bad 0 . | fried rice"
    assert pair.target == "positive"
    assert splits.test[1].input.endswith(" | service")
    assert {pair.target for pair in splits.train} == {"negative", "neutral", "positive"}


@pytest.mark.usefixtures("directory")
def test_terms_of_one_sentence_stay_together() -> None:
    splits = load(Config(corpus="restaurants"))
    train, valid = ({pair.input.rpartition(" | ")[0] for pair in part} for part in (splits.train, splits.valid))
    assert valid
    assert not train & valid
    assert not load(Config(corpus="restaurants", held_out=0)).valid


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("a $T$\nterm\n", "three lines for each example, got 2"),
        ("a $T$\nterm\n2\n", "gz:1: .*'2'"),
        ("a\nb\n0\n", r"gz:1: .*\$T\$"),
    ],
)
def test_wrong_lines(lines: str, told: str, directory: Path) -> None:
    (directory / "semeval14" / "Restaurants_Train.xml.seg.gz").write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(DataError, match=told):
        load(Config())


@pytest.mark.skipif(not STAGED or not (Path(STAGED) / "semeval14").exists(), reason="the set is not in SACCADE_DATA")
@pytest.mark.parametrize("corpus", SIZES)
def test_published_sizes(corpus: str) -> None:
    splits = load(Config(corpus=corpus))  # type: ignore[arg-type]
    assert (len(splits.train) + len(splits.valid), len(splits.test)) == SIZES[corpus]
