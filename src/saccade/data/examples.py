"""What data sets are made of."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and the text to write for it; scores are also given apart for each group."""

    source: str
    target: str
    group: str = ""


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels that are numbers by their size, then words by the alphabet."""

    def place(label: str) -> tuple[float, str]:
        try:
            number = float(label)
        except ValueError:
            number = math.inf
        return (math.inf if math.isnan(number) else number), label

    return sorted(labels, key=place)


@dataclass(frozen=True)
class Splits:
    """Examples to learn from, to choose by, and to be judged on. The last two may be empty."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]

    def fingerprint(self) -> str:
        """A short name for exactly these examples to learn from, in this order."""
        digest = hashlib.sha256()
        for pair in self.train:
            for text in (pair.source, pair.target, pair.group):
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()[:16]
