"""Small data sets as files of a user's own: how they are written, the same at every call."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.data.examples import Example

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
Bags = Sequence[tuple[Floats, str]]
SEED = 0


@dataclass(frozen=True)
class SmallSet:
    """The keys of [data], which name the training file and nothing else that could be left out, and the file to test on."""

    data: Mapping[str, str]
    test: Path | None = None
    """None: the training file says what is tested, such as the nodes of a graph."""


def drawn(examples: Sequence[Any], count: int) -> list[Any]:
    """So many of these, in an order by chance."""
    order = np.random.default_rng(SEED).permutation(len(examples))[:count]
    return [examples[place] for place in order.tolist()]


def texts(folder: Path, train: Iterable[Example], test: Iterable[Example]) -> SmallSet:
    """Text TAB target."""
    for name, part in (("train", train), ("test", test)):
        lines = (f"{' '.join(one.input.split())}\t{one.target}\n" for one in part)
        (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")
    return SmallSet({"train": str(folder / "train.tsv")}, folder / "test.tsv")


def documents(folder: Path, train: Iterable[Example], test: Iterable[Example]) -> SmallSet:
    """JSON lines, which keep the line breaks of a text."""
    for name, part in (("train", train), ("test", test)):
        lines = (json.dumps({"text": one.input, "label": one.target}) + "\n" for one in part)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    return SmallSet({"train": str(folder / "train.jsonl")}, folder / "test.jsonl")


def pictures(folder: Path, train: Sequence[tuple[Pixels, str]], test: Sequence[tuple[Pixels, str]]) -> SmallSet:
    """Picture files, and a CSV file that lists them with their labels or captions."""
    for name, part in (("train", train), ("test", test)):
        (folder / name).mkdir()
        paths = [f"{name}/{number}.png" for number in range(len(part))]
        for path, (pixels, _) in zip(paths, part, strict=True):
            Image.fromarray(pixels).save(folder / path, compress_level=1)
        rows = ([path, label] for path, (_, label) in zip(paths, part, strict=True))
        write_csv(folder / f"{name}.csv", ["path", "label"], rows)
    return SmallSet({"train": str(folder / "train.csv")}, folder / "test.csv")


def bags(folder: Path, train: Bags, test: Bags) -> SmallSet:
    """A CSV file with a row for each item of a bag with a label."""
    for name, part in (("train", train), ("test", test)):
        rows = (_rows(number, items, [label] * len(items)) for number, (items, label) in enumerate(part))
        write_csv(folder / f"{name}.csv", ["bag", "label", *_features(part)], chain.from_iterable(rows))
    return SmallSet({"train": str(folder / "train.csv")}, folder / "test.csv")


def marked_sets(folder: Path, train: Bags, test: Bags) -> SmallSet:
    """The same of sets with an odd item, whose place is given; it is marked by a 1."""
    for name, part in (("train", train), ("test", test)):
        rows = (
            _rows(number, items, ["set"] * len(items), [f"{int(i == int(place))}" for i in range(len(items))])
            for number, (items, place) in enumerate(part)
        )
        write_csv(folder / f"{name}.csv", ["bag", "label", "mark", *_features(part)], chain.from_iterable(rows))
    return SmallSet({"train": str(folder / "train.csv")}, folder / "test.csv")


def _features(part: Bags) -> list[str]:
    return [f"x{number}" for number in range(part[0][0].shape[1])]


def _rows(bag: int, items: Floats, *columns: list[str]) -> Iterator[list[str]]:
    for *told, row in zip(*columns, items.tolist(), strict=True):
        yield [f"{bag}", *told, *(f"{value:.4g}" for value in row)]


def write_csv(path: Path, head: list[str], rows: Iterable[list[str]]) -> None:
    """A CSV file whose first line names the columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
