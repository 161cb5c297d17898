"""Instances of bags and sets: their shape and scale, bags by their names, and how they are shown."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import bags
from saccade.data.examples import Bag, Columns, Splits
from saccade.errors import DataError
from saccade.tasks.numbered import numbered
from saccade.view.trace import Axis

FILE = "scale.json"
LISTED = 5  # names that a message lists


@dataclass(frozen=True)
class Scale:
    """The shape of an instance, and how its numbers are brought to mean 0 and deviation 1: each feature, or all pixels."""

    shape: tuple[int, ...]
    mean: list[float]
    deviation: list[float]
    farthest: float = 0.0
    """Numbers farther from 0 are brought back to this; 0: they stay."""
    names: tuple[str, ...] = ()
    """Of the features, where they have some; older runs have kept none."""

    @classmethod
    def of(cls, found: Sequence[Bag], farthest: float = 0.0) -> "Scale":
        """That of the bags to learn from, whose instances must all have one shape."""
        shapes = {bag.items.shape[1:] for bag in found}
        if len(shapes) != 1:
            raise DataError(f"expected instances of one shape, got {' and '.join(map(str, sorted(shapes)[:2]))}")
        items = np.concatenate([bag.items for bag in found]).astype(np.float64)
        axes = 0 if items.ndim == 2 else None
        mean, deviation = np.atleast_1d(items.mean(axes)), np.atleast_1d(items.std(axes))
        names = found[0].columns.names if found[0].columns else ()
        return cls(shapes.pop(), mean.tolist(), np.where(deviation > 0, deviation, 1.0).tolist(), farthest, names)

    def __call__(self, items: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        mean, deviation = (np.array(one, dtype=np.float32) for one in (self.mean, self.deviation))
        scaled: np.ndarray[Any, np.dtype[np.float32]] = (items - mean) / deviation
        return scaled.clip(-self.farthest, self.farthest) if self.farthest else scaled

    def fitting(self, bag: Bag) -> Bag:
        """The bag with its features in the order in which they were learned, if they are those."""
        if self.names and bag.columns and bag.columns.names != self.names:
            bag = replace(bag, items=bag.items[:, places(self.names, bag.columns)])
        if bag.items.shape[1:] != self.shape:
            expected = f"expected items of shape {self.shape}, as the run has learned from"
            where = bag.columns.file if bag.columns else f"bag {bag.name!r}"
            raise DataError(f"{where}: {expected}, got items of shape {bag.items.shape[1:]}")
        return bag

    def check(self, splits: Splits) -> None:
        """Refuse what is judged on if it is not like what is learned from; the first of a part tells of its whole file."""
        for part in (splits.valid, splits.test):
            if len(part):
                self.fitting(part[0])

    def save(self, run: Path) -> None:
        """Write it into the run."""
        (run / FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, run: Path) -> "Scale":
        """Read it again."""
        try:
            told = json.loads((run / FILE).read_text(encoding="utf-8"))
            farthest, names = told.get("farthest", 0.0), tuple(told.get("names", ()))
            return cls(tuple(told["shape"]), told["mean"], told["deviation"], farthest, names)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None


def places(names: Sequence[str], columns: Columns) -> list[int]:
    """Where each of these features stands in a file, which must have just these; of equal names the first comes first."""
    missing, unknown = Counter(names) - Counter(columns.names), Counter(columns.names) - Counter(names)
    told = [f"{what}: {_listed(found)}" for what, found in (("missing", missing), ("unknown", unknown)) if found]
    if told:
        expected = f"expected the features that the run has learned from ({_listed(names)})"
        fix = "rename its columns" if missing and unknown else "add them" if missing else "leave them out"
        raise DataError(f"{columns.file}: {expected}; {'; '.join(told)}; {fix}")
    own, learned = (sorted(range(len(found)), key=found.__getitem__) for found in (columns.names, names))
    where = dict(zip(learned, own, strict=True))
    return [where[place] for place in range(len(names))]


def _listed(names: Iterable[str]) -> str:
    """The first of these names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
    return ", ".join(found[:LISTED]) + more


def named(text: str, scale: Scale, examples: Callable[[], Splits]) -> Bag:
    """The bag that a line names: one of the run's own data by its number, as test#12, or one of a file."""
    found: Bag | None = numbered(text, examples)
    return scale.fitting(bags.named(text.strip(), scale.shape) if found is None else found)


def instances(bag: Bag, names: Sequence[str]) -> Axis:
    """The instances of a bag as a side of a picture; where they are pictures, they can be seen."""
    pictures = (bag.items * 255).round().astype(np.uint8) if bag.items.ndim > 2 else None
    return Axis("instances", names, pictures, bag.grid)
