"""MNIST: handwritten digits, 28 × 28, gray (LeCun et al. 1998); and the format that Fashion-MNIST shares with it."""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.config import Count
from saccade.data import known
from saccade.data.examples import Example, Picture, Splits
from saccade.errors import DataError, UsageError

INPUT, TARGET = Picture, str
SET = "mnist"

Part = Literal["train", "test"]
PREFIX = {"train": "train", "test": "t10k"}
UNSIGNED = 8  # the code of bytes in an idx file


@dataclass(frozen=True, kw_only=True)
class Config:
    """The size of the validation set."""

    held_out: Count = 5000
    "Validation examples: the last of the 60,000 training examples."


def load(config: Config) -> Splits:
    """Training, validation and test set."""
    return labeled(SET, config.held_out, str)


def labeled(name: str, held_out: int, label: Callable[[int], str]) -> Splits:
    """The pictures of a data set in this format with their labels; the last training examples are the validation set."""
    train, test = (
        [Example(Picture(image), label(number)) for image, number in zip(*part, strict=True)] for part in _parts(name)
    )
    if held_out >= len(train):
        raise UsageError(f"data.held_out: expected fewer than the {len(train)} training examples, got {held_out}")
    first = len(train) - held_out
    return Splits(train[:first], train[first:], test)


def _parts(name: str) -> list[tuple[NDArray[np.uint8], list[int]]]:
    parts = [pictures(name, part) for part in ("train", "test")]
    return [(images, labels.tolist()) for images, labels in parts]


def pictures(name: str, part: Part) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All pictures of a part, (N, 28, 28), and their classes, (N)."""
    paths = [known.find(name, f"{PREFIX[part]}-{what}") for what in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    images, labels = (idx(known.unzipped(path), path) for path in paths)
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(f"{paths[0]}: expected as many pictures as labels, got {images.shape} and {labels.shape}")
    return images, labels.astype(np.int64)


def idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """The array of an idx file of bytes."""
    try:
        zero, code, dimensions = struct.unpack(">HBB", content[:4])
        shape = struct.unpack(f">{dimensions}I", content[4 : 4 + 4 * dimensions])
    except struct.error:
        raise DataError(f"{path}: expected an idx file, got {len(content)} bytes; take the published file") from None
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
    if zero or code != UNSIGNED or math.prod(shape) != len(values):
        raise DataError(f"{path}: expected an idx file of bytes of shape {shape}, got another; take the published file")
    return values.reshape(shape)
