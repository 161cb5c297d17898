"""The words of texts, up to a maximum: sentences and reviews to classify."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from saccade.config import Count, Positive
from saccade.data import tokenizers
from saccade.data.examples import Example, Splits, inputs_of
from saccade.data.formats import text_files
from saccade.data.formats.tables import Table
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.text_parts import TextParts
from saccade.data.stored.token_rows import rows_of
from saccade.data.tensors import WordsInput, filled
from saccade.data.tokenizers import LearnedTokenizer, unknown_places
from saccade.errors import DataError
from saccade.readers import reader
from saccade.readers.reader import Load, Note, require_text
from saccade.readers.spelling import Letters, Spelling
from saccade.readers.tokenized import FILE
from saccade.readers.word_vectors import start
from saccade.view.trace import Axis


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many words are read, and what their vectors start from."""

    max_length: Positive = 1000
    "Maximum number of tokens that are read of a text; what follows is not read."
    vectors: str = ""
    "What word vectors start from: nothing, a file in word2vec's text format, or skip_gram: trained on the texts."
    vector_epochs: Positive = 5
    "Epochs of skip_gram."
    spelling: Count = 0
    """Character n-grams of three to five letters that so many different words share get vectors, too, by which unknown words
    are read; 0: none. For document_attention and atae_lstm."""


class WordsColumn:
    """Words of texts and, if letters are read, their spelling; `longer` counts texts that are not read to their end."""

    def __init__(self, rows: Ragged, spelling: Spelling | None = None, longer: int = 0) -> None:
        self.rows, self.spelling, self.longer = rows, spelling, longer
        self.lengths = rows.lengths

    def batch(self, indices: Any) -> WordsInput:
        """The tensors of these texts."""
        tokens, lengths = self.wide(*filled(*self.rows.together(indices)))
        return WordsInput(tokens, lengths, spelling=self.spelled(self.spelling, indices, tokens))

    @staticmethod
    def wide(numbers: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """If all rows are empty, one place of padding, which layers expect."""
        return numbers if numbers.shape[1] else numbers.new_zeros(len(numbers), 1), lengths

    @staticmethod
    def spelled(spelling: Spelling | None, indices: Any, tokens: torch.Tensor) -> torch.Tensor | None:
        """The letters of these tokens."""
        return None if spelling is None else spelling.batch(indices, tokens.shape[1])


class Reader(reader.Reader):
    """Encodes words by a tokenizer; what goes beyond the maximum is left unread."""

    INPUT, OWN, TOKENIZED = str, "text_files", True
    LEARNED = ("vectors", "vector_epochs")
    config: Config

    def __init__(self, config: Any, tokenizer: LearnedTokenizer, letters: Letters | None = None) -> None:
        super().__init__(config)
        self.tokenizer, self.letters = tokenizer, letters

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        known = cls.texts(splits.train)
        tokenizer = tokenizers.train(TextParts(known, texts), tokens)
        return cls(config, tokenizer, cls._letters(config, tokenizer, known))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        if config.spelling == earlier.config.spelling:
            return cls(config, earlier.tokenizer, earlier.letters)
        return cls(config, earlier.tokenizer, cls._letters(config, earlier.tokenizer, cls.texts(splits.train)))

    @staticmethod
    def _letters(config: Any, tokenizer: LearnedTokenizer, texts: Sequence[str]) -> Letters | None:
        return Letters.of(map(tokenizer.pieces, texts), config.spelling) if config.spelling else None

    def strange(self, earlier: Any) -> set[str]:
        tokens = {"source"} if self.tokenizer is not getattr(earlier, "tokenizer", None) else set()
        return tokens | ({"ngrams"} if self.letters is not getattr(earlier, "letters", None) else set())

    @classmethod
    def texts(cls, examples: Sequence[Example]) -> Sequence[str]:
        """The texts whose words are learned."""
        return inputs_of(examples)

    def save(self, directory: Path) -> None:
        self.tokenizer.save(directory / FILE)
        if self.letters is not None:
            self.letters.save(directory)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        letters = Letters.load(directory) if config.spelling else None
        return cls(config, LearnedTokenizer.load(directory / FILE), letters)

    def sizes(self) -> dict[str, Any]:
        letters = {} if self.letters is None else {"ngrams": len(self.letters)}
        return {"source": self.tokenizer.vocabulary, **letters}

    def encode(self, inputs: Sequence[str]) -> Any:
        rows, longer = self.cut(rows_of(inputs, self.tokenizer, self.tokenizer.encode_batch))
        return WordsColumn(rows, self.spelled(inputs), longer)

    def cut(self, rows: Ragged) -> tuple[Ragged, int]:
        """What is read of these texts, and how many of them go on."""
        most = self.config.max_length
        return rows.cut(most), sum(1 for _ in rows.outside(0, most))

    def spelled(self, texts: Sequence[str]) -> Spelling | None:
        """How the words of these texts are written, if letters are read."""
        return None if self.letters is None else Spelling.of(texts, self.tokenizer, self.letters)

    def limit(self) -> str:
        """How long a text is at most that is read to its end."""
        return f"reader.max_length={self.config.max_length} tokens"

    def prepare(self, model: Any, splits: Splits, column: Any, note: Note) -> None:
        if column.longer:
            count = f"{column.longer:,} of {len(splits.train):,} texts are longer than {self.limit()}"
            note(f"{count}: the rest of them is not read")
        if self.letters is not None:
            about = f"{len(self.letters):,} groups of letters that at least {self.config.spelling} words share"
            fix = "" if self.letters.known else "; a smaller reader.spelling finds some"
            note(f"words are also read by their spelling: {about}{fix}")
        if self.config.vectors:
            texts = self.texts(splits.train)
            start(model, self.tokenizer, self.config, lambda: self.tokenizer.encode_batch(texts), note)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        example = Example(require_text(typed))
        self.check(example)
        return example

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return text_files.inputs_of(source, column)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        pieces = self.tokenizer.pieces(example.input)[: self.config.max_length]
        if not pieces:
            raise DataError("there is nothing to look at: the text has no tokens")
        unknown = unknown_places(self.tokenizer, self.tokenizer.encode(example.input)[: len(pieces)])
        return {"input": Axis("words", pieces, unknown=unknown)}
