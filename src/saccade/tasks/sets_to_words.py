"""Sets to words: some words of a set, and the words that belong to it, ranked among all there are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from saccade.data import tokenizers
from saccade.data.batches import Integers, cut
from saccade.data.examples import Pair, Splits
from saccade.data.sets import SetBatch, alike, set_batch
from saccade.data.tokenizers import UNKNOWN, Tokenizer
from saccade.errors import DataError
from saccade.evaluation.ranks import chance_scores, rank_of, rank_scores
from saccade.search import Config as SearchConfig
from saccade.tasks.plain import PlainTask
from saccade.tasks.prediction import Prediction
from saccade.view.trace import Axis, Look, Scene

DATA = "texts"
TOKENS = "word"
WITHIN = (10, 100)  # first places among which a word counts as found
SHOWN = 20  # words of a picture


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as best."""

    metric: Literal["mrr", "recall_10", "recall_100"] = "mrr"
    "What the best checkpoint is chosen by: mrr, the mean reciprocal rank, or the share found among the first 10 or 100."


class WordCorpus:
    """Sets of words, and the word that is held out of each."""

    def __init__(self, items: list[Integers], targets: Integers) -> None:
        self.items, self.targets = items, targets
        self.sizes = np.array([len(row) for row in items], dtype=np.int64)
        self.lengths = alike(self.sizes)

    def batch(self, indices: Any) -> SetBatch:
        """The batch of these sets."""
        return set_batch([self.items[i] for i in indices], self.targets[list(indices)])


class Task(PlainTask):
    """Everything around a model that ranks the words that belong to a set."""

    parts = ("by frequency", "by chance")

    def __init__(self, config: Config, tokenizer: Tokenizer) -> None:
        self.config, self.tokenizer = config, tokenizer

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores of ranks."""
        return ("examples", "mrr", *(f"recall_{within}" for within in WITHIN))

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the words from the training data."""
        return cls(config, tokenizers.train([f"{pair.source} {pair.target}" for pair in splits.train], tokens))

    def save(self, run: Path) -> None:
        """Write them into the run."""
        self.tokenizer.save(run / "tokenizer.json")

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        return cls(config, Tokenizer.load(run / "tokenizer.json"))

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        return {"words": self.tokenizer.size}

    def corpus(self, pairs: Sequence[Pair]) -> WordCorpus:
        """The sets as numbers; words that were not learned are left out of them."""
        targets = self.tokenizer.encode_batch([pair.target for pair in pairs])
        found = [row[0] if len(row) == 1 else UNKNOWN for row in targets]
        return WordCorpus(self._rows([pair.source for pair in pairs]), np.array(found, dtype=np.int64))

    def _rows(self, texts: Sequence[str]) -> list[Integers]:
        rows = self.tokenizer.encode_batch(texts)
        return [np.array([word for word in row if word > UNKNOWN], dtype=np.int64) for row in rows]

    def ranking(self, model: Any, corpus: WordCorpus) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Each set's number, and the score of every word: -inf for the given ones and for what is none."""
        order = np.argsort(corpus.sizes, kind="stable").tolist()
        for chosen in cut(order, np.maximum(corpus.sizes, 1).tolist(), self.BUDGET // 10):
            with torch.inference_mode():
                scores = model.eval()(corpus.batch(chosen)).numpy().copy()
            scores[:, : UNKNOWN + 1] = -np.inf
            for i, own in zip(chosen, scores, strict=True):
                own[corpus.items[i]] = -np.inf
                yield i, own

    def answers(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The word that belongs most."""
        corpus = self.corpus(examples)
        best = {i: int(scores.argmax()) for i, scores in self.ranking(model, corpus)}
        return [self._word(best[i]) for i in range(len(best))]

    def _word(self, number: int) -> str:
        return self.tokenizer.decode([number])

    def evaluate(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """How far in front the held-out words stand; and how far if words were ranked by frequency, or by chance."""
        if len(examples) == 0:
            raise DataError("expected examples to be judged on, got none")
        corpus = self.corpus(examples)
        own, frequent = np.full(len(examples), np.inf), np.full(len(examples), np.inf)
        falling = -np.arange(self.tokenizer.size, dtype=np.float64)  # the tokenizer numbers words by their frequency
        for done, (i, scores) in enumerate(self.ranking(model, corpus), 1):
            target = int(corpus.targets[i])
            if target > UNKNOWN:
                own[i] = rank_of(scores, target)
                frequent[i] = rank_of(np.where(np.isfinite(scores), falling, -np.inf), target)
            tick(done)
        known, words = float((corpus.targets > UNKNOWN).mean()), self.tokenizer.size - UNKNOWN - 1
        return {
            "all": rank_scores(own, WITHIN),
            "by frequency": rank_scores(frequent, WITHIN),
            "by chance": chance_scores(len(examples), words, known, WITHIN),
        }

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better."""
        return [scores["all"][self.config.metric]]

    def answer(self, model: Any, text: str, count: int, *, looks: bool) -> list[Prediction]:
        """The words that belong most to those on a line."""
        corpus = WordCorpus(self._rows([text]), np.zeros(1, dtype=np.int64))
        ((_, scores),) = self.ranking(model, corpus)
        logs, words = torch.from_numpy(scores).double().log_softmax(-1).sort(descending=True, stable=True)
        words = words[logs.isfinite()]  # neither the given words nor what is none
        with torch.inference_mode():
            seen = model.glance(corpus.batch([0])) if looks else {}
        shown = words[:SHOWN]
        own = {name: weights[0, shown].reshape(1, 1, -1) for name, weights in seen.items()}
        labels = [self._word(word) for word in shown.tolist()]
        return [
            Prediction(self._word(word), log, True, labels, own)
            for word, log in zip(words[:count].tolist(), logs.tolist(), strict=False)
        ]

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of the words that belong most, and how much of the look each gets; one for all predictions."""
        one = predictions[0]
        return [
            Scene(
                f"{text} + {one.text}",
                {"set": Axis("set", [text]), "words": Axis("words", one.labels)},
                [Look(name, "set", "words", weights.float().numpy()) for name, weights in one.looks.items()],
            )
        ]
