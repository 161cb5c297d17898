"""IIIT 5K-word: pictures with their words in small letters, the published parts, and damage that is told."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.sets import iiit5k
from saccade.errors import DataError, UsageError

STAGED = os.environ.get("SACCADE_DATA")


def made(directory: Path, name: str, archive: str, words: dict[str, str], mode: str = "L") -> None:
    """Pictures of noise in a zip, and the list of their words."""
    folder = directory / name
    folder.mkdir(parents=True)
    dice = np.random.default_rng(0)
    with zipfile.ZipFile(folder / archive, "w") as file:
        for path in words:
            written = io.BytesIO()
            pixels = dice.integers(0, 256, (9, 20, 3), dtype=np.uint8)
            Image.fromarray(pixels).convert(mode).save(written, "PNG")
            file.writestr(path, written.getvalue())
    lines = "".join(f"{path}\t{word}\n" for path, word in words.items())
    (folder / "labels.tsv.gz").write_bytes(gzip.compress(lines.encode()))


def words(count: int = 4) -> dict[str, str]:
    """Training and test words."""
    listed = {f"train/{number}.png": f"Word{number}" for number in range(count)}
    return listed | {"test/0.png": "HOTEL", "test/1.png": "24h"}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made(tmp_path, "iiit5k", iiit5k.ARCHIVE, words())
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    return tmp_path


def test_parts_are_the_published_ones_in_small_letters(directory: Path) -> None:
    found = iiit5k.load(iiit5k.Config(held_out=1))
    assert [[one.target for one in part] for _, part in found.parts()] == [
        ["word0", "word1", "word2"],
        ["word3"],
        ["hotel", "24h"],
    ]
    assert found.test[0].name == "test/0.png"
    assert found.test[0].input.pixels.shape == (9, 20)
    assert not np.array_equal(found.test[0].input.pixels, found.test[1].input.pixels)


def test_all_training_words_cannot_be_held_out(directory: Path) -> None:
    with pytest.raises(UsageError, match=r"data\.held_out: expected fewer than the 4 training words, got 4"):
        iiit5k.load(iiit5k.Config(held_out=4))


def test_damage_is_told(directory: Path) -> None:
    labels = directory / "iiit5k" / "labels.tsv.gz"
    labels.write_bytes(gzip.compress("".join(f"{path}\t{word}\n" for path, word in words(5).items()).encode()))
    with pytest.raises(DataError, match=r"expected train/4\.png and 0 more"):
        iiit5k.load(iiit5k.Config(held_out=1))
    labels.write_bytes(gzip.compress(b"train/0.png Word0\n"))
    with pytest.raises(DataError, match="expected a file and a word in each line"):
        iiit5k.load(iiit5k.Config(held_out=1))


@pytest.mark.skipif(not STAGED or not Path(STAGED, "iiit5k").is_dir(), reason="needs the data set")
def test_the_published_data_is_read() -> None:
    found = iiit5k.load(iiit5k.Config())
    assert [len(part) for _, part in found.parts()] == [1800, 200, 3000]
    assert {one.input.pixels.shape[0] for one in found.test} == {32}
    assert all(one.target.isalnum() for one in found.test)
