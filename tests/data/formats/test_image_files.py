"""Pictures of one's own: folders and lists, one size for all, a fixed part held out, bad files told in a line."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from saccade.data.formats.image_files import Config, load, pixels_of, read
from saccade.errors import DataError, UsageError
from tests.made import photos


def test_a_folder_for_each_label(tmp_path: Path) -> None:
    photos(tmp_path)
    (tmp_path / "red" / "notes.txt").write_text("not a picture")
    found = read(str(tmp_path), Config(size=8))
    assert [(one.target, Path(one.name).name) for one in found[7:10]] == [
        ("blue", "7.png"),
        ("red", "0.jpg"),
        ("red", "1.png"),
    ]
    assert len(found) == 16
    assert {one.input.pixels.shape for one in found} == {(8, 8, 3)}
    assert {one.input.pixels.dtype for one in found} == {np.dtype(np.uint8)}
    for one in found:
        red, _, blue = one.input.pixels.mean((0, 1))
        assert (red > blue) == (one.target == "red")
    assert {one.input.pixels.shape for one in read(str(tmp_path), Config(size=8, colors="gray"))} == {(8, 8)}


def test_a_list_of_pictures(tmp_path: Path) -> None:
    photos(tmp_path / "p")
    (tmp_path / "list.csv").write_text("label,path,group\nwarm,p/red/1.png,a\ncold,p/blue/1.png,\nwarm,p/red/0.jpg,b\n")
    found = read(str(tmp_path / "list.csv"), Config(size=4))
    assert [(one.target, one.group) for one in found] == [("warm", "a"), ("cold", ""), ("warm", "b")]
    whole = read(str(tmp_path / "p"), Config(size=4))
    assert np.array_equal(found[1].input.pixels, whole[1].input.pixels)


def test_pictures_are_scaled_and_cut_in_the_middle(tmp_path: Path) -> None:
    wide = np.zeros((10, 30, 3), np.uint8)
    wide[:, 10:20] = 200  # the middle square
    Image.fromarray(wide).save(tmp_path / "wide.png")
    assert (pixels_of(tmp_path / "wide.png", (10, 10, 3)) == 200).all()
    assert (pixels_of(tmp_path / "wide.png", (5, 5, 1))[:, 1:-1] == 200).all()
    assert pixels_of(tmp_path / "wide.png", (5, 7, 1)).shape == (5, 7)


def test_what_is_seen_through_lies_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert (pixels_of(tmp_path / "clear.png", (4, 4, 3)) == 255).all()


def test_gray_in_16_bits_keeps_its_shades(tmp_path: Path) -> None:
    shades = (np.arange(64).reshape(8, 8) * 1024).astype(np.uint16)
    Image.fromarray(shades).save(tmp_path / "deep.png")
    assert np.array_equal(pixels_of(tmp_path / "deep.png", (8, 8, 1)), np.arange(64).reshape(8, 8) * 4)


def test_a_picture_is_turned_as_its_camera_says(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4] = 255
    image = Image.fromarray(pixels)
    image.getexif()[274] = 3  # upside down
    image.save(tmp_path / "turned.png", exif=image.getexif())
    assert pixels_of(tmp_path / "turned.png", (8, 8, 1))[0].max() == 0


def animated(path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    frames[0].save(path, save_all=True, append_images=frames[1:])


def palette(path: Path) -> None:
    """A palette whose second color is see-through."""
    image = Image.new("P", (8, 8), 0)
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.paste(1, (0, 0, 8, 4))
    image.save(path, transparency=1)


def lying(path: Path) -> None:
    """Wide in the file, with its red left half on top when it is turned as its camera says."""
    image = Image.new("RGB", (16, 8), "blue")
    image.paste("red", (0, 0, 8, 8))
    image.getexif()[274] = 6  # turn it right by a quarter
    image.save(path, exif=image.getexif(), quality=100, subsampling=0)


def deep(path: Path) -> None:
    Image.fromarray(np.full((8, 8), 0x8012, np.uint16)).save(path)


def fractions(path: Path) -> None:
    Image.fromarray(np.full((8, 8), 0.5, np.float32)).save(path)


def huge(path: Path) -> None:
    """A few bytes that say they are 60,000 × 60,000 pixels."""
    Image.new("1", (8, 8)).save(path)
    content = path.read_bytes()
    head = struct.pack(">II", 60_000, 60_000) + content[24:29]
    path.write_bytes(content[:16] + head + struct.pack(">I", zlib.crc32(b"IHDR" + head)) + content[33:])


def drawn(mode: str, color: Any) -> Callable[[Path], object]:
    return lambda path: Image.new(mode, (8, 8), color).save(path)


RED, WHITE, BLACK = (255, 0, 0), (255, 255, 255), (0, 0, 0)
ODD: list[tuple[str, str, Callable[[Path], object], Any]] = [
    ("animated: the first frame", "a.gif", animated, RED),
    ("animated webp", "a.webp", animated, RED),
    ("colors of a printer", "a.jpg", drawn("CMYK", (0, 255, 255, 0)), RED),
    ("16 bits", "a.png", deep, (128, 128, 128)),
    ("a bit", "a.png", drawn("1", 1), WHITE),
    ("gray, see-through", "a.png", drawn("LA", (0, 0)), WHITE),
    ("half see-through", "a.png", drawn("RGBA", (255, 0, 0, 128)), (255, 127, 127)),
    ("a palette", "a.png", drawn("P", 0), BLACK),
    ("fractions", "a.tif", fractions, "expected whole numbers as pixels, got fractions; save 8 bits"),
    ("huge", "a.png", huge, "expected a picture of at most .* pixels, got more; make it smaller"),
    ("cut short", "a.png", lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n"), "expected a picture|cannot be read"),
]


@pytest.mark.parametrize(("name", "make", "expected"), [case[1:] for case in ODD], ids=[case[0] for case in ODD])
def test_odd_pictures_have_a_defined_answer_or_a_clear_line(
    tmp_path: Path, name: str, make: Callable[[Path], object], expected: Any
) -> None:
    make(tmp_path / name)
    if isinstance(expected, tuple):
        pixels = pixels_of(tmp_path / name, (4, 4, 3))
        assert np.abs(pixels.reshape(-1, 3).astype(int) - expected).max() <= 2
        return
    with pytest.raises(DataError, match=f"{name}: ({expected})") as caught:
        pixels_of(tmp_path / name, (4, 4, 3))
    assert "\n" not in str(caught.value)


def test_a_palette_with_a_see_through_color_lies_on_white(tmp_path: Path) -> None:
    palette(tmp_path / "a.png")
    pixels = pixels_of(tmp_path / "a.png", (8, 8, 3))
    assert (pixels[:3] == WHITE).all()
    assert (pixels[5:] == RED).all()


def test_a_photo_that_lies_is_turned_before_it_is_cut(tmp_path: Path) -> None:
    lying(tmp_path / "a.jpg")
    pixels = pixels_of(tmp_path / "a.jpg", (16, 8, 3)).astype(int)
    assert (pixels[:7, :, 0] > pixels[:7, :, 2]).all()
    assert (pixels[9:, :, 2] > pixels[9:, :, 0]).all()


def test_the_same_part_is_held_out_whatever_the_names(tmp_path: Path) -> None:
    photos(tmp_path / "p", each=20)
    splits = load(Config(train=str(tmp_path / "p"), size=6, held_out=0.2))
    assert (len(splits.train), len(splits.valid)) == (32, 8)
    for number, path in enumerate(sorted((tmp_path / "p").rglob("*.*"), reverse=True)):
        path.rename(path.with_stem(f"{number:03}"))
    again = load(Config(train=str(tmp_path / "p"), size=6, held_out=0.2))
    first, second = ({one.input.pixels.tobytes() for one in part.valid} for part in (splits, again))
    assert first == second


def test_equal_pictures_stay_together_and_no_label_is_lost(tmp_path: Path) -> None:
    photos(tmp_path, each=5)
    for number in range(3):
        for path in sorted((tmp_path / "red").glob("?.*")):
            path.with_stem(f"again {number} {path.stem}").write_bytes(path.read_bytes())
    (tmp_path / "once").mkdir()
    (tmp_path / "blue" / "0.jpg").rename(tmp_path / "once" / "0.jpg")
    for share in (0.1, 0.5, 0.9):
        splits = load(Config(train=str(tmp_path), size=6, held_out=share))
        train, valid = ({one.input.pixels.tobytes() for one in part} for part in (splits.train, splits.valid))
        assert valid
        assert not train & valid
        assert {one.target for one in splits.train} == {"blue", "once", "red"}


def test_parts_of_ones_own(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        photos(tmp_path / part, each=3)
    given = {part: str(tmp_path / part) for part in ("train", "valid", "test")}
    splits = load(Config(size=4, **given))  # type: ignore[arg-type]
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [6, 6, 6]
    assert splits.fingerprint()["train"] == load(Config(size=4, train=given["train"], held_out=0.0)).fingerprint()["train"]
    assert splits.fingerprint() != load(Config(size=5, train=given["train"], held_out=0.0)).fingerprint()


def test_bad_files_are_told_in_one_line(tmp_path: Path) -> None:
    photos(tmp_path / "p")
    whole = (tmp_path / "p" / "red" / "1.png").read_bytes()
    cases = {
        "text.png": b"no picture",
        "empty.png": b"",
        "half.png": whole[: len(whole) // 2],
        "half.jpg": (tmp_path / "p" / "red" / "0.jpg").read_bytes()[:300],
    }
    for name, content in cases.items():
        path = tmp_path / "p" / "red" / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=name) as caught:
            load(Config(train=str(tmp_path / "p")))
        assert "\n" not in str(caught.value)
        path.unlink()


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "list.csv").write_text("path,label\nnone.png,a\n")
    (tmp_path / "blank.csv").write_text("path,label\n,a\n")
    (tmp_path / "other.csv").write_text("file,label\nnone.png,a\n")
    (tmp_path / "folder.csv").write_text("path,label\nempty,a\n")
    with pytest.raises(UsageError, match="expected a folder"):
        load(Config())
    for name, told in {
        "empty": "expected pictures with labels, got none",
        "missing": "got nothing",
        "folder.csv": "empty: expected a file, got a directory",
        "list.csv": "none.png: no such picture",
        "blank.csv": ":2: expected a path and a label",
        "other.csv": "expected a column 'path'",
    }.items():
        with pytest.raises(DataError, match=told):
            load(Config(train=str(tmp_path / name)))
