"""Classic multiple-instance data: MUSK1, MUSK2 (Dietterich et al. 1997), Elephant, Fox, Tiger (Andrews et al. 2002).

They have no split. Five times all bags are dealt into ten folds; each fold is the test once, all others are learned from.
"""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from saccade.config import Count
from saccade.data import known
from saccade.data.batches import Integers
from saccade.data.draws import Draws
from saccade.data.examples import Bag, Example, Splits
from saccade.errors import DataError, UsageError

INPUT, TARGET = Bag, str
TIMES, FOLDS = 5, 10
NAMES = {0: "negative", 1: "positive"}
PUBLISHED = "folds_5x10.json"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which bags, and which of them are the test."""

    corpus: Literal["musk1", "musk2", "elephant", "fox", "tiger"] = "musk1"
    "musk1, musk2: shapes of molecules, of which some smell of musk; elephant, fox, tiger: parts of photographs."
    fold: Count = 0
    "Which fold is the test: 0 to 9 of the first deal, 10 to 19 of the second … up to 49."
    folds: Literal["published", "dealt"] = "published"
    "published: those of MIDatasets.jl, which musk2 lacks; dealt: others, where that file is not at hand."

    def __post_init__(self) -> None:
        if self.fold >= TIMES * FOLDS:
            raise UsageError(f"fold: expected 0 to {TIMES * FOLDS - 1}, got {self.fold}")


def load(config: Config) -> Splits:
    """All bags but those of the fold, and those."""
    path = known.find("mil", f"{config.corpus}.csv")
    bags = _bags(path)
    time, fold = divmod(config.fold, FOLDS)
    held_out = {int(number) for number in _folds(config, len(bags))[time][fold]}
    if not held_out < set(range(len(bags))):
        raise DataError(f"{path}: expected more bags than fold {config.fold} names; take the published files")
    learned = [bag for number, bag in enumerate(bags) if number not in held_out]
    return Splits(learned, [], [bags[number] for number in sorted(held_out)])


def _folds(config: Config, count: int) -> list[list[Integers]]:
    """The numbers of the bags of each fold of each deal: as published or, where they were not, dealt here."""
    if config.folds == "published":
        path = known.find("mil", PUBLISHED, fix="set data.folds=dealt")
        try:
            published = json.loads(known.unzipped(path))
            if config.corpus in published:
                return [[np.array(fold, dtype=np.int64) for fold in deal] for deal in published[config.corpus]]
        except (ValueError, TypeError, OverflowError) as error:
            raise DataError(f"{path}: expected folds as lists of numbers ({error}); take the published file") from None
    return [np.array_split(Draws(time).order(count), FOLDS) for time in range(TIMES)]


def _bags(path: Path) -> list[Example]:
    """Lines of the form LABEL,BAG,FEATURES…, in the order in which bags first appear."""
    rows: dict[str, list[list[str]]] = {}
    for row in csv.reader(io.StringIO(known.unzipped(path).decode())):
        rows.setdefault(row[1] if len(row) > 2 else "", []).append(row)
    try:
        return [_bag(name, lines) for name, lines in rows.items()]
    except (ValueError, KeyError, IndexError):
        raise DataError(
            f"{path}: expected lines of label 0 or 1, bag and as many numbers each; take the published file"
        ) from None


def _bag(name: str, rows: list[list[str]]) -> Example:
    return Example(Bag(np.array([row[2:] for row in rows], dtype=np.float32)), NAMES[int(float(rows[0][0]))], name=name)
