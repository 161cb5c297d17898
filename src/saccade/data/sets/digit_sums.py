"""Sums of digits (Zaheer et al. 2017, section 4.1.2): sets of digits, as words or as pictures of MNIST, and their sums.

Training sets are small; test sets also come much larger, a group for each size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from saccade.config import Count, Positive
from saccade.data.draws import Draws, Integers
from saccade.data.examples import Bag, Example, Splits
from saccade.data.picture_sets import Found, PictureSets, held_out
from saccade.data.sets.mnist import pictures
from saccade.errors import UsageError

INPUT, TARGET = (str, Bag), str


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the digits are, and how many of them make a set."""

    items: Literal["words", "pictures"] = "words"
    "words: the digits themselves; pictures: of MNIST, in training those of its training part."
    train_size: Positive = 20_000
    "Training sets."
    valid_size: Positive = 1000
    "Validation sets, as large as training sets."
    test_size: Positive = 1000
    "Test sets of each size."
    max_size: Positive = 10
    "Maximum number of digits of a training set."
    test_sizes: tuple[int, ...] = (5, 10, 20, 50, 100)
    "How many digits the sets of the test have."
    seed: Count = 0
    "Decides which sets are made."

    def __post_init__(self) -> None:
        if not self.test_sizes or min(self.test_sizes) < 1:
            raise UsageError(f"test_sizes: expected sizes of at least 1, got {list(self.test_sizes)}")


def load(config: Config) -> Splits:
    """All three parts."""
    counts = (config.train_size, config.valid_size)
    sizes = [Draws(config.seed, part, 0).whole(1, config.max_size, count) for part, count in enumerate(counts)]
    sizes.append(np.repeat(np.array(config.test_sizes, dtype=np.int64), config.test_size))
    groups = [[""] * count for count in counts]
    groups.append([f"size {size}" for size in sizes[-1]])
    draws = [Draws(config.seed, part, 1) for part in range(3)]
    if config.items == "words":
        return Splits(*map(_words, sizes, groups, draws))
    parts = (*held_out(pictures("mnist", "train")), pictures("mnist", "test"))
    return Splits(*map(_pictures, parts, sizes, groups, draws))


def _words(sizes: Integers, groups: Sequence[str], draws: Draws) -> list[Example]:
    digits = np.split(draws.whole(0, 9, int(sizes.sum())), sizes.cumsum()[:-1])
    return [
        Example(" ".join(map(str, own.tolist())), f"{own.sum()}", group) for own, group in zip(digits, groups, strict=True)
    ]


def _pictures(labeled: Found, sizes: Integers, groups: Sequence[str], draws: Draws) -> PictureSets:
    images, labels = labeled
    drawn = np.split(draws.whole(0, len(labels) - 1, int(sizes.sum())), sizes.cumsum()[:-1])
    digits = [labels[own] for own in drawn]
    return PictureSets(images, drawn, digits, [f"{own.sum()}" for own in digits], groups)
