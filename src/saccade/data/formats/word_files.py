"""Your own pictures of words, and what they say: a CSV file with the columns path and text.

    data.train=words.csv           words.csv: path,text and below crops/1.png,HOTEL; paths start from the file's own folder

Pictures keep their shape; how they are fitted to a model is a matter of its reader. All that Pillow reads is read.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.data.examples import Example, Picture, Splits
from saccade.data.formats.csv_tables import CsvTable
from saccade.data.formats.image_files import opened
from saccade.data.formats.own_files import OwnFiles
from saccade.errors import DataError, UsageError

INPUT, TARGET = Picture, str
OWN = "data.train=words.csv with the columns path and text"
COLUMNS = ("path", "text")


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the pictures are."""

    train: str = ""
    """Training pictures: a CSV file with the columns path and text."""


def load(config: Config) -> Splits:
    """The pictures of all parts; the same picture is never on both sides of a held-out part."""
    if not config.train:
        raise UsageError(f"data.train: expected a CSV file with the columns path and text, got nothing; fix: {OWN}")
    return config.splits(lambda spec: read(spec, config), lambda one: b"".join(one.input.content()))


def read(spec: str, config: Config) -> list[Example]:
    """The pictures of a CSV file in its order, in gray."""
    place = Path(spec).expanduser()
    if place.suffix.lower() != ".csv":
        got = "a folder" if place.is_dir() else "a file of another kind" if place.exists() else "nothing"
        raise DataError(f"{place}: expected a CSV file with the columns path and text, got {got}")
    table = CsvTable(place, COLUMNS)
    rows = list(zip(*(table.column(name) for name in COLUMNS), strict=True))
    if not rows:
        raise DataError(f"{place}: expected pictures with their texts, got none")
    for number, (path, text) in enumerate(rows):
        if not path or not text:
            raise DataError(f"{table.where(number)}: expected a path and a text, got {path!r} and {text!r}; mend the row")
    return [
        Example(Picture(np.asarray(opened(place.parent / path, 1))), text, name=path, files=(table.where(number),))
        for number, (path, text) in enumerate(rows)
    ]
