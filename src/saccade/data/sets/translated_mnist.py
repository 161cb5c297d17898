"""Digits of MNIST at random places of a larger picture, among pieces of other digits (Mnih et al. 2014, section 4.1).

Every picture is a function of the seed and its number, drawn when a batch needs it: a training digit comes many times, at
other places and among other pieces, before anything is seen twice.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from saccade.config import Count, Positive
from saccade.data.draws import drawn_at
from saccade.data.examples import Picture, Splits
from saccade.data.picture_sets import DrawnExamples, DrawnPictures, Found, Integers, held_out
from saccade.data.sets.mnist import pictures
from saccade.errors import UsageError

INPUT, TARGET = Picture, str
SIDE = 28  # of a digit


@dataclass(frozen=True, kw_only=True)
class Config:
    """How large pictures are, and what is in them."""

    size: Positive = 60
    "Height and width of the pictures."
    pieces: Count = 0
    "Pieces of other digits in each picture: clutter. The paper has 4 on 60 × 60 pixels and on 100 × 100."
    piece_size: Positive = 8
    "Height and width of a piece."
    copies: Positive = 20
    "How often each training digit comes, each time at another place."
    seed: Count = 0
    "Decides the training pictures; those of the validation and the test are always the same."

    def __post_init__(self) -> None:
        if self.size < SIDE:
            raise UsageError(f"size: expected at least the {SIDE} pixels of a digit, got {self.size}")
        if self.piece_size > SIDE:
            raise UsageError(f"piece_size: expected at most the {SIDE} pixels of a digit, got {self.piece_size}")


def load(config: Config) -> Splits:
    """All three parts; pieces are of digits of the same part."""
    training, validation = held_out(pictures("mnist", "train"))
    return Splits(
        _moved(training, config.copies, config, (config.seed, 0)),
        _moved(validation, 1, config, (0, 1)),
        _moved(pictures("mnist", "test"), 1, config, (0, 2)),
    )


def _moved(found: Found, copies: int, config: Config, key: tuple[int, int]) -> DrawnExamples:
    images, labels = found
    draw = partial(drawn, images, size=config.size, pieces=config.pieces, piece_size=config.piece_size, key=key)
    return DrawnExamples(DrawnPictures(draw, np.arange(copies * len(labels))), [str(label) for label in labels] * copies)


def drawn(
    images: NDArray[np.uint8], numbers: Integers, *, size: int, pieces: int, piece_size: int, key: tuple[int, int]
) -> NDArray[np.uint8]:
    """The pictures with these numbers, (n, size, size): the digit of each, and pieces of others, at places of their own."""
    chances = drawn_at(numbers, 2 + 5 * pieces, *key)
    free = np.array(
        [size - SIDE + 1] * 2 + [len(images), *[SIDE - piece_size + 1] * 2, *[size - piece_size + 1] * 2] * pieces
    )
    rows = (chances * free).astype(np.int64)
    found = np.zeros((len(numbers), size, size), np.uint8)
    for picture, digit, row in zip(found, numbers % len(images), rows.tolist(), strict=True):
        top, left = row[:2]
        picture[top : top + SIDE, left : left + SIDE] = images[digit]
        for at in range(2, len(row), 5):
            other, above, before, top, left = row[at : at + 5]
            piece = images[other, above : above + piece_size, before : before + piece_size]
            place = picture[top : top + piece_size, left : left + piece_size]
            np.maximum(place, piece, out=place)
    return found
