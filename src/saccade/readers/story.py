"""Stories: statements one after the other, and a question about them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from saccade import records
from saccade.config import Positive
from saccade.data import imported, tokenizers
from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, Story
from saccade.data.formats.own_files import suffix
from saccade.data.formats.story_files import of_lines, of_record, records_of
from saccade.data.formats.tables import Table
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import StoryInput
from saccade.data.tokenizers import Tokenizer
from saccade.errors import DataError, UsageError
from saccade.readers.reader import Load, numbered
from saccade.readers.sentence_splitting import sentences
from saccade.readers.tokenized import FILE, TokenizedReader
from saccade.view.trace import Axis

MEMORY = "memory.json"


@dataclass(frozen=True, kw_only=True)
class Config:
    """How much of a story is remembered."""

    max_statements: Positive = 50
    """Maximum number of statements that are read of a story, the last ones before the question; where the stories of the
    training data are shorter, no more than the longest of them has."""


class StoryColumn:
    """Each text once, as ids in a row of a rectangle; of each story the texts of its statements and of its question."""

    def __init__(self, texts: Ragged, stories: Ragged, questions: Integers) -> None:
        self.sizes_of_texts = np.asarray(texts.lengths, dtype=np.int64)
        self.rectangle = np.zeros((len(texts), max(int(self.sizes_of_texts.max(initial=0)), 1)), dtype=np.int64)
        self.rectangle[np.arange(self.rectangle.shape[1]) < self.sizes_of_texts[:, None]] = texts.values
        self.stories, self.questions = stories, questions
        self.lengths = np.asarray(stories.lengths, dtype=np.int64) + 1

    def batch(self, indices: Any) -> StoryInput:
        """The tensors of these stories."""
        rows = np.asarray(indices, dtype=np.int64)
        statements, counts = self.stories.together(rows)
        texts = np.concatenate((statements, self.questions[rows]))
        sizes = self.sizes_of_texts[texts]
        tokens = self.rectangle[texts, : max(int(sizes.max(initial=0)), 1)]
        return StoryInput(
            tokens=torch.from_numpy(tokens),
            lengths=torch.from_numpy(sizes),
            counts=torch.from_numpy(counts),
            most=int(counts.max(initial=0)),
        )


class Reader(TokenizedReader):
    """Encodes statements and questions by one tokenizer."""

    INPUT, OWN = Story, "story_files"
    LEARNED = ("max_statements",)
    TYPED, unit, budget = "test#0", "statements", 20_000
    config: Config

    def __init__(self, config: Any, tokenizer: Tokenizer, statements: int) -> None:
        super().__init__(config, tokenizer)
        self.statements = statements

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        known = dict.fromkeys(bare(text) for example in splits.train for text in texts_of(example.input))
        longest = max(len(example.input.statements) for example in splits.train)
        return cls(config, tokenizers.train([*known, *texts], tokens), min(config.max_statements, max(longest, 1)))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: Any) -> Self:
        return cls(config, earlier.tokenizer, earlier.statements)

    def save(self, directory: Path) -> None:
        super().save(directory)
        records.save(directory / MEMORY, {"statements": self.statements})

    @classmethod
    def load(cls, config: Any, directory: Path) -> Self:
        known = records.load(directory / MEMORY)
        if not (isinstance(known, dict) and isinstance(known.get("statements"), int) and known["statements"] > 0):
            raise records.unreadable(directory / MEMORY, "expected how many statements a memory holds")
        return cls(config, imported.load(directory / FILE), known["statements"])

    def sizes(self) -> dict[str, Any]:
        return {"source": self.tokenizer.vocabulary, "statements": self.statements}

    def word(self, text: str) -> int | None:
        """The number of a text that is one known word."""
        ids = self.tokenizer.encode(text)
        return ids[0] if len(ids) == 1 and ids[0] != self.tokenizer.vocabulary.unknown else None

    def read(self, story: Story) -> tuple[str, ...]:
        """The statements that are read."""
        return story.statements[-self.statements :]

    def encode(self, inputs: Sequence[Story]) -> StoryColumn:
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(text, len(numbers)) for text in self.read(story)] for story in inputs]
        questions = [numbers.setdefault(story.question, len(numbers)) for story in inputs]
        texts = Ragged.of(self.tokenizer.encode_batch(list(map(bare, numbers))))
        return StoryColumn(texts, Ragged.of(rows), np.array(questions, dtype=np.int64))

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if (known := numbered(typed, splits)) is not None:
            return known
        if isinstance(typed, Example | Story):
            return typed if isinstance(typed, Example) else Example(typed, name=typed.question)
        if isinstance(typed, Mapping):
            return of_record(typed, "story")
        if not isinstance(typed, str):
            raise UsageError(f"expected a story as text or as a record, got {type(typed).__name__}")
        return _told(typed) if typed.strip() else None

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        if isinstance(source, str) and suffix(Path(source)) == ".jsonl":
            return records_of(source)
        return None

    def gathered(self, lines: Iterable[str]) -> Iterator[Any]:
        """Statements and questions as they come: each question is an input."""
        return of_lines(lines)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        story = example.input
        if not story.statements:
            raise DataError("there is nothing to look at: the story has no statements")
        read = self.read(story)
        first = len(story.statements) - len(read)
        marked = [place - first for place in sorted({*story.supporting}) if place >= first]
        return {"input": Axis("statements", list(read), marked=marked)}


def texts_of(story: Story) -> tuple[str, ...]:
    """All that a tokenizer learns from."""
    return (*story.statements, story.question)


def bare(text: str) -> str:
    """A sentence without the mark at its end, which says nothing here."""
    return text.rstrip(" .?!")


def _told(text: str) -> Example:
    """A story in one text: on lines, as a record, or as sentences, of which the last is the question."""
    if text.lstrip().startswith("{"):
        try:
            return of_record(json.loads(text), "story")
        except ValueError:
            raise DataError(f"expected a story, got {text[:40]!r}, which is no JSON") from None
    lines = text.splitlines() if "\n" in text.strip() else sentences(text)
    asked = list(of_lines(lines))
    if len(asked) > 1:
        raise UsageError(f"expected a story with one question, got {len(asked)}; give a list, a story for each question")
    return asked[0]
