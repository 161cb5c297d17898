"""Documents: texts read sentence by sentence."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch

from saccade.config import Positive
from saccade.data.examples import Example
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.token_rows import rows_of
from saccade.data.tensors import DocumentInput
from saccade.data.tokenizers import unknown_places
from saccade.errors import DataError
from saccade.readers import words
from saccade.readers.sentence_splitting import sentences
from saccade.view.output.display_text import fit
from saccade.view.trace import Axis

WINDOW = 2000  # texts that are encoded together
SHORT = 24  # columns of the short form of a sentence


@dataclass(frozen=True, kw_only=True)
class Config(words.Config):
    """How texts become sentences and words."""

    max_sentence_length: Positive = 50
    "Maximum number of tokens of a sentence; a longer one is read as several."
    max_sentences: Positive = 50
    "Maximum number of sentences that are read of a text; what follows is not read."


class DocumentColumn:
    """Documents, each in two rows: the ids of all its words; whether it is cut short, and the lengths of its sentences."""

    def __init__(self, rows: Ragged) -> None:
        self.rows = rows
        self.lengths = rows.lengths[::2]

    @cached_property
    def longer(self) -> int:
        """How many documents are cut short."""
        return int(self.rows.values[self.rows.starts[1::2]].sum())

    def batch(self, indices: Any) -> DocumentInput:
        """The tensors of these documents."""
        places = 2 * np.asarray(indices, dtype=np.int64)
        ids, _ = self.rows.together(places)
        values, numbers = self.rows.together(places + 1)
        sizes, counts = np.delete(values, np.cumsum(numbers) - numbers), numbers - 1
        rectangle = np.zeros((len(sizes), max(int(sizes.max(initial=0)), 1)), dtype=np.int64)
        rectangle[np.arange(rectangle.shape[1]) < sizes[:, None]] = ids
        return DocumentInput(
            torch.from_numpy(rectangle), torch.from_numpy(sizes), torch.from_numpy(counts), int(counts.max())
        )


class Reader(words.Reader):
    """Encodes documents sentence by sentence."""

    config: Config

    def encode(self, inputs: Sequence[str]) -> DocumentColumn:
        limits = (self.config.max_sentence_length, self.config.max_sentences, self.config.max_length)
        return DocumentColumn(rows_of(inputs, self.tokenizer, self._rows, "documents", *limits, limit=limits[0] + 1))

    def limit(self) -> str:
        return f"{super().limit()} or reader.max_sentences={self.config.max_sentences} sentences"

    def _rows(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """The two rows of each text."""
        windows = (texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW))
        return [row for window in windows for row in self._documents(window)]

    def _documents(self, texts: Sequence[str]) -> Iterator[Sequence[int]]:
        """Of each text the ids, then whether it goes on and the lengths of its sentences."""
        split = [sentences(text) for text in texts]
        rows = iter(self.tokenizer.encode_batch([sentence for own in split for sentence in own]))
        for own in split:
            whole = [next(rows) for _ in own]
            pieces = self._within(whole)
            ids = array("i", chain.from_iterable(pieces))  # of long texts a list would take much more memory
            yield ids
            yield array("i", [len(ids) < sum(map(len, whole)), *map(len, pieces)])

    def _within(self, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Sentences within the maximum length, as many as are read, within the maximum of the text; none is empty."""
        size, left = self.config.max_sentence_length, self.config.max_length
        pieces = [row[start : start + size] for row in rows for start in range(0, len(row), size)]
        kept: list[Sequence[Any]] = []
        for piece in pieces[: self.config.max_sentences]:
            kept.append(piece[:left])
            left -= len(kept[-1])
            if left <= 0:
                break
        return kept

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        own = sentences(example.input)
        rows, ids = (self._within(list(map(read, own))) for read in (self.tokenizer.pieces, self.tokenizer.encode))
        if not rows:
            raise DataError("there is nothing to look at: the text has no tokens")
        return {
            "input": Axis("words", list(chain(*rows)), unknown=unknown_places(self.tokenizer, list(chain(*ids)))),
            "sentences": Axis("sentences", [fit(" ".join(row), SHORT) for row in rows]),
        }
