"""Tables: models that differ in nothing but what their rows say, each trained from several seeds."""

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from saccade import config, recipes
from saccade.config import Count, Positive, Table
from saccade.errors import DataError, UnknownName, UsageError
from saccade.evaluation.metrics import ranked
from saccade.experiments.baselines import BASELINES
from saccade.experiments.cell import BaselineCell, Cell, Kept
from saccade.training.settings import Settings, base, resolve


@dataclass(frozen=True, kw_only=True)
class Row:
    """One model of a table."""

    name: str
    "What it is called; the directory of its runs has this name, in small letters and dashes."
    group: str = ""
    "The heading that it stands under."
    words: tuple[str, ...] = ()
    "In what it differs from the other rows, as on the command line: section.key=value."
    system: str = ""
    "Its system, where that is not the common one; the common [model] does not hold for it then."
    recipe: str = ""
    "What it starts from instead of the common recipe; system and [model] are then this recipe's."
    baseline: str = ""
    """A baseline instead of a model, on the same data: most_frequent, logistic_regression, logistic_regression_bigrams,
    nearest_neighbor, ngram_model; of numbers mean_number, linear_regression; of items farthest; of words of a set
    most_frequent_word, co_occurrence. It has no seeds, but may have folds."""
    same_as: str = ""
    "The name of the row whose model this is, under another heading: nothing is trained for it."
    mean_of: str = ""
    "The heading of the rows whose mean this is, seed by seed: nothing is trained for it."
    seeds: Count = 0
    "How often it is trained, where that is not the table's number; --seeds is stronger."
    fold: str = ""
    "A setting that counts with the seeds, such as data.fold: every seed is then tested on another part of the data."
    part: str = "all"
    "Which examples' score is shown: all, or those of one group, such as a language."
    paper: str | int | float = ""
    "A published figure that is shown beside ours."

    @property
    def slug(self) -> str:
        """The name as a directory has it."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table as its file says it."""

    about: str
    "What is compared, in a sentence."
    metric: str
    "Which of the scores is shown, such as bleu."
    row: tuple[Row, ...]
    "The models, in their order."
    recipe: str = ""
    "What all rows start from: a recipe, a system or a TOML file; nothing: [settings] says it all."
    settings: Table = field(default_factory=dict)
    "What all rows have in common, in the sections of a recipe."
    seeds: Positive = 3
    "Every row is trained with train.seed 0, 1 … so many times."
    split: Literal["test", "valid", "train"] = "test"
    "The data that is scored."
    choose: Literal["", "train", "valid"] = ""
    "Of the seeds of a row, the one with the best score on this data is also shown by itself; empty: none is."
    note: str = ""
    "A sentence below the table."

    def chosen(self, slugs: str | None) -> list[Row]:
        """The rows of these names with commas between, or all."""
        known = {row.slug: row for row in self.row}
        wanted = list(known) if slugs is None else [slug.strip() for slug in slugs.split(",")]
        for slug in wanted:
            if slug not in known:
                raise UnknownName("row", slug, known)
        return [row for slug, row in known.items() if slug in wanted]

    def cells(self, row: Row, seeds: int | None, words: Sequence[str], out: Path) -> list[Cell]:
        """The runs of a row, so many or as many as it says; those of another, if it is the same as that."""
        if row.mean_of:
            return []
        own = next(other for other in self.row if other.name == (row.same_as or row.name))
        seeds = 1 if own.baseline and not own.fold else seeds or own.seeds or self.seeds
        return [self._cell(own, seed, words, out / own.slug / f"seed-{seed}") for seed in range(seeds)]

    def _cell(self, row: Row, seed: int, words: Sequence[str], path: Path) -> Cell:
        settings = self._settings(row, words, seed)
        if row.baseline:
            return BaselineCell(path, row.name, seed, settings, row.baseline)
        return Cell(path, row.name, seed, settings, choose=self.choose)

    def _settings(self, row: Row, words: Sequence[str], seed: int) -> Settings:
        with _of_row(row):
            if "seed" in config.words([*row.words, *words]).get("train", {}):
                raise UsageError("train.seed: a table has its own seeds, 0, 1 …; leave it out, and choose how many seeds")
            fold = [f"{row.fold}={seed}"] if row.fold else []
            return resolve(self._start(row), [*row.words, *words, *fold, f"train.seed={seed}"])

    def _start(self, row: Row) -> Table:
        recipe = row.recipe or self.recipe
        own = ("system", "model") if row.recipe else ()
        common = {section: values for section, values in self.settings.items() if section not in own}
        table = _over(base(recipe) if recipe else {}, common)
        return _over(table, {"system": row.system}) if row.system else table

    def check(self, parts: Sequence[tuple[Row, Sequence[Cell]]], *, fresh: bool = False) -> None:
        """Refuse a metric, a split or a part that a row will not have, before the first is trained."""
        for row, cells in parts:
            with _of_row(row):
                for cell in cells:
                    cell.check_metric(self.metric)
        groups: dict[tuple[str, str], set[str]] = {}
        for row, cells in parts:
            # Other seeds have the same data, or other folds of it.
            for cell in [cell for cell in cells if fresh or cell.kept(self.split) is None][:1]:
                key = (cell.settings.dataset, repr(cell.settings.data))
                with _of_row(row):
                    groups[key] = groups[key] if key in groups else cell.groups(self.split)
                    known = {"all", *groups[key], *cell.parts}
                    if row.part not in known:
                        raise UnknownName("part of the scores", row.part, known)

    def rank(self, kept: Kept) -> list[float]:
        """How good a cell is on the data that one of the seeds is chosen by; larger is better."""
        return ranked(kept["chosen_by"], [self.metric, "loss"])

    def value(self, kept: Kept, part: str = "all") -> float:
        """The number that a cell of the table shows."""
        scores: Mapping[str, Mapping[str, float]] = kept["scores"]
        if part not in scores:
            raise UnknownName("part of the scores", part, scores)
        if self.metric not in scores[part]:
            raise UnknownName("metric of the table", self.metric, scores[part])
        return float(scores[part][self.metric])


