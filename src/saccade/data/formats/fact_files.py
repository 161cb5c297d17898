"""Your own facts, and questions about them.

    data.facts=facts.csv    columns subject, relation, object: also .tsv, .json, .jsonl, .parquet
    data.train=my.csv       columns question and answer

Where several answers are right (a list in .jsonl, or with | between them), each is learned and each counts.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.data.examples import Example, Fact, Facts, Question, Splits
from saccade.data.formats import tables
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import NAMES, BadRow, Table, TableRow, as_text, read_table
from saccade.data.formats.text_files import Config as TextConfig
from saccade.data.formats.text_files import Report, checked, parsed, to_stderr
from saccade.errors import DataError, UsageError

INPUT, TARGET = Question, str
OWN = "data.facts=facts.csv data.train=my.csv"
FORMATS = "my.csv with the columns question and answer, my.tsv, my.json, my.jsonl or my.parquet"
FACTS = "facts.csv with the columns subject, relation and object, facts.tsv, facts.json, facts.jsonl or facts.parquet"
COLUMNS: Mapping[str, Sequence[str]] = {**NAMES, "text": ("question",), "label": ("answer", "answers")}
PARTS: Mapping[str, Sequence[str]] = {"subject": ("subject",), "relation": ("relation", "predicate"), "object": ("object",)}
SEVERAL = "|"


@dataclass(frozen=True, kw_only=True)
class Config(TextConfig):
    """Where the facts and the questions are, and what may be wrong with them."""

    facts: str = ""
    """The facts: columns subject, relation and object."""
    text: str = ""
    """Column of the question; empty: question."""
    label: str = ""
    """Column of the answer, or of a list of answers; empty: answer or answers."""

    def columns(self) -> dict[str, str]:
        """The name that was given for each column."""
        return {key: getattr(self, key) for key in COLUMNS}


def load(config: Config, report: Report = to_stderr) -> Splits:
    """The questions of all files, and the facts; every name in these may be an answer."""
    for key, known in (("facts", FACTS), ("train", FORMATS)):
        if not getattr(config, key):
            raise UsageError(f"data.{key}: expected a file, got nothing; fix: data.{key}={known}")
    facts = read_facts(config.facts)
    splits = config.splits(lambda spec: read(spec, config, report), lambda one: one.input.text.encode("utf-8", "replace"))
    return with_facts(splits, facts)


def with_facts(splits: Splits, facts: Facts) -> Splits:
    """These questions about these facts. A training question with several answers comes once with each of them first."""
    train = [one for example in splits.train for one in each_first(example)]
    names = {name: None for fact in facts.rows for name in (fact.subject, fact.object)}
    for _, part in splits.parts():
        for example in part:
            for answer in example.target.split("\n"):
                if answer not in names:
                    raise DataError(
                        f"{example.where() or example.input.text!r}: answer {answer!r} is no subject or object of a fact"
                    )
    return Splits(train, splits.valid, splits.test, shared=facts, labels=tuple(names))


def each_first(example: Example) -> Iterator[Example]:
    """The example with each of its answers as the first."""
    answers = example.target.split("\n")
    for answer in answers:
        others = [other for other in answers if other != answer]
        yield Example(example.input, "\n".join([answer, *others]), example.group, example.name)


def read(spec: str, config: Config, report: Report = to_stderr) -> list[Example]:
    """The questions of one file."""
    table = _table(spec, FORMATS)
    columns = table.chosen(config.columns(), ("text", "label"), names=COLUMNS)

    def parse(row: TableRow) -> Example:
        question, answers = as_text(row.cell(columns["text"]), columns["text"]), row.cell(columns["label"])
        texts = answers if isinstance(answers, list | tuple) else str(answers).split(SEVERAL)
        target = "\n".join(dict.fromkeys(filter(None, (" ".join(str(one).split()) for one in texts))))
        if not target:
            raise BadRow("expected an answer, got nothing")
        return Example(Question(question), target, name=question)

    return list(checked(table.name, parsed(table, parse), config, report))


def _table(spec: str, known: str) -> Table:
    path = Path(os.path.expanduser(spec))
    return read_table(path, known) if suffix(path) in tables.SUFFIXES else tables.tsv_table(path, known)


def read_facts(spec: str) -> Facts:
    """The facts of a file."""
    table = _table(spec, FACTS)
    columns = table.chosen(dict.fromkeys(PARTS, ""), tuple(PARTS), names=PARTS)
    rows = []
    for row in table.rows:
        try:
            parts = (" ".join(as_text(row.cell(columns[key]), columns[key]).split()) for key in PARTS)
            rows.append(Fact(*parts))
        except BadRow as error:
            raise DataError(f"{table.name}:{row.number}: {error.problem}; fix: {error.fix}") from None
    if not rows:
        raise DataError(f"{table.name}: expected facts, got none")
    return Facts(tuple(dict.fromkeys(rows)))


def questions_in(source: str | Table) -> Iterator[str] | None:
    """The questions of a table or of its file; None: a file with a question on each line."""
    table = source if isinstance(source, Table) else tables.of_file(source, FORMATS)
    if table is None:
        return None
    column = table.chosen({"text": ""}, ("text",), names=COLUMNS)["text"]
    return (as_text(row.cell(column), column) for row in table.rows)
