"""Your own pictures of words: a CSV file with their texts, pictures of any shape, and what is wrong told by its line."""

from pathlib import Path

import pytest

from saccade.data.formats.word_files import Config, load, read
from saccade.errors import DataError, UsageError
from tests.made import word_crops


def test_pictures_keep_their_shapes_and_texts(tmp_path: Path) -> None:
    found = load(Config(train=str(word_crops(tmp_path / "crops", 20)), held_out=0.2))
    assert (len(found.train), len(found.valid), len(found.test)) == (16, 4, 0)
    examples = read(str(tmp_path / "crops" / "words.csv"), Config())
    assert [one.target for one in examples[:3]] == ["No", "exit", "24h"]
    assert [one.input.pixels.shape for one in examples[:3]] == [(10, 18), (11, 36), (12, 27)]
    assert examples[1].where() == f"{tmp_path / 'crops' / 'words.csv'}:3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("path,text\n", "expected pictures with their texts, got none"),
        ("path,text\n0.png,\n", r"words\.csv:2: expected a path and a text, got '0\.png' and ''"),
        ("path,label\n0.png,a\n", "expected a column 'text'"),
        ("path,text\n99.png,a\n", r"99\.png: no such picture"),
    ],
)
def test_a_wrong_row_is_told(tmp_path: Path, content: str, message: str) -> None:
    word_crops(tmp_path)
    (tmp_path / "words.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read(str(tmp_path / "words.csv"), Config())


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a CSV file with the columns path and text, got a folder"):
        read(str(tmp_path), Config())
    with pytest.raises(UsageError, match=r"data\.train: expected a CSV file"):
        load(Config())
