"""Pictures of words: of any shape and kind, scaled without being cut, and each around its own mean."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from saccade.data.examples import Example, Picture, Splits
from saccade.errors import DataError, UsageError
from saccade.readers.word_picture import Config, Reader, fitted

READER = Reader(Config(height=8, width=20))


def nothing() -> Splits:
    return Splits([], [], [Example(Picture(np.full((3, 4), 9, np.uint8)), "a", name="first")])


def parsed(typed: Any) -> Example:
    example = READER.parse(typed, nothing)
    assert example is not None
    return example


@pytest.mark.parametrize("shape", [(8, 20), (31, 5), (3, 200), (1, 1), (40, 100, 3), (9, 9, 1)])
def test_every_shape_is_stretched_to_one_and_nothing_is_cut_off(shape: tuple[int, ...]) -> None:
    pixels = np.zeros(shape, np.uint8)
    pixels[:, : shape[1] // 2 + 1] = 200
    found = fitted(pixels, 8, 20)
    assert found.shape == (8, 20)
    assert (found[:, 0] == 200).all()
    assert (found[:, -1] == pixels[0, -1].max()).all()


def test_pale_words_are_as_dark_as_others_and_empty_pictures_stay_empty() -> None:
    word = np.zeros((8, 20), np.uint8)
    word[2:6, 4:16] = 1
    pictures = [Picture(20 + 40 * word), Picture(20 + 200 * word), Picture(np.full((8, 20), 77, np.uint8))]
    pixels = READER.encode(pictures).batch([0, 1, 2]).pixels
    assert pixels.shape == (3, 1, 8, 20)
    assert pixels.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(pixels.mean((1, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    pale, dark = pixels[:2].std((1, 2, 3))
    assert 0.6 < pale < dark < 1.01
    assert not pixels[2].any()


def test_files_images_and_arrays_are_the_same_picture(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (11, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "word.png")
    given = [str(tmp_path / "word.png"), tmp_path / "word.png", Image.fromarray(pixels), pixels]
    batches = [READER.encode([parsed(one).input]).batch([0]).pixels for one in given]
    assert all(torch.equal(batches[0], other) for other in batches)
    assert [parsed(one).name for one in given] == [given[0], given[0], "picture", "picture"]
    assert READER.listed(given[0]) == [given[0]]
    assert READER.listed("words.csv") is None
    assert READER.parse("  ", nothing) is None
    assert parsed("test#0").name == "test#0"


@pytest.mark.parametrize("given", [np.zeros((3, 4), np.float32), np.zeros(5, np.uint8), np.zeros((3, 4, 2), np.uint8)])
def test_what_is_no_picture_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="expected a picture: a file, an image of Pillow, or an array of bytes"):
        READER.parse(given, nothing)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "word.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="expected a picture"):
        READER.parse(str(tmp_path / "word.png"), nothing)


def test_a_drawing_shows_the_picture_as_it_is_read() -> None:
    example = Example(Picture(np.random.default_rng(0).integers(0, 256, (11, 30), dtype=np.uint8)))
    axis = READER.axes(example, (2, 5))["input"]
    assert axis.grid == (2, 5)
    assert axis.labels[6] == "1, 1"
    assert np.array_equal(np.asarray(axis.image), fitted(example.input.pixels, 8, 20))
