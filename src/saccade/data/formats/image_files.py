"""Your own pictures with labels: a folder for each label, or a CSV file that lists them.

    data.train=photos              photos/cat/1.jpg, photos/dog/2.png: the name of a folder is the label of what is in it
    data.train=photos.csv          the columns path and label, perhaps group; paths start from the file's own folder

Every picture is scaled to one size, and cut at the longer side where it is not square. All that Pillow reads is read.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from saccade.config import Positive
from saccade.data.examples import Example, Picture, Splits
from saccade.data.formats.csv_tables import CsvTable
from saccade.data.formats.own_files import OwnFiles
from saccade.errors import DataError, UsageError
from saccade.inputs import amount, most_unpacked, require_regular, too_much

INPUT, TARGET = Picture, str
OWN = "data.train=FOLDER with a folder of pictures for each label"
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
FORMATS = "a folder with a folder of pictures for each label, or a CSV file with the columns path and label"
MODES = {1: "L", 3: "RGB"}
BYTES = 4  # of a pixel while a picture is read
MOST_PIXELS = 2 * (Image.MAX_IMAGE_PIXELS or 0)  # beyond which Pillow opens none

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the pictures are, and what they are made into."""

    train: str = ""
    """Training pictures: a folder with a folder for each label, or a CSV file with the columns path and label."""
    size: Positive = 32
    """Height and width in pixels that all pictures are brought to."""
    colors: Literal["rgb", "gray"] = "rgb"
    """What a pixel is: three numbers, or one."""


def load(config: Config) -> Splits:
    """The pictures of all parts."""
    if not config.train:
        raise UsageError(f"data.train: expected {FORMATS}, got nothing; fix: data.train=FOLDER")
    return config.splits(lambda spec: read(spec, config), lambda one: b"".join(one.input.content()), every_label=True)


def read(spec: str, config: Config) -> list[Example]:
    """The pictures of a folder or of a CSV file, in the order of their names or of the file."""
    place = Path(spec).expanduser()
    rows = _in_folders(place) if place.is_dir() else _in_table(place)
    if not rows:
        raise DataError(f"{place}: expected pictures with labels, got none; known: {FORMATS}")
    channels = 1 if config.colors == "gray" else 3
    return [
        Example(Picture(pixels_of(path, (config.size, config.size, channels))), label, group, str(path), files=(where,))
        for path, label, group, where in rows
    ]


def pixels_of(path: Path, shape: tuple[int, int, int]) -> Pixels:
    """The pixels of a picture's file, scaled and cut to (height, width, channels); (height, width) if it has one channel."""
    return _scaled(opened(path, shape[2]), shape)


def fitted_image(image: Image.Image, shape: tuple[int, int, int]) -> Pixels:
    """The same of an image that is open."""
    return _scaled(upright(image, shape[2]), shape)


def upright(image: Image.Image, channels: int, name: str | Path = "the picture") -> Image.Image:
    """An image as its camera was held, on white, in gray (1 channel) or in colors (3)."""
    try:
        return _on_white(_in_bytes(ImageOps.exif_transpose(image), name)).convert(MODES[channels])
    except DataError:
        raise
    except Exception as error:  # its pixels are read only now
        raise _broken(name, error) from None


def _broken(name: str | Path, error: Exception) -> DataError:
    """Pillow has no one error for a broken file: its decoders raise what they like."""
    reason = getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)
    return DataError(f"{name}: cannot be read as a picture ({reason}); mend it or take it away")


def image_of(typed: Any) -> Image.Image:
    """An image of Pillow, or what an array of bytes shows."""
    if hasattr(typed, "convert"):
        return typed  # type: ignore[no-any-return]
    pixels = np.asarray(typed)
    if pixels.dtype != np.uint8 or not pixels.size or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (1,), (3,)):
        expected = "a file, an image of Pillow, or an array of bytes (height, width) or (height, width, 3)"
        raise UsageError(f"expected a picture: {expected}, got {type(typed).__name__} {pixels.dtype} {pixels.shape}")
    return Image.fromarray(pixels.squeeze(-1) if pixels.shape[2:] == (1,) else pixels)


def _scaled(image: Image.Image, shape: tuple[int, int, int]) -> Pixels:
    return np.asarray(ImageOps.fit(image, (shape[1], shape[0]), Image.Resampling.BILINEAR))


def opened(path: Path, channels: int) -> Image.Image:
    """A picture's file, upright, on white, in gray (1 channel) or in colors (3)."""
    try:
        require_regular(path, "name a picture (png, jpg …)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bound is ours
            file = Image.open(path)
        with file as image:
            _require_small(path, image.size)
            return upright(image, channels, path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such picture") from None
    except DataError:
        raise
    except Image.DecompressionBombError:
        raise DataError(f"{path}: expected a picture of at most {MOST_PIXELS:,} pixels, got more; make it smaller") from None
    except UnidentifiedImageError:
        raise DataError(f"{path}: expected a picture (png, jpg …), got something else; mend it or take it away") from None
    except Exception as error:
        raise _broken(path, error) from None


def _require_small(path: Path, size: tuple[int, int]) -> None:
    """Refuse a picture that would fill the memory, by the size that it says it has, before its pixels are unpacked."""
    unpacked, most = BYTES * size[0] * size[1], most_unpacked(path.stat().st_size)
    if unpacked > most:
        raise too_much(path, most, f"{amount(unpacked)} ({size[0]} × {size[1]} pixels)")


def _in_bytes(image: Image.Image, name: str | Path) -> Image.Image:
    """Of gray in 16 bits the upper 8, which Pillow would cut off at white; others as they are."""
    if image.mode == "F":
        raise DataError(f"{name}: expected whole numbers as pixels, got fractions; save 8 bits")
    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))


def _on_white(image: Image.Image) -> Image.Image:
    """A picture with see-through places as it looks on paper; others as they are."""
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image
    clear = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)


def _in_folders(place: Path) -> list[tuple[Path, str, str, str]]:
    """Path, label, group and place of what lies in folders named by labels."""
    folders = sorted(folder for folder in place.iterdir() if folder.is_dir() and not folder.name.startswith("."))
    return [
        (path, folder.name, "", str(path))
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    ]


def _in_table(place: Path) -> list[tuple[Path, str, str, str]]:
    """Path, label, group and row as a CSV file says them."""
    if place.suffix.lower() != ".csv":
        got = "a file of another kind" if place.exists() else "nothing"
        raise DataError(f"{place}: expected {FORMATS}, got {got}")
    table = CsvTable(place, ("path", "label"))
    paths, labels = table.column("path"), table.column("label")
    groups = table.column("group") if "group" in table.header else [""] * len(paths)
    for number, (path, label) in enumerate(zip(paths, labels, strict=True)):
        if not path or not label:
            raise DataError(f"{table.where(number)}: expected a path and a label, got {path!r} and {label!r}; mend the row")
    rows = enumerate(zip(paths, labels, groups, strict=True))
    return [(place.parent / path, label, group, table.where(number)) for number, (path, label, group) in rows]
