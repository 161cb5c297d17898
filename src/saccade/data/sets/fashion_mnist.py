"""Fashion-MNIST: pictures of clothes in ten classes, 28 × 28, gray (Xiao et al. 2017)."""

from dataclasses import dataclass

from saccade.config import Count
from saccade.data.examples import Example, Picture, Splits
from saccade.data.sets.mnist import Part, pictures
from saccade.errors import UsageError

INPUT, TARGET = Picture, str
SET = "fashion-mnist"
NAMES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is held out."""

    held_out: Count = 2000
    "So many pictures, the last of the 60,000 to learn from, are to choose by."


def load(config: Config) -> Splits:
    """All three parts."""
    train, test = _part("train"), _part("test")
    if config.held_out >= len(train):
        raise UsageError(f"data.held_out: expected fewer than the {len(train)} pictures there are, got {config.held_out}")
    learned = len(train) - config.held_out
    return Splits(train[:learned], train[learned:], test)


def _part(part: Part) -> list[Example]:
    images, classes = pictures(SET, part)
    named = [NAMES[number] if number < len(NAMES) else str(number) for number in classes.tolist()]
    return [Example(Picture(image), name) for image, name in zip(images, named, strict=True)]
