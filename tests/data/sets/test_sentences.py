"""Sentences with labels: every line once, folds that share nothing, and the published sizes."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets.sentences import FOLDS, Config, load
from saccade.errors import DataError, UsageError

STAGED = os.environ.get("SACCADE_DATA")
SIZES = {"sst2": (6920, 872, 1821), "sst5": (8544, 1101, 2210)}
LABELS = {"sst2": 2, "sst5": 5, "trec": 6, "mr": 2, "subj": 2}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hundred lines of each kind in the place and form of the published ones; one is not UTF-8."""
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    (tmp_path / "mr").mkdir()
    (tmp_path / "trec").mkdir()
    for kind in ("neg", "pos"):
        lines = "".join(f"{kind} film {number} .\n" for number in range(199)) + f"{kind} café\n"
        (tmp_path / "mr" / f"rt-polarity.{kind}.gz").write_bytes(gzip.compress(lines.encode("latin-1")))
    for part in ("train", "test"):
        text = "".join(f"{number % 6} What is {part} {number} ?\n" for number in range(60))
        (tmp_path / "trec" / f"TREC.{part}.all.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_folds_share_nothing_and_hold_everything() -> None:
    folds = [load(Config(corpus="mr", fold=fold)) for fold in range(FOLDS)]
    tests = [pair.input for splits in folds for pair in splits.test]
    assert len(tests) == len(set(tests)) == 400
    assert "neg café" in tests
    for splits in folds:
        parts = [{pair.input for pair in part} for part in (splits.train, splits.valid, splits.test)]
        assert all(parts)
        assert sum(map(len, parts)) == len(set.union(*parts)) == 400
        assert {pair.target for pair in splits.train} == {"negative", "positive"}


@pytest.mark.usefixtures("directory")
def test_where_nothing_is_held_out_a_tenth_is() -> None:
    splits = load(Config(corpus="trec"))
    assert len(splits.train) + len(splits.valid) == 60
    assert len(splits.valid) > 1
    assert len(splits.test) == 60
    assert splits.test[2].target == "abbreviation"
    assert splits.test[2].input == "What is test 2 ?"


@pytest.mark.usefixtures("directory")
def test_few_of_the_training_sentences_are_drawn_and_nothing_else_changes() -> None:
    every = load(Config(corpus="mr"))
    few, same, others = (load(Config(corpus="mr", train_size=50, train_draw=draw)) for draw in (0, 0, 1))
    more = load(Config(corpus="mr", train_size=100))
    assert len(few.train) == 50
    assert few == same
    kept = {pair.input for pair in few.train}
    assert kept < {pair.input for pair in more.train} < {pair.input for pair in every.train}
    assert [pair for pair in every.train if pair.input in kept] == few.train
    assert len(kept & {pair.input for pair in others.train}) < 25
    assert (few.valid, few.test) == (every.valid, every.test)
    with pytest.raises(UsageError, match=r"data\.train_size: expected at most \d+, the training sentences of mr"):
        load(Config(corpus="mr", train_size=401))


def test_brackets_and_quotes_are_as_people_write_them(directory: Path) -> None:
    text = "3 Who -LRB- or -lrb- what -rrb- -RRB- said `` no '' ?\n"
    (directory / "trec" / "TREC.test.all.gz").write_bytes(gzip.compress(text.encode()))
    (found,) = load(Config(corpus="trec")).test
    assert found.input == 'Who ( or ( what ) ) said " no " ?'


def test_wrong_folds_and_wrong_lines(directory: Path) -> None:
    with pytest.raises(UsageError, match="expected 0 to 9, got 10"):
        load(Config(corpus="mr", fold=10))
    (directory / "trec" / "TREC.train.all.gz").write_bytes(gzip.compress(b"0 How ?\n9 What ?\n"))
    with pytest.raises(DataError, match="gz:2: expected a label 0 to 5"):
        load(Config(corpus="trec"))
    (directory / "trec" / "TREC.train.all.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="download it again"):
        load(Config(corpus="trec"))


@pytest.mark.skipif(not STAGED or not (Path(STAGED) / "sst").exists(), reason="the sets are not in SACCADE_DATA")
@pytest.mark.parametrize("corpus", LABELS)
def test_published_sizes(corpus: str) -> None:
    splits = load(Config(corpus=corpus))  # type: ignore[arg-type]
    sizes = tuple(map(len, (splits.train, splits.valid, splits.test)))
    if corpus in SIZES:
        assert sizes == SIZES[corpus]
    else:
        assert sum(sizes) == {"trec": 5952, "mr": 10662, "subj": 10000}[corpus]
    assert len({pair.target for pair in splits.train}) == LABELS[corpus]
