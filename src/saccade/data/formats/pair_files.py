"""Texts, or pairs of texts, with labels, from your own files.

    data.train=my.csv              columns text, pair and label: also .tsv with names first, .json, .jsonl, .parquet
    data.train=reviews.tsv         one text and its label, as in saccade.data.formats.text_files

The second text is the column pair, sentence2, hypothesis, question2 or the like; data.pair=hypothesis names another. Where
there is no such column, texts stand alone.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.examples import Example, Pair, Splits
from saccade.data.formats import own_files, tables, text_files
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import NAMES, BadRow, Table, TableRow, as_text, read_table
from saccade.data.formats.text_files import FORMATS, TSV, Report, checked, parsed, to_stderr
from saccade.errors import DataError, UsageError

INPUT, TARGET = (str, Pair), str
OWN = "data.train=my.csv"
PAIRED: Mapping[str, Sequence[str]] = {
    **NAMES,
    "text": (*NAMES["text"], "text1", "sentence1", "premise", "question1", "first"),
    "pair": ("pair", "text2", "text_pair", "sentence2", "hypothesis", "question2", "second"),
}


@dataclass(frozen=True, kw_only=True)
class Config(text_files.Config):
    """Where the examples are, and what may be wrong with them."""

    pair: str = ""
    """Column of the second text, where texts are read in pairs; empty: pair, sentence2, hypothesis or the like, if it is
    there."""


def load(config: Config, report: Report = to_stderr) -> Splits:
    """The examples of all files; `report` is told of bad lines that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    return config.splits(
        lambda spec: read(spec, config, report), lambda one: str(one.input).encode("utf-8", "surrogatepass")
    )


def read(spec: str, config: Config, report: Report = to_stderr) -> Sequence[Example]:
    """The examples of one file, or of a folder of texts by label."""
    table = _table(Path(os.path.expanduser(spec)), config.pair)
    return text_files.read(spec, config, report) if table is None else examples_of(table, config, report)


def _table(path: Path, pair: str) -> Table | None:
    """The rows of a file, if its columns have names."""
    if suffix(path) in tables.SUFFIXES:
        return read_table(path, FORMATS)
    if suffix(path) not in TSV or os.path.isdir(path):
        if pair:
            raise UsageError(f"data.pair={pair}: expected a file whose columns have names, got {path}; use .csv or .tsv")
        return None
    names = next(own_files.lines(path, FORMATS), b"").decode(errors="replace").split("\t")
    return tables.tsv_table(path, FORMATS) if pair or has_pairs(names) else None


def has_pairs(names: Sequence[str]) -> bool:
    """Whether one of these columns is called as the second text of a pair is."""
    return any(name.strip().lower() in PAIRED["pair"] for name in names)


def examples_of(table: Table, config: Config, report: Report = to_stderr) -> list[Example]:
    """The rows of a table as examples."""
    if not (config.pair or has_pairs(list(map(str, table.columns)))):
        return text_files.examples_of(table, config, report)
    given = {**config.columns(), "pair": config.pair}
    columns = table.chosen(given, ("text", "pair", "label"), names=PAIRED)
    classes = (table.classes or {}).get(columns["label"])

    def parse(row: TableRow) -> Example:
        label = as_text(row.cell(columns["label"]), columns["label"], classes, label=True)
        if not label.strip():
            raise BadRow(f"expected a label as {columns['label']!r}, got {'blank' if label else 'empty'} text")
        group = as_text(row.cell(columns["group"]), columns["group"], label=True) if "group" in columns else ""
        return Example(Pair(*_both(row, columns)), label, group)

    return list(checked(table.name, parsed(table, parse), config, report))


def inputs_of(source: str | Table, text: str = "") -> Iterable[Any] | None:
    """The texts or pairs of a table, or of its file, that are to be answered; None: a file of plain lines."""
    table = source if isinstance(source, Table) else tables.of_file(source, FORMATS)
    if table is None:
        return None
    if not has_pairs(list(map(str, table.columns))):
        return text_files.inputs_of(table, text)
    given = {"text": text if text in table.columns else "", "pair": ""}
    columns = table.chosen(given, ("text", "pair"), rename=True, names=PAIRED)
    try:
        return [Pair(*_both(row, columns)) for row in table.rows]
    except BadRow as error:
        raise DataError(f"{table.name}: {error.problem}; fix: {error.fix}") from None


def _both(row: TableRow, columns: Mapping[str, str]) -> tuple[str, str]:
    """Both texts of a row."""
    return as_text(row.cell(columns["text"]), columns["text"]), as_text(row.cell(columns["pair"]), columns["pair"])
