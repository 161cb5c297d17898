"""Letters among which one kind stands in a run and others one by one: the label is the kind of the run.

How often a letter occurs says little of the label: a model has to find the segment. It is the smallest task in which what is
attended to is a structure (Kim et al. 2017), for models that read each letter by itself.
"""

from dataclasses import dataclass

from saccade.config import Count, Positive
from saccade.data.draws import Draws
from saccade.data.examples import Example, Splits
from saccade.errors import UsageError

INPUT, TARGET = str, str
KINDS, FILLERS = "abcdefghijklm", "nopqrstuvwxyz"
MOST_BETWEEN = 3


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many kinds there are, and what misleads."""

    train_size: Positive = 2000
    "Training texts."
    valid_size: Positive = 500
    "Validation texts."
    test_size: Positive = 1000
    "Test texts."
    kinds: Positive = 4
    "Letters that can stand in a run, which are the labels."
    run: Positive = 3
    "Letters of a run."
    singles: Count = 4
    "How often, at the most, every other kind stands by itself; from 0 on each number is as likely."
    seed: Count = 0
    "Decides the texts."

    def __post_init__(self) -> None:
        if not 2 <= self.kinds <= len(KINDS):
            raise UsageError(f"kinds: expected 2 … {len(KINDS)}, got {self.kinds}")
        if self.run < 2:
            raise UsageError(f"run: expected at least 2 letters, got {self.run}")


def load(config: Config) -> Splits:
    """All three parts."""
    counts = (config.train_size, config.valid_size, config.test_size)
    parts = [[_example(config, part, number) for number in range(count)] for part, count in enumerate(counts)]
    train, valid, test = parts
    return Splits(train, valid, test, labels=tuple(KINDS[: config.kinds]))


def _example(config: Config, part: int, number: int) -> Example:
    """The run and the others in some order, with one to three fillers around each."""
    draws = Draws(config.seed, part, number)
    label = int(draws.whole(0, config.kinds - 1, 1)[0])
    counts = draws.whole(0, config.singles, config.kinds).tolist()
    others = [KINDS[kind] for kind, count in enumerate(counts) if kind != label for _ in range(count)]
    pieces = [KINDS[label] * config.run, *others]
    pieces = [*(pieces[place] for place in draws.order(len(pieces)).tolist()), ""]
    gaps = draws.whole(1, MOST_BETWEEN, len(pieces)).tolist()
    fillers = iter(draws.whole(0, len(FILLERS) - 1, sum(gaps)).tolist())
    before = ["".join(FILLERS[next(fillers)] for _ in range(gap)) for gap in gaps]
    text = "".join(gap + piece for gap, piece in zip(before, pieces, strict=True))
    return Example(" ".join(text), KINDS[label])
