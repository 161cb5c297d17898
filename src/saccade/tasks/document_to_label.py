"""Documents to labels: texts cut into sentences, batches whose rows are sentences, and pictures of both levels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.config import Positive
from saccade.data.batches import Integers
from saccade.data.documents import LabeledDocuments, document_batch, sentences
from saccade.errors import DataError
from saccade.tasks import text_to_label
from saccade.tasks.prediction import Prediction
from saccade.view.output.display_text import fit
from saccade.view.trace import Axis, Look, Scene

DATA = "texts"
TOKENS = "word"
WINDOW = 2000  # texts that are encoded together
SHORT = 24  # columns of the short form of a sentence

Ids = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Config(text_to_label.Config):
    """How texts become sentences and tokens, what words start from, and what counts as best."""

    sentence: Positive = 50
    "Tokens of a sentence at most; a longer one is read as several."
    sentences: Positive = 50
    "Sentences that are read of a text at most; what follows is not read."


class DocumentCorpus:
    """Encoded documents with their labels: of each the ids of all its words, and the lengths of its sentences.

    `longer` counts those of which not all is read.
    """

    def __init__(self, documents: list[tuple[Ids, Ids]], labels: Integers, longer: int) -> None:
        self.documents, self.labels, self.longer = documents, labels, longer
        self.lengths = np.array([len(ids) for ids, _ in documents], dtype=np.int64)

    def batch(self, indices: Any) -> LabeledDocuments:
        """The batch of these examples."""
        chosen = [self.documents[i] for i in indices]
        return document_batch(chosen, torch.from_numpy(self.labels[list(indices)]))


class Task(text_to_label.Task):
    """Everything around a model that reads a text sentence by sentence and says its label."""

    config: Config

    def encoded(self, texts: Sequence[str], labels: Integers) -> DocumentCorpus:
        """These texts, with the numbers of their labels."""
        windows = (texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW))
        found = [document for window in windows for document in self._documents(window)]
        return DocumentCorpus([(ids, sizes) for ids, sizes, _ in found], labels, sum(longer for *_, longer in found))

    def limit(self) -> str:
        """How long a text is at most that is read to its end."""
        return f"{super().limit()} or task.sentences={self.config.sentences} sentences"

    def _documents(self, texts: Sequence[str]) -> Iterator[tuple[Ids, Ids, bool]]:
        """Of each text the ids, the lengths of its sentences, and whether it goes on."""
        split = [sentences(text) for text in texts]
        rows = iter(self.tokenizer.encode_batch([sentence for own in split for sentence in own]))
        for own in split:
            whole = [next(rows) for _ in own]
            ids: list[int] = []
            sizes: list[int] = []
            for piece in self._cut(whole):
                ids += piece
                sizes.append(len(piece))
            yield np.array(ids, dtype=np.int32), np.array(sizes, dtype=np.int32), len(ids) < sum(map(len, whole))

    def _cut(self, rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Sentences no longer than they may be, as many as are read, within the longest text; none is empty."""
        size, left = self.config.sentence, self.config.longest
        pieces = [row[start : start + size] for row in rows for start in range(0, len(row), size)]
        kept: list[Sequence[Any]] = []
        for piece in pieces[: self.config.sentences]:
            kept.append(piece[:left])
            left -= len(kept[-1])
            if left <= 0:
                break
        return kept

    def own(self, looks: dict[str, Tensor], corpus: Any, index: int) -> dict[str, Tensor]:
        """Words (1, S, K), a row for each sentence with nothing beyond its own words, and sentences (1, 1, S)."""
        if not looks:
            return {}
        sizes = corpus.documents[index][1].tolist()
        seen = [looks["words"][:, place, :size] for place, size in enumerate(sizes)]
        words = looks["words"].new_zeros(1, len(sizes), sum(sizes))
        start = 0
        for place, (size, weights) in enumerate(zip(sizes, seen, strict=True)):
            words[:, place, start : start + size] = weights
            start += size
        return {"words": words, "sentences": looks["sentences"][..., : len(sizes)]}

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction for this text: how much each word was of its sentence, and that of the whole."""
        rows = self._cut([self.tokenizer.pieces(sentence) for sentence in sentences(text)])
        if not rows:
            raise DataError("there is nothing to look at: the text has no tokens")
        sides = {
            "text": Axis("words", [piece for row in rows for piece in row]),
            "sentences": Axis("sentences", [fit(" ".join(row), SHORT) for row in rows]),
        }
        return [
            Scene(
                f"{one.text}: {' '.join(text.split())}",
                {**sides, "label": Axis("label", one.labels)},
                [
                    Look("words", "sentences", "text", one.looks["words"].float().numpy()),
                    Look("sentences", "label", "sentences", one.looks["sentences"].float().numpy()),
                ],
                {"probability": float(np.exp(one.log_prob))},
            )
            for one in predictions
        ]
