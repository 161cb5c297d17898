"""Text to text: sentences to sentences, dates to dates. Tokenizers, batches, prediction, scores and pictures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from saccade.config import Positive
from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.data.text import TextBatch, padded, text_batch
from saccade.data.tokenizers import END, UNKNOWN, Tokenizer
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.search import Hypothesis, search
from saccade.systems.system import System
from saccade.view.trace import Look, Scene, Side

# Inputs that are sorted by length and searched together; and source tokens of one batch, padding included.
WINDOW, BATCH_TOKENS = 2000, 8000
PLACES = {"char": "characters", "word": "words", "bpe": "pieces"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become tokens, and what counts as right."""

    shared: bool = False
    "One tokenizer for both sides."
    longest: Positive = 1000
    "Most tokens of a text; a longer one is refused."
    metric: Literal["exact", "loss"] = "exact"
    "What the best checkpoint is chosen by: share of texts that are exactly right, or loss per token."


@dataclass(frozen=True)
class Prediction:
    """One text for one input: what was written, how likely, and where was looked."""

    text: str
    log_prob: float
    finished: bool
    labels: list[str]
    looks: dict[str, Tensor]


class TextCorpus:
    """Encoded pairs."""

    def __init__(self, sources: list[list[int]], targets: list[list[int]]) -> None:
        self.sources, self.targets = sources, targets
        sizes = [(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        self.lengths = np.array(sizes, dtype=np.int64).reshape(-1, 2)

    def batch(self, indices: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]]) -> TextBatch:
        """The batch of these examples."""
        return text_batch([self.sources[i] for i in indices], [self.targets[i] for i in indices])


