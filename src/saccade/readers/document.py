"""Documents: texts read sentence by sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.config import Positive
from saccade.data.examples import Example
from saccade.data.tensors import DocumentInput
from saccade.data.tokenizers import unknown_places
from saccade.errors import DataError
from saccade.readers import words
from saccade.readers.sentence_splitting import sentences
from saccade.view.output.display_text import fit
from saccade.view.trace import Axis

WINDOW = 2000  # texts that are encoded together
SHORT = 24  # columns of the short form of a sentence

Ids = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Config(words.Config):
    """How texts become sentences and words."""

    max_sentence_length: Positive = 50
    "Maximum number of tokens of a sentence; a longer one is read as several."
    max_sentences: Positive = 50
    "Maximum number of sentences that are read of a text; what follows is not read."


class DocumentColumn:
    """Documents: of each the ids of all its words, and the lengths of its sentences; `longer` counts those cut short."""

    def __init__(self, documents: list[tuple[Ids, Ids]], longer: int) -> None:
        self.documents, self.longer = documents, longer
        self.lengths = np.array([len(ids) for ids, _ in documents], dtype=np.int64)

    def batch(self, indices: Any) -> DocumentInput:
        """The tensors of these documents."""
        documents = [self.documents[i] for i in indices]
        sizes = np.concatenate([own for _, own in documents]).astype(np.int64)
        rectangle = np.zeros((len(sizes), max(int(sizes.max(initial=0)), 1)), dtype=np.int64)
        rectangle[np.arange(rectangle.shape[1]) < sizes[:, None]] = np.concatenate([ids for ids, _ in documents])
        counts = [len(own) for _, own in documents]
        return DocumentInput(
            torch.from_numpy(rectangle), torch.from_numpy(sizes), torch.tensor(counts, dtype=torch.int64), max(counts)
        )


class Reader(words.Reader):
    """Encodes documents sentence by sentence."""

    config: Config

    def encode(self, inputs: Sequence[str]) -> DocumentColumn:
        windows = (inputs[start : start + WINDOW] for start in range(0, len(inputs), WINDOW))
        documents = [document for window in windows for document in self._documents(window)]
        return DocumentColumn([(ids, sizes) for ids, sizes, _ in documents], sum(longer for *_, longer in documents))

    def limit(self) -> str:
        return f"{super().limit()} or reader.max_sentences={self.config.max_sentences} sentences"

    def _documents(self, texts: Sequence[str]) -> Iterator[tuple[Ids, Ids, bool]]:
        """Of each text the ids, the lengths of its sentences, and whether it goes on."""
        split = [sentences(text) for text in texts]
        rows = iter(self.tokenizer.encode_batch([sentence for own in split for sentence in own]))
        for own in split:
            whole = [next(rows) for _ in own]
            ids: list[int] = []
            sizes: list[int] = []
            for piece in self._within(whole):
                ids += piece
                sizes.append(len(piece))
            yield np.array(ids, dtype=np.int32), np.array(sizes, dtype=np.int32), len(ids) < sum(map(len, whole))

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
