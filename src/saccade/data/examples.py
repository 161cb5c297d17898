"""What data sets are made of."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and the text to write for it; scores are also given apart for each group."""

    source: str
    target: str
    group: str = ""


@dataclass(frozen=True)
class Splits:
    """Examples to learn from, to choose by, and to be judged on. The last two may be empty."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]
