"""Content words of captions, one of them held out."""

import gzip
from pathlib import Path

import pytest

from saccade.data import known
from saccade.data.sets import caption_words
from tests import made


def test_a_caption_is_cut_into_its_content_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert caption_words.content_words("a man in a blue t-shirt , and a man with 2 dogs &apos;s .") == [
        "man",
        "blue",
        "t-shirt",
        "dogs",
    ]
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made.multi30k(tmp_path)
    path = tmp_path / "multi30k" / "tok" / "train.lc.norm.tok.en.gz"
    path.write_bytes(gzip.compress(b"a dog runs on grass .\na cat .\n"))
    splits = caption_words.load(caption_words.Config(fewest=3))
    assert [(pair.input, pair.target) for pair in splits.train] == [
        ("runs grass", "dog"),
        ("dog grass", "runs"),
        ("dog runs", "grass"),
    ]
    assert splits.valid == splits.test == []  # those captions are too short


@pytest.mark.skipif(not known.data_directory().joinpath("multi30k/tok").exists(), reason="Multi30k is not here")
def test_real_captions() -> None:
    splits = caption_words.load(caption_words.Config())
    assert (len(splits.valid), len(splits.test)) == (1008, 999)
    assert all(pair.target not in pair.input.split() for pair in splits.test)
