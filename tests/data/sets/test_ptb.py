"""Penn Treebank: every word of it is one token."""

import os
from pathlib import Path

import pytest

from saccade.config import Empty
from saccade.data import tokenizers
from saccade.data.sets.ptb import atomic, load, sentences
from saccade.errors import DataError

STAGED = os.environ.get("SACCADE_DATA")
LINES = " mr. <unk> did n't sell N-year bonds \n the u.s. 's o'neill & co. paid $ N <unk>\n\n"


def test_every_word_is_one_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    (tmp_path / "ptb").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "ptb" / f"ptb.{name}.txt").write_text(LINES)
    splits = load(Empty())
    assert [len(part) for _, part in splits.parts()] == [2, 2, 2]
    tokenizer = tokenizers.train([one.target for one in splits.train], tokenizers.Config(kind="word"))
    for one, line in zip(splits.test, LINES.strip().split("\n"), strict=False):
        ids = tokenizer.encode(one.target)
        assert len(ids) == len(line.split())
        assert tokenizers.UNKNOWN not in ids
    assert tokenizer.size == 4 + len(set(LINES.split()))
    assert sentences("test") == ["mr. UNK did n't sell N-year bonds", "the u.s. 's o'neill & co. paid $ N UNK"]
    assert atomic("<unk>") == "UNK"
    assert (atomic("n't"), atomic("$"), atomic("bonds")) == ("n't", "$", "bonds")


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"ptb/ptb\.train\.txt is missing"):
        load(Empty())


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "ptb").is_dir()), reason="SACCADE_DATA has no ptb: not staged")
def test_the_published_words_are_counted_as_published() -> None:
    splits = load(Empty())
    assert [len(part) for _, part in splits.parts()] == [42_068, 3_370, 3_761]
    assert [sum(len(one.target.split()) for one in part) for _, part in splits.parts()] == [887_521, 70_390, 78_669]
    assert len({word for one in splits.train for word in one.target.split()}) == 9_999
