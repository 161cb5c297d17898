"""Bags of MNIST pictures, of which those with a certain digit are positive (Ilse et al. 2018, section 4.2).

Bags come by turns: one as pictures are drawn, provided that the digit is among them, then one from which it is kept out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.config import Amount, Count, Positive
from saccade.data.examples import Bag, Example, Splits
from saccade.data.picture_sets import held_out
from saccade.data.sets.mnist import pictures
from saccade.errors import UsageError

INPUT, TARGET = Bag, str
NAMES = ("negative", "positive")


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many bags, and what is in them."""

    corpus: Literal["mnist", "fashion-mnist"] = "mnist"
    "mnist: digits; fashion-mnist: clothes, by the numbers of their classes."
    digit: Count = 9
    "The digit that makes a bag positive, 0 to 9."
    bags: Positive = 200
    "Training bags, half of them positive."
    valid_bags: Count = 0
    "Validation bags, of other training pictures."
    test_bags: Count = 1000
    "Test bags, of test pictures."
    size: Positive = 10
    "Pictures in a bag, on average."
    spread: Amount = 2.0
    "Standard deviation of that number."
    seed: Count = 0
    "Decides the training bags; those of the test are always the same."

    def __post_init__(self) -> None:
        if self.digit > 9:
            raise UsageError(f"digit: expected 0 to 9, got {self.digit}")


def load(config: Config) -> Splits:
    """All bags."""
    training, validation = held_out(pictures(config.corpus, "train"))
    return Splits(
        list(_made(*training, config.bags, config, (config.seed, 0))),
        list(_made(*validation, config.valid_bags, config, (config.seed, 1))),
        list(_made(*pictures(config.corpus, "test"), config.test_bags, config, (0, 2))),
    )


def _made(
    images: NDArray[np.uint8], labels: NDArray[np.int64], count: int, config: Config, key: tuple[int, int]
) -> Iterator[Example]:
    """So many bags, a positive one first, then by turns."""
    draws = np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))
    others = np.flatnonzero(labels != config.digit)
    for number in range(count):
        positive = number % 2 == 0
        while True:
            size = max(1, int(draws.normal(config.size, config.spread)))
            drawn = draws.integers(len(labels), size=size) if positive else others[draws.integers(len(others), size=size)]
            marks = (labels[drawn] == config.digit).astype(np.int64)
            if bool(marks.any()) == positive:
                break
        items = images[drawn].astype(np.float32) / np.float32(255)
        yield Example(Bag(items, marks), NAMES[positive], name=f"{number}")
