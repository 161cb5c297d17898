"""Sets with an odd one out: pictures of one class of MNIST or Fashion-MNIST, and among them one of another."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from saccade.config import Count, Positive
from saccade.data.draws import Draws
from saccade.data.examples import Bag, Splits
from saccade.data.picture_sets import Found, PictureSets, held_out
from saccade.data.sets.mnist import pictures
from saccade.errors import UsageError

INPUT, TARGET = Bag, str
CLASSES = 10


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many sets, and how large they are."""

    corpus: Literal["mnist", "fashion-mnist"] = "mnist"
    "mnist: digits; fashion-mnist: clothes."
    train_size: Positive = 5000
    "Training sets, of pictures of the training part."
    valid_size: Positive = 500
    "Validation sets, of other pictures of that part."
    test_size: Positive = 1000
    "Test sets, of pictures of the test part."
    size: Positive = 16
    "Pictures in a set, one of which does not belong."
    seed: Count = 0
    "Decides which sets are made."

    def __post_init__(self) -> None:
        if self.size < 3:
            raise UsageError(f"size: of two nobody can tell which is the odd one; expected at least 3, got {self.size}")


def load(config: Config) -> Splits:
    """All three parts."""
    parts = (*held_out(pictures(config.corpus, "train")), pictures(config.corpus, "test"))
    counts = (config.train_size, config.valid_size, config.test_size)
    draws = (Draws(config.seed, part) for part in range(3))
    return Splits(*(_made(part, count, config.size, one) for part, count, one in zip(parts, counts, draws, strict=True)))


def _made(labeled: Found, count: int, size: int, draws: Draws) -> PictureSets:
    """So many sets; the odd one stands anywhere."""
    images, labels = labeled
    of_class = [np.flatnonzero(labels == label) for label in range(CLASSES)]
    common = draws.whole(0, CLASSES - 1, count)
    other = (common + draws.whole(1, CLASSES - 1, count)) % CLASSES
    places = draws.whole(0, size - 1, count)
    chances = draws.uniform(count, size)
    drawn, marks = [], []
    for number in range(count):
        classes = np.full(size, common[number])
        classes[places[number]] = other[number]
        pools = [of_class[label] for label in classes]
        drawn.append(np.array([pool[int(chance * len(pool))] for pool, chance in zip(pools, chances[number], strict=True)]))
        marks.append((np.arange(size) == places[number]).astype(np.int64))
    return PictureSets(images, drawn, marks, [""] * count, [""] * count)
