"""Texts, or pairs of texts, between special tokens, as encoders that were pre-trained read them: [CLS] a [SEP] b [SEP]."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from saccade.config import Positive
from saccade.data import tokenizers
from saccade.data.examples import Example, Pair, Splits
from saccade.data.formats import pair_files, tagged_files
from saccade.data.formats.tables import Table
from saccade.data.tensors import PiecesInput, padded
from saccade.data.tokenizers import Tokenizer, unknown_places
from saccade.errors import DataError, UsageError
from saccade.readers import word_vectors
from saccade.readers.reader import Load, Note, require_text
from saccade.readers.text import places
from saccade.readers.tokenized import TokenizedReader
from saccade.view.trace import Axis

SPECIAL = 4  # most tokens that are put around and between two texts
SEPARATORS = (" ||| ", "\t")  # between two texts in what a person types

Ids = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become tokens."""

    max_length: Positive = 128
    "Maximum number of tokens that are read, special ones included; of two texts the longer one is cut first."
    double_separator: bool = False
    "Whether two separators stand between the texts of a pair, as RoBERTa has it, or one."
    class_last: bool = False
    "Whether the class token stands behind all others, in a segment of its own, as XLNet has it, or before them."
    vectors: str = ""
    "What token vectors start from: nothing, a file in word2vec's text format, or skip_gram: trained on the texts."
    vector_epochs: Positive = 5
    "Epochs of skip_gram."

    def __post_init__(self) -> None:
        if self.max_length <= SPECIAL:
            raise UsageError(f"max_length: expected more than the {SPECIAL} special tokens of a pair, got {self.max_length}")


def parted(text: Any) -> tuple[str, str | None]:
    """Both texts of a pair; of one text, it and None."""
    return (text.first, text.second) if isinstance(text, Pair) else (text, None)


