"""Bags of your own: a CSV file of instances, or folders of pictures.

    data.train=bags.csv    columns bag and label, perhaps mark (1: what makes the bag what it is); the rest are features
    data.train=folder      folder/LABEL/BAG/*.png: each folder of pictures is a bag
                           folder/LABEL/*.png: each picture is cut into tiles, which are a bag

The first line of a CSV file names its columns; a bag's instances may stand apart. Pictures are PNG, JPEG and the like.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.config import Positive
from saccade.data.examples import Bag, Columns, Example, Splits
from saccade.data.formats import own_files
from saccade.data.formats.csv_tables import CsvTable
from saccade.data.formats.image_files import SUFFIXES, opened, pixels_of
from saccade.data.formats.own_files import OwnFiles
from saccade.data.formats.tables import Table
from saccade.errors import DataError, UnknownName, UsageError

INPUT, TARGET = Bag, str
OWN = "data.train=bags.csv"
COLUMNS = ("bag", "label", "mark")
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the bags are."""

    train: str = ""
    """Training bags: bags.csv, or a folder of pictures."""
    tile: Positive = 28
    """Width and height to which pictures of a bag are brought, or into which one picture is cut."""
    colors: Literal["gray", "rgb"] = "gray"
    """Whether pictures are read in gray or in colors."""

    def shape(self) -> tuple[int, ...]:
        """Of one picture."""
        return (self.tile, self.tile) if self.colors == "gray" else (self.tile, self.tile, 3)


def load(config: Config) -> Splits:
    """The bags of all files."""
    if not config.train:
        raise UsageError("data.train: expected bags, got nothing; fix: data.train=bags.csv, or a folder of pictures")
    return config.splits(lambda path: read(path, config), lambda one: one.name.encode())


def read(path: str, config: Config) -> list[Example]:
    """The bags of a CSV file or a folder."""
    place = Path(path).expanduser()
    bags = list(_folder(place, config.shape()) if place.is_dir() else _table(place, labeled=True))
    if not bags:
        raise DataError(f"{path}: expected bags, got none; put pictures into {path}/LABEL/BAG, or rows into a CSV file")
    return bags


def named(text: str, shape: tuple[int, ...]) -> Example:
    """The bag that a line names: a CSV file of one, FILE.csv#ID, a folder of pictures, or a picture to be cut into tiles."""
    path, _, name = text.rpartition("#") if "#" in text and not Path(text).exists() else (text, "", "")
    place = Path(path)
    if len(shape) > 1:
        return _pictures(place, shape) if place.is_dir() else _tiled(place, shape)
    if place.is_dir() or place.suffix.lower() in SUFFIXES:
        raise DataError(f"{path}: expected a CSV file of {shape[0]} features, as the run has learned from, got pictures")
    bags = {example.name: example for example in _table(place, labeled=False)}
    if name and name not in bags:
        raise UnknownName(f"bag of {path}", name, bags)
    if not name and len(bags) != 1:
        raise DataError(f"{path}: expected one bag, got {len(bags)}; name one as {path}#{next(iter(bags), 'ID')}")
    return bags[name] if name else next(iter(bags.values()))


def inputs_of(source: str | Table) -> list[Example] | None:
    """The bags of a CSV file, with or without labels, to be answered; None: a file that names a bag in each line."""
    if isinstance(source, Table):
        return None
    path = Path(source)
    return _table(path, labeled=False) if own_files.suffix(path) == ".csv" else None


def _table(path: Path, *, labeled: bool) -> list[Example]:
    """The bags of a CSV file, in the order in which they first appear."""
    table = CsvTable(path, ("bag", "label") if labeled else ("bag",))
    features = table.numbers(COLUMNS)
    if features.shape[1] == 0:
        raise DataError(f"{path}: expected columns of features beside {', '.join(COLUMNS)}, got none")
    columns, empty = Columns(table.others(COLUMNS), str(path)), [""] * len(features)
    labels, marks = (table.column(name) if name in table.header else empty for name in ("label", "mark"))
    rows: dict[str, list[int]] = {}
    for number, name in enumerate(table.column("bag")):
        rows.setdefault(name, []).append(number)
    return [
        Example(
            Bag(
                features[own],
                np.array([marks[i] not in ("", "0") for i in own], dtype=np.int64) if "mark" in table.header else None,
                columns=columns,
            ),
            _label(path, name, {labels[number] for number in own}),
            name=name,
            files=(table.where(own[0]),),
        )
        for name, own in rows.items()
    ]


def _label(path: Path, name: str, labels: set[str]) -> str:
    if len(labels) > 1:
        got = " and ".join(sorted(labels)[:2])
        raise DataError(f"{path}: expected one label for bag {name!r}, got {got}; a label is the whole bag's")
    return labels.pop()


def _folder(path: Path, shape: tuple[int, ...]) -> Iterator[Example]:
    """Folders and pictures inside a folder for each label."""
    for label in sorted(child for child in path.iterdir() if child.is_dir()):
        for child in sorted(label.iterdir()):
            if child.is_dir():
                bag = _pictures(child, shape)
            elif child.suffix.lower() in SUFFIXES:
                bag = _tiled(child, shape)
            else:
                continue
            yield Example(bag.input, label.name, name=f"{label.name}/{child.name}", files=(str(child),))


def _pictures(path: Path, shape: tuple[int, ...]) -> Example:
    """A folder of pictures, each brought to one shape."""
    files = sorted(child for child in path.iterdir() if child.suffix.lower() in SUFFIXES)
    if not files:
        raise DataError(f"{path}: expected pictures ({', '.join(SUFFIXES)}), got none")
    pixels = np.stack([pixels_of(file, (shape[0], shape[1], channels(shape))) for file in files])
    return Example(Bag(pixels.astype(np.float32) / np.float32(255)), name=path.name)


def _tiled(path: Path, shape: tuple[int, ...]) -> Example:
    """A picture as a bag of tiles, row by row; what is left at its right and lower edge is not read."""
    whole = np.asarray(opened(path, channels(shape))).astype(np.float32) / np.float32(255)
    height, width = shape[:2]
    rows, columns = whole.shape[0] // height, whole.shape[1] // width
    if not (rows and columns):
        got = f"{whole.shape[1]} × {whole.shape[0]}"
        raise DataError(f"{path}: expected a picture of at least {width} × {height}, got {got}; choose a smaller data.tile")
    cut = whole[: rows * height, : columns * width].reshape(rows, height, columns, width, *shape[2:])
    tiles = np.ascontiguousarray(cut.swapaxes(1, 2).reshape(-1, *shape))
    return Example(Bag(tiles, grid=(rows, columns)), name=path.name)


def channels(shape: tuple[int, ...]) -> int:
    """Of pictures of this shape: 1 in gray, 3 in colors."""
    return 3 if len(shape) == 3 else 1
