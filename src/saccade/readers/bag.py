"""Bags of instances: rows of features or pictures, scaled to mean 0 and deviation 1."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade import records
from saccade.config import Amount
from saccade.data.examples import Bag, Columns, Example, Splits, place
from saccade.data.formats import bag_files
from saccade.data.formats.tables import Table
from saccade.data.tensors import BagInput
from saccade.errors import DataError, UsageError
from saccade.readers import reader
from saccade.readers.reader import Load, numbered
from saccade.view.trace import Axis

FILE = "scale.json"
LISTED = 5  # names that a message lists
SAMPLE = 1000  # bags that the scale of items that are made when they are read is learned from


@dataclass(frozen=True, kw_only=True)
class Config:
    """How features are scaled."""

    max_deviation: Amount = 0.0
    "Features farther from their mean, in standard deviations, are clipped to this; tames rare large values. 0: never."


@dataclass(frozen=True)
class Scale:
    """The shape of an instance, and the mean and deviation of each feature, or of all pixels."""

    shape: tuple[int, ...]
    mean: list[float]
    deviation: list[float]
    max_deviation: float = 0.0
    names: tuple[str, ...] = ()
    """Of the features, where they have some."""

    @classmethod
    def of(cls, bags: Sequence[Bag], max_deviation: float = 0.0) -> "Scale":
        """That of the training bags, whose instances must all have one shape."""
        shapes = {bag.items.shape[1:] for bag in bags}
        if len(shapes) != 1:
            raise DataError(f"expected instances of one shape, got {' and '.join(map(str, sorted(shapes)[:2]))}")
        items = np.concatenate([bag.items for bag in bags]).astype(np.float64)
        axes = 0 if items.ndim == 2 else None
        mean, deviation = np.atleast_1d(items.mean(axes)), np.atleast_1d(items.std(axes))
        names = bags[0].columns.names if bags[0].columns else ()
        return cls(shapes.pop(), mean.tolist(), np.where(deviation > 0, deviation, 1.0).tolist(), max_deviation, names)

    def __call__(self, items: Any) -> NDArray[np.float32]:
        mean, deviation = (np.array(one, dtype=np.float32) for one in (self.mean, self.deviation))
        scaled: NDArray[np.float32] = (items - mean) / deviation
        scaled = scaled.astype(np.float32, copy=False)
        return scaled.clip(-self.max_deviation, self.max_deviation) if self.max_deviation else scaled

    def fitting(self, bag: Bag, what: str = "the bag") -> Bag:
        """The bag with its features in the order of training, if it has those."""
        if self.names and bag.columns and bag.columns.names != self.names:
            items = bag.items[:, places(self.names, bag.columns)]
            bag = replace(bag, items=items, columns=Columns(self.names, bag.columns.file))
        if bag.items.shape[1:] != self.shape:
            expected = f"expected items of shape {self.shape}, as in training"
            where = bag.columns.file if bag.columns else what
            raise DataError(f"{where}: {expected}, got items of shape {bag.items.shape[1:]}")
        return bag

    def going_on(self, own: "Scale") -> "Scale":
        """This scale for data whose own is that one, if its instances have the same features, or are as large."""
        if (self.shape, sorted(self.names)) != (own.shape, sorted(own.names)):
            return own
        return replace(self, max_deviation=own.max_deviation)

    def save(self, directory: Path) -> None:
        """Write it into the run."""
        records.save(directory / FILE, asdict(self))

    @classmethod
    def load(cls, directory: Path) -> "Scale":
        """Read it again."""
        record = records.load(directory / FILE)
        try:
            return cls(**{**record, "shape": tuple(record["shape"]), "names": tuple(record["names"])})
        except (TypeError, KeyError) as error:
            raise records.unreadable(directory / FILE, error) from None


def places(names: Sequence[str], columns: Columns) -> list[int]:
    """Where each of these features stands in a file, which must have just these; of equal names the first comes first."""
    missing, unknown = Counter(names) - Counter(columns.names), Counter(columns.names) - Counter(names)
    problems = [f"{what}: {_listed(counts)}" for what, counts in (("missing", missing), ("unknown", unknown)) if counts]
    if problems:
        expected = f"expected the features of the training data ({_listed(names)})"
        fix = "rename its columns" if missing and unknown else "add them" if missing else "leave them out"
        raise DataError(f"{columns.file}: {expected}; {'; '.join(problems)}; {fix}")
    own, learned = (sorted(range(len(features)), key=features.__getitem__) for features in (columns.names, names))
    where = dict(zip(learned, own, strict=True))
    return [where[index] for index in range(len(names))]


def _listed(names: Iterable[str]) -> str:
    """The first of these names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - LISTED:,} more" if len(listed) > LISTED else ""
    return ", ".join(listed[:LISTED]) + more


