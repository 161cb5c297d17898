"""Made sets: the same from the same seed, right about themselves, and no picture of the test among those to learn from."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from saccade.data import known
from saccade.data.picture_sets import caption_words
from saccade.data.picture_sets import digit_sums
from saccade.data.picture_sets import point_clouds
from saccade.data.picture_sets import set_outliers
from saccade.data.draws import Dice
from saccade.data.sets.mnist import pictures
from saccade.data.picture_sets import PictureSets
from saccade.errors import UsageError
from tests import made


def test_black_is_nothing_and_white_is_one() -> None:
    shades = np.array([[[0]], [[255]], [[51]]], dtype=np.uint8)
    found = PictureSets(shades, [np.array([2, 0, 1])], [np.zeros(3, np.int64)], ["a"], [""])[0].items
    assert found.flatten().tolist() == pytest.approx([0.2, 0.0, 1.0])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made.mnist(tmp_path)
    return tmp_path


def sums(items: str, seed: int = 0) -> digit_sums.Config:
    return digit_sums.Config(items=items, train_size=50, valid_size=9, test_size=4, test_sizes=(5, 30), seed=seed)  # type: ignore[arg-type]


def test_dice_are_thrown_the_same_way_every_time() -> None:
    dice = Dice(3, 1)
    assert dice.whole(0, 9, 6).tolist() == Dice(3, 1).whole(0, 9, 6).tolist()
    assert Dice(3, 1).uniform(4).tolist() != Dice(3, 2).uniform(4).tolist()
    drawn = Dice(0).whole(2, 4, 3000)
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    normal = Dice(0).normal(4000)
    assert (abs(normal.mean()) < 0.06, abs(normal.std() - 1) < 0.05) == (True, True)
    assert sorted(Dice(0).order(9).tolist()) == list(range(9))
    # What was drawn in one version is drawn in all: runs made before would not resume otherwise.
    assert hashlib.sha256(Dice(0, 1).uniform(100).tobytes()).hexdigest()[:8] == "59a329e1"


def test_words_add_up() -> None:
    splits = digit_sums.load(sums("words"))
    for pair in [*splits.train, *splits.valid, *splits.test]:
        assert sum(map(int, pair.source.split())) == int(pair.target)
    assert {len(pair.source.split()) for pair in splits.train} <= set(range(1, 11))
    assert [pair.group for pair in splits.test] == ["size 5"] * 4 + ["size 30"] * 4
    assert all(f"size {len(pair.source.split())}" == pair.group for pair in splits.test)
    assert splits.fingerprint() == digit_sums.load(sums("words")).fingerprint()
    assert splits.fingerprint() != digit_sums.load(sums("words", seed=1)).fingerprint()


def test_pictures_add_up(place: Path) -> None:
    splits = digit_sums.load(sums("pictures"))
    for bag in [*splits.train, *splits.valid, *splits.test]:
        shown = (bag.items[:, 0, 0] * 255).round()  # made pictures are as bright as their digit
        assert shown.sum() == int(bag.target) == bag.marks.sum()
    assert [len(bag.items) for bag in splits.test] == [5] * 4 + [30] * 4
    assert [bag.name for bag in splits.test[:2]] == ["0", "1"]
    assert splits.fingerprint() == digit_sums.load(sums("pictures")).fingerprint()


def test_sizes_of_the_test_are_checked() -> None:
    with pytest.raises(UsageError, match="test_sizes"):
        digit_sums.Config(test_sizes=(0, 5))


def test_one_of_a_set_is_another_digit(place: Path) -> None:
    splits = set_outliers.load(set_outliers.Config(train_size=60, valid_size=5, test_size=5))
    for bag in [*splits.train, *splits.test]:
        shown = (bag.items[:, 0, 0] * 255).round()
        (odd,) = np.flatnonzero(bag.marks)
        assert len(shown) == 16
        assert len(set(np.delete(shown, odd).tolist())) == 1
        assert shown[odd] not in np.delete(shown, odd)
    assert len({int(bag.marks.argmax()) for bag in splits.train}) > 8
    with pytest.raises(UsageError, match="at least 3"):
        set_outliers.Config(size=2)


@pytest.mark.parametrize("name", ["digit_sums", "set_outliers"])
def test_validation_has_pictures_of_its_own(name: str, place: Path) -> None:
    sizes = set_outliers.Config(train_size=5, valid_size=5, test_size=5)
    splits = digit_sums.load(sums("pictures")) if name == "digit_sums" else set_outliers.load(sizes)
    whole = pictures("mnist", "train")[0]
    train, valid = (getattr(splits, part).pictures for part in ("train", "valid"))
    assert len(train) + len(valid) == len(whole)
    assert np.array_equal(np.concatenate((train, valid)), whole)


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
    assert [(pair.source, pair.target) for pair in splits.train] == [
        ("runs grass", "dog"),
        ("dog grass", "runs"),
        ("dog runs", "grass"),
    ]
    assert splits.valid == splits.test == []  # those captions are too short


@pytest.mark.skipif(not known.data_directory().joinpath("multi30k/tok").exists(), reason="Multi30k is not here")
def test_real_captions() -> None:
    splits = caption_words.load(caption_words.Config())
    assert (len(splits.valid), len(splits.test)) == (1008, 999)
    assert all(pair.target not in pair.source.split() for pair in splits.test)


def test_points_lie_on_their_solids() -> None:
    far = {"sphere": 1.0, "disk": 1.0, "torus": 1.0, "cube": 3**0.5, "octahedron": 1.0}
    for name, shape in point_clouds.SHAPES.items():
        points = shape(500, Dice(1))
        assert points.shape == (500, 3)
        assert np.isfinite(points).all()
        assert np.linalg.norm(points, axis=1).max() <= far.get(name, 3**0.5) + 1e-9, name
    assert np.linalg.norm(point_clouds.sphere(99, Dice(0)), axis=1) == pytest.approx(np.ones(99))
    assert np.abs(point_clouds.SHAPES["octahedron"](99, Dice(0))).sum(1) == pytest.approx(np.ones(99))
    assert np.abs(point_clouds.SHAPES["cube"](99, Dice(0))).max(1) == pytest.approx(np.ones(99))
    cone = point_clouds.cone(2000, Dice(0))
    base = cone[:, 2] == -1
    assert base.mean() == pytest.approx(1 / (1 + 5**0.5), abs=0.03)
    assert np.hypot(cone[~base, 0], cone[~base, 1]) == pytest.approx((1 - cone[~base, 2]) / 2)


def test_clouds_are_made_again() -> None:
    config = point_clouds.Config(points=20, train_size=30, valid_size=10, test_size=10)
    splits = point_clouds.load(config)
    assert splits.fingerprint() == point_clouds.load(config).fingerprint()
    assert {bag.target for bag in splits.train} == set(point_clouds.SHAPES)
    assert len(point_clouds.SHAPES) >= 8
    assert not np.array_equal(splits.train[0].items, splits.test[0].items)
