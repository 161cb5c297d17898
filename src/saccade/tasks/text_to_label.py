"""Text to label: sentences to classes, reviews to stars. A tokenizer, batches, prediction and pictures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.config import Count, Positive
from saccade.data import tokenizers
from saccade.data.batches import Integers, cut
from saccade.data.examples import Pair, Splits
from saccade.data.spelling import Letters, Spelling
from saccade.data.text import LabeledTexts, padded
from saccade.data.tokenizers import Tokenizer
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.systems.system import Labeler, System
from saccade.tasks.labels import Labels, LabelTask, Metric
from saccade.tasks.lengths import bounds
from saccade.tasks.prediction import Prediction, at_line
from saccade.tasks.starting_vectors import start
from saccade.view.trace import Axis, Look, Scene

DATA = "texts"
TOKENS = "word"
WINDOW = 2000  # inputs that are sorted by length and read together


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become tokens, what words start from, and what counts as best."""

    longest: Positive = 1000
    "Tokens that are read of a text at most; what follows is not read."
    metric: Metric = "accuracy"
    "What the best checkpoint is chosen by: accuracy, macro_f1, auc or loss."
    vectors: str = ""
    "What words' vectors start from: nothing, a file in the text form of word2vec, or skip_gram: learned from the texts."
    vector_epochs: Positive = 5
    "Of skip_gram: how often the texts are read for the vectors."
    spelling: Count = 0
    """Runs of three to five letters that so many different words have in common get vectors, too, by which also words that
    were never seen are read; 0: none. For document_attention and atae_lstm."""


class TextCorpus:
    """Encoded texts with their labels and, if letters are read, their spelling; `longer` counts those that go on unread."""

    def __init__(
        self, sources: list[list[int]], labels: Integers, spelling: Spelling | None = None, longer: int = 0
    ) -> None:
        self.sources, self.labels, self.spelling, self.longer = sources, labels, spelling, longer
        self.lengths = np.array([len(source) for source in sources], dtype=np.int64)

    def batch(self, indices: Any) -> LabeledTexts:
        """The batch of these examples."""
        source, lengths = padded([self.sources[i] for i in indices])
        if source.shape[1] == 0:  # all are empty: layers expect a place, if only one of padding
            source = source.new_zeros(len(source), 1)
        spelled = self.spelling.batch(indices, source.shape[1]) if self.spelling else None
        return LabeledTexts(source, lengths, torch.from_numpy(self.labels[list(indices)]), spelled=spelled)