class BagColumn:
    """Scaled bags; each is scaled when it is read."""

    def __init__(self, bags: Sequence[Any], scale: Scale) -> None:
        self.bags, self.scale = bags, scale
        self.lengths = np.array([len(bag.items) for bag in bags], dtype=np.int64)

    def batch(self, indices: Any) -> BagInput:
        """The tensors of these bags."""
        items = [self.scale(self.scale.fitting(self.bags[i]).items) for i in indices]
        return BagInput(torch.from_numpy(np.concatenate(items)), torch.tensor([len(own) for own in items]))


class Reader(reader.Reader):
    """Scales bags."""

    INPUT, OWN, TYPED = Bag, "bag_files", "test#0"
    unit, budget = "instances", 4_000
    config: Config

    def __init__(self, config: Any, scale: Scale) -> None:
        super().__init__(config)
        self.scale = scale

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        return cls(config, fitted(splits, config.max_deviation))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        return cls(config, earlier.scale.going_on(fitted(splits, config.max_deviation)))

    def save(self, directory: Path) -> None:
        self.scale.save(directory)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        return cls(config, Scale.load(directory))

    def sizes(self) -> dict[str, Any]:
        return {"shape": self.scale.shape}

    def check(self, example: Example) -> None:
        if not isinstance(example.input, Bag):
            raise DataError(f"expected a bag of items of shape {self.scale.shape}, got {type(example.input).__name__}")
        self.scale.fitting(example.input, f"bag {example.name!r}")

    def encode(self, inputs: Sequence[Bag]) -> Any:
        return BagColumn([self.scale.fitting(bag) for bag in inputs], self.scale)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        return parsed(typed, self.scale, splits)

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return bag_files.inputs_of(source)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        return {"input": axis(example.input)}

    def notes(self, example: Example) -> dict[str, str | float]:
        marks = example.input.marks
        return {"marked instances": "*"} if marks is not None and marks.any() else {}


def fitted(splits: Splits, max_deviation: float = 0.0) -> Scale:
    """The scale of the training bags, if those of the other parts fit it; the first of a part tells of its whole file."""
    sample = None if isinstance(splits.train, list) else SAMPLE
    scale = Scale.of([example.input for example in splits.train[:sample]], max_deviation)
    for part in (splits.valid, splits.test):
        for number, example in enumerate(part[:1], 1):
            scale.fitting(example.input, place(example, number))
    return scale


def parsed(typed: Any, scale: Scale, splits: Load) -> Example | None:
    """A bag by its number in the run's data (test#12), by the name of a file, as an array of items, or read already."""
    if isinstance(typed, str) and not typed.strip():
        return None
    if isinstance(typed, Example):
        return replace(typed, input=scale.fitting(typed.input, f"bag {typed.name!r}"))
    if isinstance(typed, str | Path):
        example = numbered(typed, splits) or bag_files.named(str(typed).strip(), scale.shape)
        return replace(example, input=scale.fitting(example.input, f"bag {example.name!r}"), name=str(typed).strip())
    try:
        items = np.asarray(typed, dtype=np.float32)
    except (TypeError, ValueError):
        raise UsageError(f"expected a bag: a file, or an array of its items, got {type(typed).__name__}") from None
    return Example(scale.fitting(Bag(items)))


def axis(bag: Bag, *, numbers: bool = True) -> Axis:
    """The instances of a bag; where they are pictures, they can be seen. Marked ones have a star."""
    images = (bag.items * 255).round().astype(np.uint8) if bag.items.ndim > 2 else None
    marks = np.zeros(len(bag.items)) if bag.marks is None else bag.marks
    names = [f"{number}{' *' if mark else ''}" for number, mark in enumerate(marks)] if numbers else list(map(str, marks))
    return Axis("instances", names, images, bag.grid)