def within(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of two texts are read: the longer one is cut until both fit, or are alike."""
    if first + second <= room:
        return first, second
    shorter = min(first, second, room // 2)
    return (shorter, room - shorter) if first <= second else (room - shorter, shorter)


@dataclass(frozen=True)
class PiecesRow:
    """The tokens of an example, how many of them belong to the first text, and how many behind both."""

    ids: Ids
    first: int
    behind: int = 0


class PiecesColumn:
    """Token ids of texts; `longer` counts those that are not read to their end."""

    def __init__(self, rows: Sequence[PiecesRow], texts: Sequence[Any], known: tokenizers.Vocabulary, longer: int) -> None:
        self.rows, self.texts, self.known, self.longer = rows, texts, known, longer
        self.lengths = np.array([len(row.ids) for row in rows], dtype=np.int64)

    def token_rows(self) -> list[Ids]:
        """The tokens of each text, or of both of a pair, special ones included."""
        return [row.ids for row in self.rows]

    def batch(self, indices: Any) -> PiecesInput:
        """The tensors of these texts."""
        chosen = [self.rows[i] for i in indices]
        return pieces_input(chosen, self.known, tuple(self.texts[i] for i in indices))


def pieces_input(rows: Sequence[PiecesRow], known: tokenizers.Vocabulary, texts: tuple[Any, ...] = ()) -> PiecesInput:
    """The tensors of these rows; asked about are the tokens to fill in."""
    tokens, lengths = padded([row.ids for row in rows], known.pad)
    live = torch.arange(tokens.shape[1]) < lengths[:, None]
    ends = torch.tensor([[[row.first], [len(row.ids) - row.behind]] for row in rows])
    segments = (live[:, None] & (torch.arange(tokens.shape[1]) >= ends)).sum(1)
    masked = live & (tokens == known.mask) if known.mask is not None else torch.zeros_like(live)
    asked, at = masked.nonzero(as_tuple=True)
    return PiecesInput(tokens, lengths, segments=segments, rows=asked, places=at, texts=texts)


class Reader(TokenizedReader):
    """Encodes texts and pairs by a tokenizer; what goes beyond the maximum is left unread."""

    INPUT, OWN = (str, Pair), "pair_files"
    FILLS: ClassVar[bool] = True
    "Whether the name of the mask token in a text is that token."
    LEARNED = ("vectors", "vector_epochs")
    budget = 8000
    config: Config

    def __init__(self, config: Any, tokenizer: Tokenizer) -> None:
        super().__init__(config, tokenizer)
        self.vocabulary = tokenizer.vocabulary
        self.mask = "" if self.vocabulary.mask is None else tokenizer.tokens()[self.vocabulary.mask]

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        own = (text for example in splits.train for text in parted(example.input) if text)
        return cls(config, tokenizers.train([*own, *texts], tokens, masked=True))

    def sizes(self) -> dict[str, Any]:
        return {"source": self.vocabulary, "max_length": self.config.max_length}

    def encode(self, inputs: Sequence[Any]) -> PiecesColumn:
        pairs = [parted(text) for text in inputs]
        firsts = self._ids([first for first, _ in pairs])
        seconds = self._ids([second or "" for _, second in pairs])
        rows, longer = [], 0
        for (_, there), first, second in zip(pairs, firsts, seconds, strict=True):
            rows.append(self.row(first, None if there is None else second))
            longer += len(rows[-1].ids) < len(first) + len(second) + self._special(there is not None)
        return PiecesColumn(rows, inputs, self.vocabulary, longer)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, with the mask token wherever it is named."""
        rows = self.tokenizer.encode_batch(texts)
        named = [i for i, text in enumerate(texts) if self.FILLS and self.mask and self.mask in text]
        for i in named:
            rows[i] = self._filled(texts[i], self.tokenizer.encode, self.vocabulary.mask)
        return rows

    def _filled(self, text: str, read: Callable[[str], Sequence[Any]], mask: Any) -> list[Any]:
        """What `read` makes of a text, with this for each mask token; the space before one belongs to what stands there."""
        *parts, last = text.split(self.mask)
        spelled = getattr(self.tokenizer, "kind", "") == "char"
        return [one for part in parts for one in (*read(part if spelled else part.rstrip()), mask)] + list(read(last))

    def _special(self, pair: bool) -> int:
        """How many special tokens stand around a text, or a pair."""
        return 2 + pair * (1 + self.config.double_separator)

    def room(self, *, pair: bool) -> int:
        """How many tokens of a text, or of both texts of a pair, are read."""
        return self.config.max_length - self._special(pair)

    def row(self, first: Ids, second: Ids | None) -> PiecesRow:
        """The tokens of an example between their special ones."""
        start, end = self.vocabulary.start, self.vocabulary.end
        sizes = len(first), 0 if second is None else len(second)
        one, other = within(*sizes, self.room(pair=second is not None))
        ids = [*[start] * self.lead, *first[:one], end]
        behind = 1 - self.lead
        rest = [] if second is None else [*[end] * self.config.double_separator, *second[:other], end]
        return PiecesRow([*ids, *rest, *[start] * behind], len(ids), behind)

    @property
    def lead(self) -> int:
        """How many special tokens stand before a text."""
        return 0 if self.config.class_last else 1

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, tuple | list) and len(typed) == 2:
            return Example(Pair(require_text(typed[0]), require_text(typed[1])))
        if isinstance(typed, Pair):
            return Example(typed)
        text = require_text(typed)
        for separator in SEPARATORS:
            first, there, second = text.partition(separator)
            if there:
                return Example(Pair(first, second))
        return Example(text) if text and not text.isspace() else None

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return tagged_files.inputs_of(source) or pair_files.inputs_of(source, column)

    def limit(self) -> str:
        """How long a text is at most that is read to its end."""
        return f"reader.max_length={self.config.max_length} tokens"

    def prepare(self, model: Any, splits: Splits, column: Any, note: Note) -> None:
        if getattr(column, "longer", 0):
            count = f"{column.longer:,} of {len(splits.train):,} texts are longer than {self.limit()}"
            note(f"{count}: the rest of them is not read")
        if self.config.vectors:
            word_vectors.start(model, self.tokenizer, self.config, column.token_rows, note)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        ids = self.encode([example.input]).rows[0].ids
        shown = self.tokenizer.labels(ids)
        for place, piece in self._placed_pieces(example.input):
            shown[place] = piece
        unknown = unknown_places(self.tokenizer, ids)
        return {"input": Axis(places(self.tokenizer), shown, unknown=unknown)}

    def _placed_pieces(self, text: Any) -> Iterator[tuple[int, str]]:
        """The pieces of a text, or of both of a pair, and at which token of its row each stands."""
        first, second = parted(text)
        read = [self._pieces(first), self._pieces(second or "")]
        sizes = within(len(read[0]), len(read[1]), self.room(pair=second is not None))
        starts = (self.lead, self.lead + sizes[0] + 1 + self.config.double_separator)
        for own, size, start in zip(read, sizes, starts, strict=True):
            yield from enumerate(own[:size], start)

    def _pieces(self, text: str) -> list[str]:
        filled = self.FILLS and bool(self.mask)
        return self._filled(text, self.tokenizer.pieces, self.mask) if filled else self.tokenizer.pieces(text)


def require_one(text: Any) -> str:
    """A text that is no pair."""
    if isinstance(text, Pair):
        raise DataError(f"expected one text, got a pair, {str(text)[:60]!r}; give one of them")
    return require_text(text)