class Task(LabelTask):
    """Everything around a model that reads a text and says its label."""

    def __init__(self, config: Config, tokenizer: Tokenizer, labels: Labels, letters: Letters | None = None) -> None:
        super().__init__(labels, config.metric)
        self.config, self.tokenizer, self.letters = config, tokenizer, letters

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the tokenizer, the labels and, if asked for, the letters from the training data."""
        labels = Labels.of(splits)
        texts = cls.read(splits.train)
        tokenizer = tokenizers.train(texts, tokens)
        letters = Letters.of(map(tokenizer.pieces, texts), config.spelling) if config.spelling else None
        return cls(config, tokenizer, labels, letters)

    @staticmethod
    def read(pairs: Sequence[Pair]) -> list[str]:
        """The texts whose words are learned."""
        return [pair.source for pair in pairs]

    def save(self, run: Path) -> None:
        """Write them into the run."""
        self.tokenizer.save(run / "tokenizer.json")
        self.labels.save(run)
        if self.letters is not None:
            self.letters.save(run)

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        letters = Letters.load(run) if config.spelling else None
        return cls(config, Tokenizer.load(run / "tokenizer.json"), Labels.load(run), letters)

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        letters = {} if self.letters is None else {"runs": len(self.letters)}
        return {"source_size": self.tokenizer.size, "labels": len(self.labels.names), **letters}

    def corpus(self, pairs: Sequence[Pair]) -> Any:
        """The texts as tokens."""
        return self.encoded([pair.source for pair in pairs], self.labels.numbers(pairs))

    def encoded(self, texts: Sequence[str], labels: Integers) -> Any:
        """These texts, with the numbers of their labels."""
        rows, longer = self.cut(self.tokenizer.encode_batch(texts))
        return TextCorpus(rows, labels, self.spelled(map(self.tokenizer.pieces, texts)), longer)

    def cut(self, rows: list[list[int]]) -> tuple[list[list[int]], int]:
        """What is read of these texts, and how many of them go on."""
        longest = self.config.longest
        return [row[:longest] for row in rows], sum(len(row) > longest for row in rows)

    def spelled(self, texts: Iterable[Sequence[str]]) -> Spelling | None:
        """How the words of these texts are written, if letters are read."""
        return None if self.letters is None else Spelling(texts, self.letters)

    def check(self, text: str) -> None:
        """Refuse what is no input; any text is one."""

    def limit(self) -> str:
        """How long a text is at most that is read to its end."""
        return f"task.longest={self.config.longest} tokens"

    def begin(self, model: System, splits: Splits, corpus: Any) -> None:
        """Tell of texts that are too long and of letters; give words the vectors that they start from, if asked for."""
        if corpus.longer:
            count = f"{corpus.longer:,} of {len(splits.train):,} texts are longer than {self.limit()}"
            self.note(f"{count}: the rest of them is not read")
        if self.letters is not None:
            told = f"{len(self.letters):,} runs of letters that at least {self.config.spelling} words have in common"
            self.note(f"spelling: {told}{'' if self.letters.known else '; a smaller task.spelling finds some'}")
        if self.config.vectors:
            start(model, self.tokenizer, self.config, self.read(splits.train), self.note)

    def predict(
        self,
        model: Labeler,
        texts: Iterable[str],
        search_config: SearchConfig,
        *,
        looks: bool = False,
        groups: Sequence[str] = ("",),
    ) -> Iterator[list[Prediction]]:
        """The most probable labels of each text, `n_best` of them, in the order of the texts."""
        left, first = iter(texts), 1
        while window := list(islice(left, WINDOW)):
            for number, text in enumerate(window, first):
                with at_line(number):
                    self.check(text)
            first += len(window)
            corpus = self.encoded(window, np.zeros(len(window), dtype=np.int64))
            found: dict[int, list[Prediction]] = {}
            order = np.argsort(corpus.lengths, kind="stable").tolist()
            for chosen in cut(order, corpus.lengths.tolist(), self.BUDGET):
                with torch.inference_mode():
                    batch = corpus.batch(chosen)
                    logs = model.eval()(batch).log_softmax(-1)
                    seen = model.glance(batch) if looks else {}
                for place, i in enumerate(chosen):
                    own = self.own({name: weights[place] for name, weights in seen.items()}, corpus, i)
                    found[i] = self.ranked(logs[place], own, search_config.n_best)
            yield from (found[i] for i in range(len(window)))

    def own(self, looks: dict[str, Tensor], corpus: Any, index: int) -> dict[str, Tensor]:
        """The looks of one text without those at padding."""
        return {name: weights[..., : corpus.lengths[index]] for name, weights in looks.items()}

    def by_length(self, pairs: Sequence[Pair], texts: Sequence[str]) -> list[dict[str, float]]:
        """Accuracy for texts of about the same number of words: from, to, how many, score."""
        words = [len(pair.source.split()) for pair in pairs]
        right = [pair.target == text for pair, text in zip(pairs, texts, strict=True)]
        found: list[dict[str, float]] = []
        for low, high in bounds(words):
            chosen = [i for i, count in enumerate(words) if low <= count <= high]
            share = sum(right[i] for i in chosen) / len(chosen)
            found.append({"shortest": low, "longest": high, "examples": len(chosen), "accuracy": share})
        return found

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction for this text: how much of it each word was."""
        pieces = self.tokenizer.pieces(text)[: self.config.longest]
        if not pieces:
            raise DataError("there is nothing to look at: the text has no tokens")
        return [
            Scene(
                f"{one.text}: {text}",
                {"text": Axis("words", pieces), "label": Axis("label", one.labels)},
                [Look(name, "label", "text", weights.float().numpy()) for name, weights in one.looks.items()],
                {"probability": float(np.exp(one.log_prob))},
            )
            for one in predictions
        ]
