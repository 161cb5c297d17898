"""Texts, whole: sentences to translate, dates to normalize."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.config import Positive
from saccade.data import tokenizers
from saccade.data.examples import Example, Splits, inputs_of, place
from saccade.data.formats import text_files
from saccade.data.formats.tables import Table
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.text_parts import TextParts
from saccade.data.stored.token_rows import rows_of
from saccade.data.tensors import TextInput, filled
from saccade.errors import DataError
from saccade.readers.reader import Load, require_text
from saccade.readers.tokenized import TokenizedReader
from saccade.view.trace import Axis

PLACES = {"char": "characters", "word": "words"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become tokens."""

    max_length: Positive = 1000
    "Maximum number of tokens of an input; a longer one is refused, or read in pieces by `saccade translate`."
    append_end: bool = False
    "Whether an input ends with the end token, as a target does; models of Marian are trained so."


class TextColumn:
    """Token ids of texts; of inputs that are read in pieces, `owners` says which input each row is of."""

    def __init__(self, rows: Ragged, pad: int, owners: Sequence[int] | None = None) -> None:
        self.rows, self.pad = rows, pad
        self.owners: Sequence[int] = range(len(rows)) if owners is None else owners
        self.lengths = rows.lengths

    def batch(self, indices: Any) -> TextInput:
        """The tensors of these texts."""
        return TextInput(*filled(*self.rows.together(indices), self.pad))


class Reader(TokenizedReader):
    """Encodes texts by a tokenizer."""

    INPUT, OWN = str, "text_files"
    budget = 8000
    config: Config

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        return cls(config, tokenizers.train(TextParts(inputs_of(splits.train), texts), tokens))

    def sizes(self) -> dict[str, Any]:
        return {"source": self.tokenizer.vocabulary}

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        for index, length in self.encode(inputs_of(examples)).rows.outside(1, self.config.max_length):
            try:
                if not length:
                    raise DataError("expected a source, got a text without tokens; leave it out")
                self.require_length(length)
            except DataError as error:
                yield index, f"{place(examples[index], index + 1)}: {error}"

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        return self._ended(self.tokenizer.encode_batch(["" if text.isspace() else text for text in texts]))

    def _ended(self, rows: list[list[int]]) -> list[list[int]]:
        """With the end token, if the model reads it; a text without tokens stays so."""
        return [[*row, self.tokenizer.vocabulary.end] if row else row for row in rows] if self.config.append_end else rows

    def require_length(self, length: int) -> None:
        """Refuse a text that is too long."""
        most = self.config.max_length
        if length > most:
            raise DataError(f"{length} tokens, at most {most} expected; shorten it, or set reader.max_length")

    def encode(self, inputs: Sequence[str]) -> TextColumn:
        rows = rows_of(inputs, self.tokenizer, self._rows, self.config.append_end)
        return TextColumn(rows, self.tokenizer.vocabulary.pad)

    def encode_in_pieces(self, inputs: Sequence[str]) -> TextColumn:
        """As `encode`, but what is too long is cut into pieces of about the same length."""
        rows = self.tokenizer.encode_batch(["" if text.isspace() else text for text in inputs])
        parts, owners = pieces(rows, self.config.max_length)
        return TextColumn(Ragged.of(self._ended(parts)), self.tokenizer.vocabulary.pad, owners)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        text = require_text(typed)
        return Example(text) if text and not text.isspace() else None

    def check(self, example: Example) -> None:
        self.require_length(len(self.tokenizer.encode(example.input)))

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return text_files.inputs_of(source, column)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        end = self.tokenizer.labels([self.tokenizer.vocabulary.end]) if self.config.append_end else []
        unknown = tokenizers.unknown_places(self.tokenizer, self.tokenizer.encode(example.input))
        return {"input": Axis(places(self.tokenizer), [*self.tokenizer.pieces(example.input), *end], unknown=unknown)}


def places(tokenizer: tokenizers.Tokenizer) -> str:
    """What the tokens of a tokenizer are called."""
    return PLACES.get(getattr(tokenizer, "kind", ""), "pieces")


def pieces(rows: Sequence[list[int]], longest: int) -> tuple[list[list[int]], list[int]]:
    """Rows cut where they are too long, into pieces of about the same length, and the number of the row of each piece."""
    parts: list[list[int]] = []
    owners: list[int] = []
    for number, row in enumerate(rows):
        size = math.ceil(len(row) / max(1, math.ceil(len(row) / longest))) or 1
        own = [row[first : first + size] for first in range(0, len(row), size)] or [[]]
        parts += own
        owners += [number] * len(own)
    return parts, owners
