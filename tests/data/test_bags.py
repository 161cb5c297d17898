"""Bags of one's own from a CSV file or folders of pictures, and the published ones."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.picture_sets import mil
from saccade.data.picture_sets import mnist_bags
from saccade.data.formats.bag_files import Config, load, named, read
from saccade.data.examples import Columns
from saccade.errors import DataError, SaccadeError, UnknownName, UsageError

from .. import made

TABLE = "bag,label,a,mark,b\nx,yes,1,0,2\ny,no,3,0,4\nx,yes,5,1,6\n\n"


def test_instances_of_a_bag_may_stand_apart(tmp_path: Path) -> None:
    path = tmp_path / "bags.csv"
    path.write_text("\ufeff" + TABLE)
    x, y = read(str(path), Config())
    assert (x.name, x.target, y.name, y.target) == ("x", "yes", "y", "no")
    assert x.items.tolist() == [[1, 2], [5, 6]]
    assert x.columns == y.columns == Columns(("a", "b"), str(path))
    assert x.marks is not None
    assert x.marks.tolist() == [0, 1]
    assert x.line() == "x\tyes\t2 instances"
    assert named(f"{path}#y", (2,)).items.tolist() == [[3, 4]]
    with pytest.raises(UnknownName, match=r"bag of .* 'z'"):
        named(f"{path}#z", (2,))
    with pytest.raises(DataError, match=r"expected one bag, got 2; name one as .*#x"):
        named(str(path), (2,))
    with pytest.raises(DataError, match="expected a CSV file of 2 features, as the run has learned from, got pictures"):
        named("slide.png", (2,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a column 'bag'"),
        ("bag,a\nx,1\n", "expected a column 'label'"),
        ("bag,label\nx,1\n", "expected columns of features"),
        ("bag,label,a\nx,1\n", "row 2: expected 3 columns, got 2"),
        ("bag,label,a\nx,1,b\n", "row 2: expected finite numbers"),
        ("bag,label,a\nx,1,nan\n", "row 2: expected finite numbers"),
        ("bag,label,a\nx,1,2\nx,0,3\n", "expected one label for bag 'x', got 0 and 1"),
        ("bag,label,a\n", "expected bags, got none"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "bags.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        read(str(tmp_path / "bags.csv"), Config())


def test_nothing_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"data\.train: expected bags"):
        load(Config())
    with pytest.raises(DataError, match="cannot be read"):
        load(Config(train=str(tmp_path / "none.csv")))


def test_what_is_held_out_hangs_on_names_only(tmp_path: Path) -> None:
    rows = [f"{n},{n % 2},{n}" for n in range(20)]
    parts = []
    for order in (rows, rows[::-1]):
        (tmp_path / "bags.csv").write_text("\n".join(["bag,label,a", *order]))
        found = load(Config(train=str(tmp_path / "bags.csv"), held_out=0.2))
        assert (len(found.train), len(found.valid)) == (16, 4)
        parts.append({bag.name for bag in found.valid})
    assert parts[0] == parts[1]


def picture(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def test_folders_of_pictures_and_pictures_in_tiles(tmp_path: Path) -> None:
    whole = np.arange(6 * 9, dtype=np.uint8).reshape(6, 9)
    picture(tmp_path / "sick" / "slide.png", whole)
    picture(tmp_path / "well" / "one" / "a.png", np.full((4, 4), 255, np.uint8))
    picture(tmp_path / "well" / "one" / "b.png", np.zeros((8, 8), np.uint8))
    (tmp_path / "well" / "notes.txt").write_text("not a picture")
    sick, well = read(str(tmp_path), Config(tile=3))
    assert (sick.target, sick.grid, sick.items.shape) == ("sick", (2, 3), (6, 3, 3))
    assert np.allclose(sick.items[4] * 255, whole[3:6, 3:6])
    assert (well.target, well.grid, well.items.shape) == ("well", None, (2, 3, 3))
    assert well.items.mean((1, 2)).tolist() == [1, 0]
    assert read(str(tmp_path), Config(tile=4, colors="rgb"))[0].items.shape == (2, 4, 4, 3)
    assert named(str(tmp_path / "sick" / "slide.png"), (3, 3)).grid == (2, 3)
    assert len(named(str(tmp_path / "well" / "one"), (3, 3)).items) == 2
    with pytest.raises(DataError, match="at least 7 × 7, got 9 × 6"):
        read(str(tmp_path), Config(tile=7))
    (tmp_path / "sick" / "slide.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="expected a picture"):
        read(str(tmp_path), Config())


def test_classic_bags_and_their_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.musk1(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    parts = [mil.load(mil.Config(fold=fold)) for fold in range(10)]
    tested = [bag.name for part in parts for bag in part.test]
    assert sorted(tested, key=int) == [str(n) for n in range(20)]
    for part in parts:
        assert not {bag.name for bag in part.train} & {bag.name for bag in part.test}
        assert len(part.train) + len(part.test) == 20
    with pytest.raises(UsageError, match="fold: expected 0 to 49"):
        mil.Config(fold=50)
    (tmp_path / "mil" / mil.DEALT).write_bytes(gzip.compress(b"[1"))
    with pytest.raises(DataError, match="expected folds"):
        mil.load(mil.Config())
    (tmp_path / "mil" / mil.DEALT).write_bytes(
        gzip.compress(json.dumps({}).encode())
    )  # dealt here, where none are published
    assert sorted(int(bag.name) for fold in range(10) for bag in mil.load(mil.Config(fold=fold)).test) == list(range(20))
    (tmp_path / "mil" / "musk1.csv.gz").write_bytes(gzip.compress(b"2,1,0\n"))
    with pytest.raises(DataError, match="label 0 or 1"):
        mil.load(mil.Config())


def test_bags_of_digits_follow_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.mnist(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    found = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1))
    assert [bag.target for bag in found.test] == ["positive", "negative"] * 3
    for bag in (*found.train, *found.test):
        assert bag.marks is not None
        assert bool(bag.marks.any()) == (bag.target == "positive")
        shown = {round(float(items.max() * 255)) for items, mark in zip(bag.items, bag.marks, strict=True) if mark}
        assert shown <= {9}  # the made pictures are as bright as their digit
    again = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1))
    other = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1, seed=1))
    assert again.fingerprint() == found.fingerprint() != other.fingerprint()
    assert all(np.array_equal(a.items, b.items) for a, b in zip(found.test, other.test, strict=True))
    with pytest.raises(UsageError, match="digit"):
        mnist_bags.Config(digit=10)


@pytest.mark.parametrize("corpus", ["mnist", "fashion-mnist"])
def test_no_picture_is_both_learned_from_and_chosen_by(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(0)
    images, labels = dice.integers(0, 256, (300, 4, 4), np.uint8), np.arange(300) % 10
    monkeypatch.setattr(mnist_bags, "pictures", lambda name, part: (images, labels))
    found = mnist_bags.load(mnist_bags.Config(corpus=corpus, bags=60, valid_bags=60, test_bags=1))  # type: ignore[arg-type]
    shown = [{item.tobytes() for bag in part for item in bag.items} for part in (found.train, found.valid)]
    assert [len(part) for part in (found.train, found.valid)] == [60, 60]
    assert min(map(len, shown)) > 100
    assert not shown[0] & shown[1]


def test_a_broken_idx_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.mnist(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    for content in (b"", b"\0\0\x08\x03\0\0\0\x09", b"\0\0\x0d\x01\0\0\0\x01\0"):
        (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
        with pytest.raises(SaccadeError, match="expected an idx file"):
            mnist_bags.load(mnist_bags.Config())