@contextmanager
def _of_row(row: Row) -> Iterator[None]:
    """What is wrong is told with the row that it is in."""
    try:
        yield
    except (UsageError, DataError) as error:
        kind = UsageError if isinstance(error, UsageError) else DataError
        raise kind(f"row {row.slug}: {error}") from None


def _over(table: Table, changes: Mapping[str, Any]) -> Table:
    """A table of sections with these changes; another system brings its own [model]."""
    if changes.get("system", table.get("system")) != table.get("system"):
        table = {section: values for section, values in table.items() if section != "model"}
    return config.merged(table, changes)


def read(name: str) -> Grid:
    """The table of this name, or that of a TOML file."""
    values = config.read(Path(name)) if name.endswith(".toml") else recipes.table(name)
    rows = values.get("row")
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise UsageError(f"{name}: expected [[row]] entries, got none; give each a name and its words")
    values["row"] = tuple(config.build(Row, row, f"row {number}") for number, row in enumerate(rows, 1))
    grid = config.build(Grid, values, name)
    _check(name, grid.row)
    return grid


def _check(name: str, rows: Sequence[Row]) -> None:
    """Rows that cannot be told apart, or that are the same as none."""
    slugs = [row.slug for row in rows]
    for row in rows:
        if not row.slug or slugs.count(row.slug) > 1:
            raise UsageError(f"{name}: row {row.name!r} makes the directory {row.slug!r}; give each row a name of its own")
        if row.baseline and row.baseline not in BASELINES:
            raise UnknownName("baseline", row.baseline, BASELINES)
        if (row.same_as or row.mean_of) and (row.words or row.system or row.recipe):
            what = "the same as another" if row.same_as else "a mean of others"
            raise UsageError(f"{name}: row {row.name!r} is {what}; leave its words, system and recipe out")
        if row.mean_of and not any(other.group == row.mean_of and not other.mean_of for other in rows):
            raise UnknownName("heading", row.mean_of, dict.fromkeys(other.group for other in rows))
        others = [other.name for other in rows if not other.same_as]
        if row.same_as and row.same_as not in others:
            raise UnknownName("same_as row", row.same_as, others)


@dataclass(frozen=True)
class Line:
    """What the seeds of a row came to."""

    row: Row
    values: list[float | None]
    """By seed; None for what is not done yet."""
    minutes: list[float]
    signature: str
    chosen: float | None = None
    "The value of the seed that was chosen, where one is and all are done."

    @property
    def done(self) -> list[float]:
        """The values that are there."""
        return [value for value in self.values if value is not None]

    @property
    def mean(self) -> float | None:
        """Over the seeds that are done."""
        return statistics.fmean(self.done) if self.done else None

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation, which one value does not have."""
        return statistics.stdev(self.done) if len(self.done) > 1 else None


def line(grid: Grid, row: Row, cells: Sequence[Cell]) -> Line:
    """The line of a row, from what its cells have kept."""
    records = [cell.kept(grid.split) for cell in cells]
    done = [kept for kept in records if kept is not None]
    values = [None if kept is None else grid.value(kept, row.part) for kept in records]
    signature = next((kept["signatures"].get(grid.metric, "") for kept in done), "")
    best = max(done, key=grid.rank) if grid.choose and len(done) == len(cells) > 1 else None
    chosen = None if best is None else grid.value(best, row.part)
    return Line(row, values, [kept["minutes"] for kept in done], signature, chosen)


def lines(grid: Grid, parts: Sequence[tuple[Row, Sequence[Cell]]]) -> list[Line]:
    """The lines of all rows; means from the lines under their heading."""
    own = {row.name: line(grid, row, cells) for row, cells in parts if not row.mean_of}
    return [own[row.name] if row.name in own else _mean(row, list(own.values())) for row, _ in parts]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(row: Row, own: Sequence[Line]) -> Line:
    """Of each seed that all of them have; of those that were chosen, if all have one."""
    of = [one for one in own if one.row.group == row.mean_of]
    seeds = zip(*(one.values for one in of), strict=False)
    values = [statistics.fmean(known) if len(known) == len(of) else None for known in map(_known, seeds)]
    chosen = [one.chosen for one in of if one.chosen is not None]
    minutes = [sum(seed) for seed in zip(*(one.minutes for one in of), strict=False)]
    return Line(row, values, minutes, "", statistics.fmean(chosen) if of and len(chosen) == len(of) else None)
