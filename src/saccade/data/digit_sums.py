"""Sums of digits (Zaheer et al. 2017, section 4.1.2): sets of digits, as words or as pictures of MNIST, and what they add up to.

Sets to learn from are small; those of the test also come much larger, a group for each size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.config import Count, Positive
from saccade.data.dice import Dice, Integers
from saccade.data.examples import Pair, Splits
from saccade.data.mnist import pictures
from saccade.data.sets import PictureSets
from saccade.errors import UsageError

Found = tuple[NDArray[np.uint8], Integers]
HELD_OUT = 5000  # pictures of the training part that only validation sees


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the digits are, and how many of them make a set."""

    items: Literal["words", "pictures"] = "words"
    "words: the digits themselves; pictures: of MNIST, those of its training part to learn from."
    train_size: Positive = 20_000
    "Sets to learn from."
    valid_size: Positive = 1000
    "Sets to choose by, as large as those to learn from."
    test_size: Positive = 1000
    "Sets of each size to be judged on."
    longest: Positive = 10
    "Digits of a set to learn from, at most."
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
    sizes = [Dice(config.seed, part, 0).whole(1, config.longest, count) for part, count in enumerate(counts)]
    sizes.append(np.repeat(np.array(config.test_sizes, dtype=np.int64), config.test_size))
    groups = [[""] * count for count in counts]
    groups.append([f"size {size}" for size in sizes[-1]])
    dice = [Dice(config.seed, part, 1) for part in range(3)]
    if config.items == "words":
        return Splits(*map(_words, sizes, groups, dice))
    return Splits(*map(_pictures, (*held_out(*pictures("mnist", "train")), pictures("mnist", "test")), sizes, groups, dice))


def held_out(images: NDArray[np.uint8], labels: Integers) -> tuple[Found, Found]:
    """Pictures to learn from, and some others to choose by."""
    first = len(labels) - min(HELD_OUT, len(labels) // 2)
    return (images[:first], labels[:first]), (images[first:], labels[first:])


def _words(sizes: Integers, groups: Sequence[str], dice: Dice) -> list[Pair]:
    digits = np.split(dice.whole(0, 9, int(sizes.sum())), sizes.cumsum()[:-1])
    return [
        Pair(" ".join(map(str, own.tolist())), f"{own.sum()}", group)
        for own, group in zip(digits, groups, strict=True)
    ]


def _pictures(found: Found, sizes: Integers, groups: Sequence[str], dice: Dice) -> PictureSets:
    images, labels = found
    chosen = np.split(dice.whole(0, len(labels) - 1, int(sizes.sum())), sizes.cumsum()[:-1])
    sums = [f"{labels[own].sum()}" for own in chosen]
    return PictureSets(images, labels, chosen, sums, groups)
