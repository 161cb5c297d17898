"""Scenes of handwritten digits on a grid, and what they show as a sentence: "a three left of a seven above a one".

Digits of MNIST (LeCun et al. 1998) at half their size lie in some cells of the grid, each moved a little at random. The
sentence names them row by row, and says of each whether it is left of the next one or, in a higher row, above it.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from saccade.config import Count, Positive
from saccade.data.draws import Draws
from saccade.data.examples import Example, Picture, Splits
from saccade.data.picture_sets import Found, held_out
from saccade.data.sets.mnist import pictures
from saccade.errors import UsageError

INPUT, TARGET = Picture, str
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DIGIT, CELL = 14, 16  # height and width in pixels of a digit, and of its cell

Cell = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many scenes, and what is in them."""

    train_size: Positive = 6000
    "Training scenes, of digits of the training part."
    valid_size: Positive = 500
    "Validation scenes, of other digits of that part."
    test_size: Positive = 1000
    "Test scenes, of digits of the test part."
    rows: Positive = 3
    "Rows of the grid."
    columns: Positive = 3
    "Columns of the grid."
    fewest: Positive = 2
    "Digits in a scene at least."
    most: Positive = 4
    "Digits in a scene at most."
    blank: bool = False
    "Whether all pictures are left black: the control, which shows what can be told without seeing."
    seed: Count = 0
    "Decides which scenes are made."

    def __post_init__(self) -> None:
        if not self.fewest <= self.most <= self.rows * self.columns:
            cells = self.rows * self.columns
            raise UsageError(f"most: expected from fewest ({self.fewest}) to {cells} cells of the grid, got {self.most}")


def load(config: Config) -> Splits:
    """All three parts."""
    parts = (*held_out(pictures("mnist", "train")), pictures("mnist", "test"))
    counts = (config.train_size, config.valid_size, config.test_size)
    drawn = zip(parts, counts, range(3), strict=True)
    return Splits(
        *([_scene(found, config, Draws(config.seed, part, i)) for i in range(size)] for found, size, part in drawn)
    )


def _scene(found: Found, config: Config, draws: Draws) -> Example:
    """A scene, its sentence, and the box of each digit that the sentence names."""
    digits, labels = found
    count = int(draws.whole(config.fewest, config.most, 1)[0])
    cells = [divmod(int(place), config.columns) for place in np.sort(draws.order(config.rows * config.columns)[:count])]
    chosen = draws.whole(0, len(labels) - 1, count)
    moves = draws.whole(0, CELL - DIGIT, count, 2)
    canvas = np.zeros((config.rows * CELL, config.columns * CELL), np.uint8)
    for (row, column), number, (down, right) in zip(cells, chosen, moves, strict=True):
        top, left = row * CELL + down, column * CELL + right
        canvas[top : top + DIGIT, left : left + DIGIT] = 0 if config.blank else _halved(digits[number])
    words = [NAMES[labels[number]] for number in chosen]
    sentence = told(words, cells)
    places = [place for place, word in enumerate(sentence.split()) if word in NAMES]
    boxes = [(place, row * CELL, column * CELL, CELL, CELL) for place, (row, column) in zip(places, cells, strict=True)]
    return Example(Picture(canvas, np.array(boxes, np.int64)), sentence)


def told(digits: list[str], cells: list[Cell]) -> str:
    """The sentence of digits in these cells, which are in order."""
    named = ["an eight" if digit == "eight" else f"a {digit}" for digit in digits]
    between = ["left of" if row == before else "above" for (before, _), (row, _) in pairwise(cells)]
    return " ".join(word for pair in zip(["", *between], named, strict=True) for word in pair).strip()


def _halved(digit: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A digit of 28 × 28 pixels at half the size."""
    wide: NDArray[np.float64] = digit.reshape(DIGIT, 2, DIGIT, 2).mean((1, 3))
    return wide.round().astype(np.uint8)
