"""Stories with questions and their answers, from your own files.

    data.train=my.jsonl   {"story": ["Mary is in the garden.", …], "question": "Where is Mary?", "answer": "garden"}
    data.train=my.txt     as bAbI is published: statements, and questions with a TAB and their answers

`supporting` lists the statements from which an answer follows, counted from 1; it may be left out, as may in a text file the
numbers of the lines: then an empty line ends a story.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade.data.examples import Example, Splits, Story
from saccade.data.formats import own_files
from saccade.data.formats.own_files import OwnFiles, suffix
from saccade.errors import DataError, UsageError

INPUT, TARGET = Story, str
OWN = "data.train=my.jsonl"
FORMATS = "my.jsonl with story, question and answer, or my.txt as bAbI is published"
NUMBERED = re.compile(r"(\d+) (.*)")
END = "?"


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the stories are."""


def load(config: Config) -> Splits:
    """The questions of all files."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    # Questions on one story are held out together: an answer to one may give another away.
    return config.splits(
        lambda spec: read(spec, config),
        lambda one: "".join(one.input.statements[:1]).encode("utf-8", "replace"),
        every_label=True,
    )


def read(spec: str, config: Config) -> list[Example]:
    """The questions of one file, each with its answer."""
    path = Path(os.path.expanduser(spec))
    records = suffix(path) == ".jsonl"
    examples = list(records_of(spec) if records else of_lines(own_files.text(path, FORMATS).splitlines(), str(path)))
    for example in examples:
        if not example.target:
            raise DataError(f"{example.where()}: expected a question with a TAB and its answer, got no answer; add it")
    return examples


def records_of(spec: str) -> Iterator[Example]:
    """The questions of a file with an object on each line."""
    path = Path(os.path.expanduser(spec))
    for number, line in enumerate(own_files.text(path, FORMATS).splitlines(), 1):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError:
                raise DataError(
                    f"{path}:{number}: expected JSON, got {line[:40]!r}; write one object on each line"
                ) from None
            yield of_record(record, f"{path}:{number}", str(path), number)


def of_record(record: Any, where: str, name: str = "", number: int = 0) -> Example:
    """The example of one object."""
    known = record if isinstance(record, Mapping) else {}
    story, question, answer = (known.get(key, "" if key == "answer" else None) for key in ("story", "question", "answer"))
    if (
        not isinstance(story, list | tuple)
        or not all(isinstance(one, str) for one in story)
        or not isinstance(question, str)
    ):
        raise DataError(f"{where}: expected story, a list of texts, and question, a text, got {str(record)[:60]!r}")
    supporting = known.get("supporting", [])
    if not isinstance(supporting, list | tuple) or any(one not in range(1, len(story) + 1) for one in supporting):
        raise DataError(f"{where}: supporting: expected numbers from 1 to {len(story)}, got {supporting!r}")
    statements = tuple(" ".join(one.split()) for one in story)
    found = Story(statements, " ".join(question.split()), tuple(one - 1 for one in supporting))
    return Example(found, str(answer).strip(), name=found.question, files=(name,) if name else (), number=number)


@dataclass
class _Telling:
    """A story as far as it has been told: its statements, and which line each is."""

    statements: list[str] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    count: int = 0
    questions: int = 0

    def add(self, number: int, text: str) -> None:
        """One more statement."""
        self.places[number] = len(self.statements)
        self.statements.append(text)

    def require_question(self, name: str, row: int) -> None:
        """Refuse a story that asks nothing."""
        if self.statements and not self.questions:
            where, last = f"{name}:{row}" if name else f"line {row}", self.statements[-1][:40]
            raise DataError(f"{where}: expected a question after {last!r}, got the end of the story; end it with {END!r}")

    def asked(self, fields: list[str], where: str) -> Story:
        """A question about all of them."""
        self.questions += 1
        facts = fields[2].split() if len(fields) > 2 else []
        if any(not fact.isdigit() or int(fact) not in self.places for fact in facts):
            raise DataError(f"{where}: expected numbers of earlier statements of this story, got {fields[2]!r}")
        return Story(tuple(self.statements), fields[0].strip(), tuple(self.places[int(fact)] for fact in facts))


def of_lines(lines: Iterable[str], name: str = "") -> Iterator[Example]:
    """Each question with the statements before it, and its answer behind a TAB, if there is one.

    A number 1 or an empty line begins a new story; a line with a TAB or a question mark at its end is a question.
    """
    telling = _Telling()
    row = 0
    for row, line in enumerate(lines, 1):
        match = NUMBERED.fullmatch(line.strip(" "))
        number, text = (int(match[1]), match[2]) if match else (telling.count + 1, line.strip(" "))
        if not text.strip() or number == 1:
            telling.require_question(name, row - 1)
            telling = _Telling()
        if not text.strip():
            continue
        telling.count = number
        fields = text.split("\t")
        if len(fields) == 1 and not text.endswith(END):
            telling.add(number, text)
            continue
        story = telling.asked(fields, f"{name}:{row}" if name else f"line {row}")
        files = (name,) if name else ()
        yield Example(story, "".join(fields[1:2]).strip(), name=story.question, files=files, number=row)
    telling.require_question(name, row)
