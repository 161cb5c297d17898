"""Texts with a label for each word, from your own files.

    data.train=my.conll            a word and its label a line, other columns between; blank lines between sentences
    data.train=my.tsv              text TAB labels: as many labels as words, with spaces between; also .csv, .json, .jsonl …

Columns are text (or sentence, tokens …) and label (or tags, ner_tags …); lists of words and labels are read, too.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from saccade.data.examples import Example, Splits
from saccade.data.formats import own_files, tables, text_files
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import NAMES, BadRow, Table, TableRow, as_text, decoded, excerpt, read_table
from saccade.data.formats.text_files import TSV, Place, Report, checked, parsed, to_stderr
from saccade.errors import DataError, UsageError

INPUT, TARGET = str, str
OWN = "data.train=my.conll"
COLUMNS = (".conll", ".bio", ".iob", ".iob2", ".ner")
FORMATS = "my.conll (a word and its label a line), my.tsv (text TAB labels), my.csv, my.json, my.jsonl, my.parquet"
BEGINNING = b"-DOCSTART-"  # of a document, in the files of CoNLL
TAGGED: Mapping[str, Sequence[str]] = {
    **NAMES,
    "text": (*NAMES["text"], "tokens", "words"),
    "label": (*NAMES["label"], "labels", "tags", "ner_tags", "pos_tags"),
}


@dataclass(frozen=True, kw_only=True)
class Config(text_files.Config):
    """Where the examples are, and what may be wrong with them."""

    label: str = ""
    """Column of the labels, with spaces between; empty: label, labels, tags, ner_tags or the like."""


def load(config: Config, report: Report = to_stderr) -> Splits:
    """The sentences of all files; `report` is told of bad ones that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    return config.splits(lambda spec: read(spec, config, report), lambda one: one.input.encode("utf-8", "surrogatepass"))


def read(spec: str, config: Config, report: Report = to_stderr) -> list[Example]:
    """The sentences of one file."""
    path = Path(os.path.expanduser(spec))
    if suffix(path) in tables.SUFFIXES:
        return examples_of(read_table(path, FORMATS), config, report)
    lines = _lines(path)
    if suffix(path) in COLUMNS or not all(line.strip() for line in lines):
        return list(checked(spec, _sentences(str(path), lines), config, report))
    names = [name.strip().lower() for name in lines[0].decode(errors="replace").split("\t")]
    headed = suffix(path) in TSV and any(name in TAGGED["label"] for name in names)
    if headed:
        return examples_of(tables.tsv_table(path, FORMATS), config, report)
    rows = [TableRow(number, _two_columns(line)) for number, line in enumerate(lines, 1)]
    return examples_of(Table(str(path), ("text", "label"), rows), config, report)


def inputs_of(source: str | Table) -> list[str] | None:
    """The sentences of a file with a word on each line, with a label or without; None: another file."""
    path = Path(os.path.expanduser(source)) if isinstance(source, str) else Path()
    if suffix(path) not in COLUMNS:
        return None
    rows = _sentences(str(path), _lines(path), labels=False)
    return [example.input for example in checked(str(path), rows, Config(), to_stderr)]


def _lines(path: Path) -> list[bytes]:
    """The lines of a file, without empty ones at its end."""
    content = own_files.content(path, FORMATS).removeprefix(b"\xef\xbb\xbf")
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise DataError(f"{path}: expected examples, got an empty file")
    return lines


def _two_columns(line: bytes) -> dict[str, Any] | BadRow:
    """The text and the labels of a line of a file without names."""
    cells = line.decode(errors="surrogateescape").split("\t")
    if len(cells) == 2:
        return {"text": cells[0], "label": cells[1]}
    return BadRow(f"expected 2 columns, got {len(cells)}: {excerpt(' | '.join(cells))}")


def examples_of(table: Table, config: Config, report: Report = to_stderr) -> list[Example]:
    """The rows of a table as examples."""
    columns = table.chosen(config.columns(), ("text", "label"), names=TAGGED)
    classes = (table.classes or {}).get(columns["label"])

    def parse(row: TableRow) -> Example:
        text = _joined(row.cell(columns["text"]), columns["text"])
        return tagged(text, _joined(row.cell(columns["label"]), columns["label"], classes))

    return list(checked(table.name, parsed(table, parse), config, report))


def _joined(value: Any, name: str, classes: Sequence[str] | None = None) -> str:
    """A cell as text; a list of words or labels with spaces between."""
    if isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1:
        return " ".join(as_text(one, name, classes, label=True) for one in value)
    return as_text(value, name)


def tagged(text: str, labels: str) -> Example:
    """A text with its labels, if there are as many as words."""
    words, tags = text.split(), labels.split()
    if len(words) != len(tags):
        raise BadRow(f"expected as many labels as words, got {len(tags)} for {len(words)} words")
    return Example(" ".join(words), " ".join(tags))


def _sentences(file: str, lines: Sequence[bytes], labels: bool = True) -> Iterator[tuple[Place, Callable[[], Example]]]:
    """The sentences between blank lines, each with its first line."""
    for blank, rows in groupby(enumerate(lines, 1), key=lambda row: not row[1].strip()):
        own = [row for row in rows if not row[1].startswith(BEGINNING)]
        if own and not blank:
            yield ((file,), own[0][0]), partial(_sentence, [line for _, line in own], labels)


def _sentence(lines: Sequence[bytes], labels: bool) -> Example:
    rows = [decoded(line).split() for line in lines]
    short = next((row for row in rows if len(row) < 2), None) if labels else None
    if short is not None:
        raise BadRow(f"expected a word and its label on each line, got {' '.join(short)!r}")
    return Example(" ".join(row[0] for row in rows), " ".join(row[-1] for row in rows))
