"""Fashion-MNIST: the published files, a fixed part held out."""

import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from saccade.data.sets.fashion_mnist import NAMES, Config, load
from saccade.errors import DataError, UsageError
from tests.made import fashion_mnist

STAGED = os.environ.get("SACCADE_DATA")


def test_the_last_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    fashion_mnist(tmp_path)
    whole, splits = load(Config(held_out=0)), load(Config(held_out=7))
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [33, 7, 20]
    assert np.array_equal(splits.valid[0].input.pixels, whole.train[33].input.pixels)
    assert [one.target for one in splits.test[:10]] == list(NAMES)
    with pytest.raises(UsageError, match="fewer than the 40 training examples"):
        load(Config(held_out=40))


def test_files_that_are_something_else_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="fashion-mnist"):
        load(Config())
    fashion_mnist(tmp_path)
    path = tmp_path / "fashion-mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-1]))
    with pytest.raises(DataError, match="expected an idx file"):
        load(Config())


@pytest.mark.skipif(
    not (STAGED and (Path(STAGED) / "fashion-mnist").is_dir()), reason="SACCADE_DATA has no fashion-mnist: not staged"
)
def test_the_published_files_are_read_whole() -> None:
    splits = load(Config())
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [58000, 2000, 10000]
    assert set(Counter(one.target for one in splits.test).values()) == {1000}
    assert {one.input.pixels.shape for one in splits.test} == {(28, 28)}
    assert splits.train[0].target == "ankle boot"
