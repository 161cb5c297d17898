"""DAQUAR: questions and answers by turns, without the number of their picture; the official split."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets.daquar import Config, load
from saccade.errors import DataError
from tests import made_questions

STAGED = os.environ.get("SACCADE_DATA")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_questions.daquar(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_questions_with_one_word_as_answer() -> None:
    splits = load(Config(held_out=0.4))
    assert len(splits.test) == 8
    assert {one.name for one in splits.test} == {"image3", "image6", "image9", "image12"}
    assert [(str(one.input), one.target, one.group) for one in splits.test[:2]] == [
        ("what is on the table ?", "book", "thing"),
        ("how many chairs are ?", "2", "number"),
    ]
    assert splits.test[0].input.picture is splits.test[1].input.picture
    assert splits.test[0].input.picture.pixels.shape == (60, 80, 3)
    names = [{one.name for one in part} for _, part in splits.parts()]
    assert names[1]
    assert sum(map(len, names)) == len(set.union(*names)) == 12


@pytest.mark.usefixtures("directory")
def test_lists_and_sizes_and_the_control() -> None:
    everything = load(Config(answers="all", held_out=0))
    assert len(everything.test) == 12
    assert next(str(one.input) for one in everything.test if "," in one.target) == (
        "what is in front of the wall in the image on the left ?"
    )
    assert load(Config(height=12, width=16)).test[0].input.picture.pixels.shape == (12, 16, 3)
    assert all((one.input.picture.pixels == 255).all() for one in load(Config(blank=True)).train)


@pytest.mark.parametrize(
    ("lines", "told"), [("what ?\n", "line after line, got 1 lines"), ("what ?\na\n", "such as image1")]
)
def test_wrong_lines(lines: str, told: str, directory: Path) -> None:
    (directory / "daquar" / "all_qa_pairs.txt.gz").write_bytes(gzip.compress(lines.encode()))
    with pytest.raises(DataError, match=told):
        load(Config())


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "daquar").is_dir()), reason="the set is not in SACCADE_DATA")
def test_the_published_set() -> None:
    splits = load(Config(answers="all", held_out=0, height=6, width=8))
    assert [len(splits.train), len(splits.test)] == [6795, 5673]
    assert not any("image1" in str(one.input) for one in splits.train)
