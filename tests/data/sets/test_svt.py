"""Street View Text: test words only, in gray and in small letters."""

import os
from pathlib import Path

import pytest

from saccade.data.sets import svt

from .test_iiit5k import made

STAGED = os.environ.get("SACCADE_DATA")


def test_there_are_test_words_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "svt", svt.ARCHIVE, {"images/0000.jpg": "DOOR", "images/0001.jpg": "The"}, "RGB")
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    found = svt.load(svt.Config())
    assert not found.train
    assert not found.valid
    assert [one.target for one in found.test] == ["door", "the"]
    assert found.test[0].input.pixels.shape == (9, 20)


@pytest.mark.skipif(not STAGED or not Path(STAGED, "svt").is_dir(), reason="needs the data set")
def test_the_published_data_is_read() -> None:
    assert len(svt.load(svt.Config()).test) == 647
