"""Instances of bags and sets: their shape and scale, bags by their names, and how they are shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import bags
from saccade.data.examples import Bag, Splits
from saccade.errors import DataError
from saccade.tasks.numbered import numbered
from saccade.view.trace import Side

FILE = "scale.json"


@dataclass(frozen=True)
class Scale:
    """The shape of an instance, and how its numbers are brought to mean 0 and deviation 1: each feature, or all pixels."""

    shape: tuple[int, ...]
    mean: list[float]
    deviation: list[float]
    farthest: float = 0.0
    """Numbers farther from 0 are brought back to this; 0: they stay."""

    @classmethod
    def of(cls, found: Sequence[Bag], farthest: float = 0.0) -> "Scale":
        """That of the bags to learn from, whose instances must all have one shape."""
        shapes = {bag.items.shape[1:] for bag in found}
        if len(shapes) != 1:
            raise DataError(f"expected instances of one shape, got {' and '.join(map(str, sorted(shapes)[:2]))}")
        items = np.concatenate([bag.items for bag in found]).astype(np.float64)
        axes = 0 if items.ndim == 2 else None
        mean, deviation = np.atleast_1d(items.mean(axes)), np.atleast_1d(items.std(axes))
        return cls(shapes.pop(), mean.tolist(), np.where(deviation > 0, deviation, 1.0).tolist(), farthest)

    def __call__(self, items: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        mean, deviation = (np.array(one, dtype=np.float32) for one in (self.mean, self.deviation))
        scaled: np.ndarray[Any, np.dtype[np.float32]] = (items - mean) / deviation
        return scaled.clip(-self.farthest, self.farthest) if self.farthest else scaled

    def save(self, run: Path) -> None:
        """Write it into the run."""
        (run / FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, run: Path) -> "Scale":
        """Read it again."""
        try:
            told = json.loads((run / FILE).read_text(encoding="utf-8"))
            return cls(tuple(told["shape"]), told["mean"], told["deviation"], told.get("farthest", 0.0))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None


def named(text: str, shape: tuple[int, ...], examples: Callable[[], Splits]) -> Bag:
    """The bag that a line names: one of the run's own data by its number, as test#12, or one of a file."""
    found: Bag | None = numbered(text, examples)
    return bags.named(text.strip(), shape) if found is None else found


def instances(bag: Bag, names: Sequence[str]) -> Side:
    """The instances of a bag as a side of a picture; where they are pictures, they can be seen."""
    pictures = (bag.items * 255).round().astype(np.uint8) if bag.items.ndim > 2 else None
    return Side("instances", names, pictures, bag.grid)