class Task:
    """Everything around a model that reads and writes text."""

    def __init__(self, config: Config, source: Tokenizer, target: Tokenizer) -> None:
        self.config, self.source, self.target = config, source, target

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the tokenizers from the training data."""
        sources, targets = [pair.source for pair in splits.train], [pair.target for pair in splits.train]
        if config.shared:
            both = tokenizers.train([*sources, *targets], tokens)
            return cls(config, both, both)
        return cls(config, tokenizers.train(sources, tokens), tokenizers.train(targets, tokens))

    def save(self, run: Path) -> None:
        """Write the tokenizers into the run."""
        if self.config.shared:
            self.source.save(run / "tokenizer.json")
        else:
            self.source.save(run / "source.tokenizer.json")
            self.target.save(run / "target.tokenizer.json")

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        if config.shared:
            both = Tokenizer.load(run / "tokenizer.json")
            return cls(config, both, both)
        return cls(config, Tokenizer.load(run / "source.tokenizer.json"), Tokenizer.load(run / "target.tokenizer.json"))

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        return {"source_size": self.source.size, "target_size": self.target.size}

    def corpus(self, pairs: Sequence[Pair]) -> TextCorpus:
        """The pairs as tokens; a target ends with END."""
        sources = self.source.encode_batch([pair.source for pair in pairs])
        targets = [[*row, END] for row in self.target.encode_batch([pair.target for pair in pairs])]
        for number, row in enumerate(zip(sources, targets, strict=True), 1):
            if not row[0]:
                raise DataError(f"example {number}: expected a source, got a text without tokens; leave it out")
            self._check(max(map(len, row)), f"example {number}")
        return TextCorpus(sources, targets)

    def _check(self, length: int, where: str) -> None:
        if length > self.config.longest:
            raise DataError(
                f"{where}: {length} tokens, at most {self.config.longest} expected; shorten it, or set task.longest"
            )

    def predict(
        self, model: Any, texts: Iterable[str], search_config: SearchConfig, *, looks: bool = False
    ) -> Iterator[list[Prediction]]:
        """The best texts for each input, in the order of the inputs; an empty input gives an empty text."""
        first, left = 0, iter(texts)
        while window := list(islice(left, WINDOW)):
            yield from self._window(model, window, first, search_config, looks)
            first += len(window)

    def _window(self, model: Any, texts: list[str], first: int, config: SearchConfig, looks: bool) -> list[list[Prediction]]:
        rows = self.source.encode_batch(texts)
        for number, row in enumerate(rows, first + 1):
            self._check(len(row), f"line {number}")
        found = [[Prediction("", 0.0, True, [], {})] for _ in rows]
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        for chosen in _cut(order, rows):
            source, lengths = padded([rows[i] for i in chosen])
            with torch.inference_mode():
                memory = model.eval().read(source, lengths)
            positions = [first + i for i in chosen]
            for i, best in zip(
                chosen, search(model, memory, config, inputs=len(chosen), looks=looks, positions=positions), strict=True
            ):
                found[i] = [self._told(hypothesis, len(rows[i])) for hypothesis in best]
        return found

    def _told(self, hypothesis: Hypothesis, length: int) -> Prediction:
        labels = self.target.labels([*hypothesis.tokens, END] if hypothesis.finished else hypothesis.tokens)
        looks = {name: weights[..., :length] for name, weights in hypothesis.looks.items()}
        return Prediction(self.target.decode(hypothesis.tokens), hypothesis.log_prob, hypothesis.finished, labels, looks)

    def evaluate(
        self, model: System, pairs: Sequence[Pair], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all pairs ("all") and of each group: how many, exactly right, and loss per token."""
        if not pairs:
            raise DataError("expected examples to be judged on, got none")
        corpus, right = self.corpus(pairs), []
        answers = self.predict(model, (pair.source for pair in pairs), config)
        for row, best in zip(corpus.targets, answers, strict=True):
            # What the target's tokens spell: words may be spaced and cased otherwise than the text was.
            right.append(bool(best) and UNKNOWN not in row and best[0].text == self.target.decode(row))
            tick(len(right))
        parts = []
        for name in sorted({pair.group for pair in pairs}):
            chosen = [i for i, pair in enumerate(pairs) if pair.group == name]
            loss, tokens = _loss(model, corpus, chosen)
            parts.append((name, len(chosen), sum(right[i] for i in chosen), loss, tokens))
        whole = ("all", *(sum(column) for column in list(zip(*parts, strict=True))[1:]))
        parts = [whole, *(part for part in parts if part[0] not in ("", "all"))]
        return {
            name: {"examples": examples, "exact": exact / examples, "loss": loss / tokens}
            for name, examples, exact, loss, tokens in parts
        }

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better: the metric, and among equals the loss."""
        whole = scores["all"]
        return [whole["exact"], -whole["loss"]] if self.config.metric == "exact" else [-whole["loss"]]

    def loss(self, model: System, pairs: Sequence[Pair]) -> tuple[float, int]:
        """−log p of all targets together, and the number of their tokens, END included."""
        return _loss(model, self.corpus(pairs), range(len(pairs)))

    def scenes(self, text: str, predictions: Sequence[Prediction], kind: str) -> list[Scene]:
        """A picture of each prediction for this text."""
        sides = {"source": Side(PLACES[kind], self.source.pieces(text))}
        return [
            Scene(
                f"{text} → {prediction.text}",
                {**sides, "target": Side(PLACES[kind], prediction.labels)},
                [Look(name, "target", "source", weights.numpy()) for name, weights in prediction.looks.items()],
                {"log_prob": prediction.log_prob},
            )
            for prediction in predictions
        ]


def _loss(model: System, corpus: TextCorpus, chosen: Sequence[int]) -> tuple[float, int]:
    """−log p of the targets of these examples together, and the number of their tokens."""
    order = sorted(chosen, key=lambda i: (len(corpus.sources[i]), len(corpus.targets[i])))
    total, tokens = 0.0, 0
    model.eval()
    for indices in _cut(order, corpus.sources):
        batch = corpus.batch(indices)
        with torch.inference_mode():
            total += float(model.loss(batch))
        tokens += batch.tokens
    return total, tokens


def _cut(order: list[int], rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Batches of inputs sorted by length, each within the budget."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * len(rows[i]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
