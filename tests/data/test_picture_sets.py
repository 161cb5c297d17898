"""Sets of pictures, put together when they are read."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import targets_of
from saccade.data.picture_sets import DrawnExamples, DrawnPictures, PictureSets
from saccade.data.sets import digit_sums, set_outliers, translated_mnist
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


def shades(numbers: np.ndarray) -> np.ndarray:
    """Pictures of one pixel, as bright as their number."""
    return numbers.astype(np.uint8)[:, None, None]


def test_drawn_examples_draw_what_is_asked_for() -> None:
    examples = DrawnExamples(DrawnPictures(shades, np.arange(10, 20)), list("abcdefghij"))
    assert len(examples) == len(examples.inputs) == 10
    assert (examples[3].input.pixels.tolist(), examples[3].target, examples[3].name) == ([[13]], "d", "13")
    part = examples[2:5]
    assert [(one.input.pixels.item(), one.target) for one in part] == [(12, "c"), (13, "d"), (14, "e")]
    assert part.inputs.pixels(np.array([2, 0])).ravel().tolist() == [14, 12]
    assert list(targets_of(part)) == ["c", "d", "e"]


def test_their_fingerprint_tells_other_pictures_labels_and_numbers() -> None:
    def fingerprint(draw: object = shades, first: int = 0, labels: str = "abc") -> str:
        return DrawnExamples(DrawnPictures(draw, np.arange(first, first + 3)), list(labels)).fingerprint  # type: ignore[arg-type]

    others = [fingerprint(lambda numbers: shades(numbers + 1)), fingerprint(first=1), fingerprint(labels="abd")]
    assert len({fingerprint(), *others}) == 4
    assert fingerprint() == fingerprint()


@pytest.mark.usefixtures("place")
def test_translated_digits_keep_the_test_the_same_and_train_on_copies() -> None:
    one, other = (translated_mnist.load(translated_mnist.Config(copies=3, seed=seed)) for seed in (0, 1))
    images, labels = pictures("mnist", "test")
    assert [example.target for example in one.test] == [str(label) for label in labels]
    assert one.test[0].input.pixels.sum() == images[0].sum()
    same = {part: getattr(one, part).fingerprint == getattr(other, part).fingerprint for part in ("train", "valid", "test")}
    assert same == {"train": False, "valid": True, "test": True}
    assert (len(one.train) + 3 * len(one.valid)) == 3 * len(pictures("mnist", "train")[0])
