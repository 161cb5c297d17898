"""IIIT 5K-word: words cut out of pictures from the web, in gray, 32 pixels high (Mishra et al. 2012)."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from saccade.config import Count
from saccade.data import known
from saccade.data.archives import entries
from saccade.data.examples import Example, Picture, Splits
from saccade.errors import DataError, UsageError

INPUT, TARGET = Picture, str
SET, ARCHIVE, LABELS = "iiit5k", "iiit5k_gray_h32.zip", "labels.tsv"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The size of the validation set."""

    held_out: Count = 200
    "Validation examples: the last of the 2,000 training words."


def load(config: Config) -> Splits:
    """Training, validation and test words, in small letters: the benchmark does not ask for capitals."""
    train, test = words("train"), words("test")
    if config.held_out >= len(train):
        raise UsageError(f"data.held_out: expected fewer than the {len(train)} training words, got {config.held_out}")
    first = len(train) - config.held_out
    return Splits(train[:first], train[first:], test)


def words(part: str) -> list[Example]:
    """The words of a part."""
    return pictures_in(SET, ARCHIVE, lambda name: name.startswith(f"{part}/"))


def pictures_in(name: str, archive: str, wanted: Callable[[str], bool] = lambda name: True) -> list[Example]:
    """The pictures of words in an archive, with their words, in small letters, as its list of labels has them."""
    texts = {file: text for file, text in labels(name) if wanted(file)}
    path = known.find(name, archive)
    pictures = {file: _gray(content(), path) for file, _, content in entries(path) if file in texts}
    if missing := texts.keys() - pictures.keys():
        raise DataError(f"{path}: expected {min(missing)} and {len(missing) - 1} more, got none; download it again")
    return [Example(Picture(pictures[file]), text.lower(), name=file) for file, text in texts.items()]


def labels(name: str) -> list[tuple[str, str]]:
    """File and word of each picture."""
    path = known.find(name, LABELS)
    rows = [line.split("\t") for line in known.unzipped(path).decode("utf-8").splitlines()]
    if any(len(row) != 2 for row in rows):
        raise DataError(f"{path}: expected a file and a word in each line; download it again")
    return [(file, text) for file, text in rows]


def _gray(content: bytes, path: Path) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    try:
        with Image.open(io.BytesIO(content)) as image:
            return np.asarray(image.convert("L"))
    except OSError as error:
        raise DataError(f"{path}: a picture cannot be read ({error}); download it again") from None
