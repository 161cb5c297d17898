"""Flickr8k's pictures: parts by picture, a caption for each training example, all captions elsewhere."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.sets.flickr8k import SET, Config, load
from saccade.errors import DataError

COUNT = 30


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / SET
    folder.mkdir()
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for number in range(COUNT):
            content = io.BytesIO()
            Image.new("RGB", (40, 30), (8 * number, 0, 0)).save(content, "PNG")
            archive.writestr(f"{number}.jpg", content.getvalue())
    rows = [f'{number}.jpg,"A {way} dog, No. {number} ."' for number in range(COUNT) for way in ("red", "Big")]
    (folder / "captions.csv.gz").write_bytes(gzip.compress("\n".join(["image,caption", *rows]).encode()))
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    return folder


@pytest.mark.usefixtures("directory")
def test_parts_have_pictures_of_their_own() -> None:
    splits = load(Config(size=16, valid=0.3, test=0.2))
    names = [{one.name for one in part} for _, part in splits.parts()]
    assert sum(map(len, names)) == len(set.union(*names)) == COUNT
    assert all(names)
    assert len(splits.train) == 2 * len(names[0])
    for one in splits.train:
        number = int(one.name.partition(".")[0])
        assert one.target in (f"a red dog, no. {number}", f"a big dog, no. {number}")
        assert one.input.pixels.shape == (16, 16, 3)
        assert abs(int(one.input.pixels[0, 0, 0]) - 8 * number) < 3
    for one in (*splits.valid, *splits.test):
        assert one.target.count("\n") == 1


@pytest.mark.usefixtures("directory")
def test_captions_as_published_and_pictures_left_white() -> None:
    splits = load(Config(size=4, captions="published", blank=True))
    assert splits.train[0].target == f"A red dog, No. {splits.train[0].name.partition('.')[0]} ."
    assert all((one.input.pixels == 255).all() for one in splits.train)
    assert np.array_equal(splits.train[0].input.pixels, splits.train[1].input.pixels)


def test_a_picture_without_captions_is_told(directory: Path) -> None:
    (directory / "captions.csv.gz").write_bytes(gzip.compress(b"image,caption\n0.jpg,a\n"))
    with pytest.raises(DataError, match=r"expected captions of 1.jpg, got none"):
        load(Config())
