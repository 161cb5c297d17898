"""Sets of pictures, put together when they are read."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.picture_sets import PictureSets
from saccade.data.sets import digit_sums, set_outliers
from saccade.data.sets.mnist import pictures
from tests import made


def test_black_is_nothing_and_white_is_one() -> None:
    shades = np.array([[[0]], [[255]], [[51]]], dtype=np.uint8)
    found = PictureSets(shades, [np.array([2, 0, 1])], [np.zeros(3, np.int64)], ["a"], [""])[0].input.items
    assert found.flatten().tolist() == pytest.approx([0.2, 0.0, 1.0])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made.mnist(tmp_path)
    return tmp_path


def sums(items: str, seed: int = 0) -> digit_sums.Config:
    return digit_sums.Config(items=items, train_size=50, valid_size=9, test_size=4, test_sizes=(5, 30), seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["digit_sums", "set_outliers"])
def test_validation_has_pictures_of_its_own(name: str, place: Path) -> None:
    sizes = set_outliers.Config(train_size=5, valid_size=5, test_size=5)
    splits = digit_sums.load(sums("pictures")) if name == "digit_sums" else set_outliers.load(sizes)
    whole = pictures("mnist", "train")[0]
    train, valid = (getattr(splits, part).pictures for part in ("train", "valid"))
    assert len(train) + len(valid) == len(whole)
    assert np.array_equal(np.concatenate((train, valid)), whole)
