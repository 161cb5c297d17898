"""Bags of one's own from a CSV file or folders of pictures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.examples import Columns
from saccade.data.formats.bag_files import Config, load, named, read
from saccade.errors import DataError, UnknownName, UsageError

TABLE = "bag,label,a,mark,b\nx,yes,1,0,2\ny,no,3,0,4\nx,yes,5,1,6\n\n"


def test_instances_of_a_bag_may_stand_apart(tmp_path: Path) -> None:
    path = tmp_path / "bags.csv"
    path.write_text("\ufeff" + TABLE)
    x, y = read(str(path), Config())
    assert (x.name, x.target, y.name, y.target) == ("x", "yes", "y", "no")
    assert x.input.items.tolist() == [[1, 2], [5, 6]]
    assert x.input.columns == y.input.columns == Columns(("a", "b"), str(path))
    assert x.input.marks is not None
    assert x.input.marks.tolist() == [0, 1]
    assert x.line() == "x\tyes\t2 instances"
    assert named(f"{path}#y", (2,)).input.items.tolist() == [[3, 4]]
    with pytest.raises(UnknownName, match=r"bag of .* 'z'"):
        named(f"{path}#z", (2,))
    with pytest.raises(DataError, match=r"expected one bag, got 2; name one as .*#x"):
        named(str(path), (2,))
    with pytest.raises(DataError, match="expected a CSV file of 2 features, as the run has learned from, got pictures"):
        named("slide.png", (2,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a first line that names the columns, got an empty file"),
        ("bag,a\nx,1\n", "expected a column 'label'"),
        ("bag,label\nx,1\n", "expected columns of features"),
        ("bag,label,a\nx,1\n", ":2: expected 3 columns, got 2"),
        ("bag,label,a\nx,1,b\n", ":2: expected finite numbers"),
        ("bag,label,a\nx,1,nan\n", ":2: expected finite numbers"),
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
    with pytest.raises(DataError, match="no such file"):
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
    assert (sick.target, sick.input.grid, sick.input.items.shape) == ("sick", (2, 3), (6, 3, 3))
    assert np.allclose(sick.input.items[4] * 255, whole[3:6, 3:6])
    assert (well.target, well.input.grid, well.input.items.shape) == ("well", None, (2, 3, 3))
    assert well.input.items.mean((1, 2)).tolist() == [1, 0]
    assert read(str(tmp_path), Config(tile=4, colors="rgb"))[0].input.items.shape == (2, 4, 4, 3)
    assert named(str(tmp_path / "sick" / "slide.png"), (3, 3)).input.grid == (2, 3)
    assert len(named(str(tmp_path / "well" / "one"), (3, 3)).input.items) == 2
    with pytest.raises(DataError, match="at least 7 × 7, got 9 × 6"):
        read(str(tmp_path), Config(tile=7))
    (tmp_path / "sick" / "slide.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="expected a picture"):
        read(str(tmp_path), Config())
