"""tiny-shakespeare: one text, whose end is the validation set."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets.tiny_shakespeare import Config, load
from saccade.errors import DataError

STAGED = os.environ.get("SACCADE_DATA")


def test_the_end_of_the_text_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    (tmp_path / "tinyshakespeare").mkdir()
    text = "First Citizen:\nSpeak, spéak.\n" * 10
    (tmp_path / "tinyshakespeare" / "input.txt.gz").write_bytes(gzip.compress(text.encode()))
    for share, held in ((0.1, 29), (0.5, 145)):
        splits = load(Config(held_out=share))
        assert [len(part) for _, part in splits.parts()] == [1, 1, 0]
        assert splits.train[0].target + splits.valid[0].target == text
        assert len(splits.valid[0].target) == held
        assert splits.train[0].input == splits.valid[0].input == ""  # what is read is written, too


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"tinyshakespeare/input\.txt is missing"):
        load(Config())


@pytest.mark.skipif(
    not (STAGED and (Path(STAGED) / "tinyshakespeare").is_dir()), reason="SACCADE_DATA has no tinyshakespeare: not staged"
)
def test_the_published_text_is_split_as_in_nanogpt() -> None:
    splits = load(Config())
    assert [len(part[0].target) for part in (splits.train, splits.valid)] == [1_003_854, 111_540]
    assert splits.train[0].target.startswith("First Citizen:\nBefore we proceed any further")
    assert len(set(splits.train[0].target)) == 65
