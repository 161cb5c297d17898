"""MNIST: the format of its files, a fixed validation set, the published sizes."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets import mnist
from saccade.errors import DataError, UsageError
from tests import made

STAGED = os.environ.get("SACCADE_DATA")


def test_a_broken_idx_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.mnist(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    for content in (b"", b"\0\0\x08\x03\0\0\0\x09", b"\0\0\x0d\x01\0\0\0\x01\0"):
        (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
        with pytest.raises(DataError, match="expected an idx file"):
            mnist.load(mnist.Config())


def test_the_last_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.mnist(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    splits = mnist.load(mnist.Config(held_out=30))
    assert [len(part) for _, part in splits.parts()] == [170, 30, 200]
    for _, part in splits.parts():
        assert all((one.input.pixels == int(one.target)).all() for one in part)  # as bright as their digit
    assert [one.target for one in splits.valid[:3]] == ["0", "1", "2"]
    with pytest.raises(UsageError, match="fewer than the 200 training examples"):
        mnist.load(mnist.Config(held_out=200))


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "mnist").is_dir()), reason="SACCADE_DATA has no mnist: not staged")
def test_the_published_files_are_read_whole() -> None:
    splits = mnist.load(mnist.Config())
    assert [len(part) for _, part in splits.parts()] == [55_000, 5_000, 10_000]
    assert [one.target for one in splits.train[:5]] == ["5", "0", "4", "1", "9"]
    assert {one.target for one in splits.valid} == set("0123456789")
    assert {one.input.pixels.shape for one in splits.test} == {(28, 28)}
