"""Fashion-MNIST: pictures of clothes in ten classes, 28 × 28, gray (Xiao et al. 2017)."""

from dataclasses import dataclass

from saccade.config import Count
from saccade.data.examples import Picture, Splits
from saccade.data.sets.mnist import labeled

INPUT, TARGET = Picture, str
SET = "fashion-mnist"
NAMES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The size of the validation set."""

    held_out: Count = 2000
    "Validation examples: the last of the 60,000 training examples."


def load(config: Config) -> Splits:
    """Training, validation and test set."""
    return labeled(SET, config.held_out, lambda number: NAMES[number] if number < len(NAMES) else str(number))
