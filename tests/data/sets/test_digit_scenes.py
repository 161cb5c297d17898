"""Scenes of digits: the sentence says what stands where, and boxes say where each digit is."""

import os
from typing import Any

import numpy as np
import pytest

from saccade.data.sets import digit_scenes
from saccade.data.sets.digit_scenes import CELL, DIGIT, NAMES, Config, load, told
from saccade.errors import UsageError

SIZES: Any = {"train_size": 30, "valid_size": 5, "test_size": 5}


@pytest.fixture(autouse=True)
def digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten digits, each of one gray that tells its class."""
    images = np.repeat(np.arange(10, 251, 24, dtype=np.uint8)[:10], 28 * 28).reshape(10, 28, 28)
    monkeypatch.setattr(digit_scenes, "pictures", lambda name, part: (images, np.arange(10)))
    monkeypatch.setattr(digit_scenes, "held_out", lambda found: (found, found))


def test_the_sentence_names_digits_row_by_row() -> None:
    assert told(["three", "seven", "eight", "one"], [(0, 0), (0, 2), (1, 1), (2, 0)]) == (
        "a three left of a seven above an eight above a one"
    )
    assert told(["eight"], [(1, 1)]) == "an eight"


def test_each_named_digit_is_in_its_box() -> None:
    splits = load(Config(rows=2, columns=3, fewest=2, most=5, **SIZES))
    assert [len(part) for _, part in splits.parts()] == [30, 5, 5]
    counts = set()
    for example in splits.train:
        pixels, boxes = example.input.pixels, example.input.boxes
        assert pixels.shape == (2 * CELL, 3 * CELL)
        words = example.target.split()
        counts.add(len(boxes))
        assert sum(word in NAMES for word in words) == len(boxes)
        for place, row, column, height, width in boxes.tolist():
            cell = pixels[row : row + height, column : column + width]
            assert cell.max() == 10 + 24 * NAMES.index(words[place])
            assert (cell > 0).sum() == DIGIT**2
        assert (pixels > 0).sum() == len(boxes) * DIGIT**2
    assert counts == {2, 3, 4, 5}


def test_scenes_are_made_by_the_seed() -> None:
    one, same, other = (load(Config(seed=seed, **SIZES)) for seed in (0, 0, 1))
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint() != other.fingerprint()
    assert len({example.target for example in one.train}) > 20
    assert not any(example.input.pixels.any() for example in load(Config(blank=True, **SIZES)).train)


def test_more_digits_than_cells_are_refused() -> None:
    with pytest.raises(UsageError, match=r"from fewest \(2\) to 4 cells of the grid, got 5"):
        Config(rows=2, columns=2, most=5)


@pytest.mark.skipif("SACCADE_DATA" not in os.environ, reason="needs the data")
def test_of_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (example,) = load(Config(train_size=1, valid_size=1, test_size=1)).test
    assert example.input.pixels.shape == (48, 48)
    assert example.input.pixels.max() > 200
