"""Questions with the texts that hold their answers, from your own files.

    data.train=my.csv              columns question, context, answer, and perhaps start: also .tsv, .json, .jsonl, .parquet
    data.train=train-v1.1.json     as SQuAD is published

`start` is the place of the answer's first character in the context, counted from 0; left out, the first place where the
answer stands is taken. An empty answer says that the context has none. Where several answers are right (a list, as
in SQuAD), the first is learned and each counts.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from saccade.data.examples import Example, Pair, Splits
from saccade.data.formats import own_files, tables
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import NAMES, BadRow, Table, TableRow, as_text, read_table
from saccade.data.formats.text_files import Config as TextConfig
from saccade.data.formats.text_files import Report, checked, parsed, to_stderr
from saccade.errors import UsageError

INPUT, TARGET = Pair, str
OWN = "data.train=my.csv"
FORMATS = "my.csv with the columns question, context and answer, my.tsv, my.json, my.jsonl, my.parquet, or SQuAD's own .json"
COLUMNS: Mapping[str, Sequence[str]] = {
    **NAMES,
    "text": ("question",),
    "context": ("context", "passage", "paragraph", "document"),
    "label": ("answer", "answers.text", "answers", "label"),
    "start": ("start", "answer_start", "answers.answer_start"),
}


@dataclass(frozen=True, kw_only=True)
class Config(TextConfig):
    """Where the examples are, and what may be wrong with them."""

    text: str = ""
    """Column of the question; empty: question."""
    label: str = ""
    """Column of the answer, or of a list of answers; empty: answer or the like."""
    context: str = ""
    """Column of the text that holds the answer; empty: context, passage or the like."""
    start: str = ""
    """Column of the answer's place in the context; empty: start or answer_start, if it is there."""

    def columns(self) -> dict[str, str]:
        """The name that was given for each column."""
        return {key: getattr(self, key) for key in COLUMNS}


def load(config: Config, report: Report = to_stderr) -> Splits:
    """The questions of all files; `report` is told of bad ones that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    # Questions on one text are held out together: an answer to one may give another away.
    return config.splits(lambda spec: read(spec, config, report), lambda one: one.input.second.encode("utf-8", "replace"))


def read(spec: str, config: Config, report: Report = to_stderr) -> list[Example]:
    """The questions of one file."""
    path = Path(os.path.expanduser(spec))
    if suffix(path) in tables.SUFFIXES:
        return examples_of(_published(path) or read_table(path, FORMATS), config, report)
    return examples_of(tables.tsv_table(path, FORMATS), config, report)


def _published(path: Path) -> Table | None:
    """The rows of a file as SQuAD is published; None: another one."""
    if suffix(path) != ".json":
        return None
    try:
        whole = json.loads(own_files.text(path, FORMATS))
        rows = list(_nested(whole["data"])) if isinstance(whole, Mapping) and "data" in whole else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    columns = ["question", "context", "answers", "answer_start"]
    return Table(str(path), columns, [TableRow(number, row) for number, row in enumerate(rows, 1)], "question")


def _nested(articles: Any) -> Iterator[dict[str, Any]]:
    """The questions on all paragraphs of all articles."""
    for article in articles:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                found = asked["answers"]
                yield {
                    "question": asked["question"],
                    "context": paragraph["context"],
                    "answers": [one["text"] for one in found],
                    "answer_start": [one["answer_start"] for one in found],
                }


def examples_of(table: Table, config: Config, report: Report = to_stderr) -> list[Example]:
    """The rows of a table as examples."""
    columns = table.chosen(config.columns(), ("text", "context", "label"), names=COLUMNS)

    def parse(row: TableRow) -> Example:
        question, context = (as_text(row.cell(columns[key]), columns[key]) for key in ("text", "context"))
        answers = _listed(row.cell(columns["label"]))
        # Of rows without an answer there may be no place.
        starts = _listed(row.cell(columns["start"])) if columns.get("start") in row.cells else []  # type: ignore[operator]
        texts = [as_text(one, columns["label"], label=True) for one in answers if one not in ("", None)]
        start = _start(context, texts[0], starts[0] if starts else None) if texts else None
        return Example(Pair(question, context, start), "\n".join(dict.fromkeys(one.replace("\n", " ") for one in texts)))

    return list(checked(table.name, parsed(table, parse), config, report))


def _listed(value: Any) -> list[Any]:
    """A cell that may hold several."""
    return list(value) if isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1 else [value]


def _start(context: str, answer: str, given: Any) -> int:
    """Where an answer begins."""
    if given not in (None, "") and not str(given).strip().isdigit():
        raise BadRow(f"expected a place in the context, counted from 0, got {given!r}")
    place = context.find(answer) if given in (None, "") else int(given)
    if place < 0 or context[place : place + len(answer)] != answer:
        where = "the context" if given in (None, "") else f"the context at {place}"
        raise BadRow(f"expected the answer {answer[:40]!r} in {where}, got {context[max(place, 0) :][:40]!r}")
    return place


def columns_of(example: Example, config: Config) -> dict[str, Any]:
    """A question as it is kept, by the names of its columns."""
    names = {field.name: getattr(config, field.name) for field in fields(config)}
    start = {names["start"] or "start": [example.input.start]} if example.input.start is not None else {}
    return {
        names["text"] or "question": example.input.first,
        names["context"] or "context": example.input.second,
        names["label"] or "answer": example.target.split("\n") if example.target else [],
        **start,
    }
