"""One word of the whole vocabulary, ranked among all: the words that belong to a set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from saccade.data.examples import Example
from saccade.data.tensors import Batch
from saccade.data.tokenizers import Tokenizer
from saccade.evaluation.ranks import chance_scores, rank_of, rank_scores
from saccade.view.trace import Axis, Look
from saccade.writers import writer
from saccade.writers.label import LabelColumn
from saccade.writers.writer import Floats, Loss, Options, Prediction

WITHIN = (10, 100)  # first ranks among which a word counts as found
SHOWN = 20  # words of a picture


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the best checkpoint is chosen by."""

    metric: Literal["mrr", "recall_10", "recall_100"] = "mrr"
    "mrr, the mean reciprocal rank, or the share of words that are found among the first 10 or 100."


class Writer(writer.ReaderTokens):
    """Ranks the reader's words; those that were given, and special tokens, are left out."""

    parts = ("by frequency", "by chance")
    config: Config

    def __init__(self, config: Any, tokenizer: Tokenizer) -> None:
        super().__init__(config)
        self.tokenizer = tokenizer
        self.specials = list(tokenizer.vocabulary.special)

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("mrr", *(f"recall_{within}" for within in WITHIN))

    def encode(self, examples: Sequence[Example]) -> LabelColumn:
        unknown = self.tokenizer.vocabulary.unknown
        rows = self.tokenizer.encode_batch([example.target for example in examples])
        return LabelColumn(np.array([row[0] if len(row) == 1 else unknown for row in rows], dtype=np.int64))

    def budget(self, budget: int, options: Options) -> int:
        return budget // 2

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        scores = model.scores(batch.input).cpu().clone()
        looks = model.looks(batch.input, scores, {}) if options.looks else []
        scores[:, self.specials] = -torch.inf
        for row, given in zip(scores, batch.input.items.cpu().split(batch.input.sizes.tolist()), strict=True):
            row[given] = -torch.inf
        if batch.target is not None and not looks:  # the ranks are all that is wanted
            best, targets = scores.argmax(1).tolist(), batch.target.labels.tolist()
            rows = zip(best, targets, scores.numpy(), strict=True)
            return [[Prediction(self._word(word), values=self._ranks(row, target))] for word, target, row in rows]
        return [self._ranked(scores[i], [look.of(i) for look in looks], options) for i in range(len(scores))]

    def _ranks(self, scores: Any, target: int) -> Any:
        """The rank of the target by its score, and by how frequent it is; infinite where it is unknown."""
        if target in self.specials:
            return np.full(2, np.inf)
        falling = -np.arange(self.tokenizer.size, dtype=np.float64)  # the tokenizer numbers words by their frequency
        return np.array([rank_of(scores, target), rank_of(np.where(np.isfinite(scores), falling, -np.inf), target)])

    def _ranked(self, scores: Any, looks: Sequence[Look], options: Options) -> list[Prediction]:
        logs, words = scores.double().log_softmax(-1).sort(descending=True, stable=True)
        words = words[logs.isfinite()]
        shown = words[:SHOWN]
        names = [self._word(word) for word in shown.tolist()] if looks else []
        own = [Look(look.name, look.queries, look.keys, look.weights[..., shown.numpy()]) for look in looks]
        best = zip(words[: options.search.n_best].tolist(), logs.tolist(), strict=False)
        return [Prediction(self._word(word), log, tokens=names, looks=own) for word, log in best]

    def _word(self, number: int) -> str:
        return self.tokenizer.decode([number])

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        ranks = np.array([prediction.values for prediction in predictions], dtype=np.float64).reshape(-1, 2)
        known = np.isfinite(ranks[:, 0])
        words = self.tokenizer.size - len(self.specials)
        return {
            "all": rank_scores(ranks[:, 0], WITHIN),
            "by frequency": rank_scores(ranks[:, 1], WITHIN),
            "by chance": chance_scores(len(examples), words, float(known.mean()), WITHIN),
        }

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        ranks = np.array([prediction.values for prediction in predictions], dtype=np.float64).reshape(-1, 2)[:, 0]
        within = {f"recall_{count}": count for count in WITHIN}
        if name in within:
            return (ranks <= within[name]).astype(np.float64)
        return 1 / ranks if name == "mrr" else None

    def choose_by(self) -> Sequence[str]:
        return [self.config.metric]

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": Axis("words", prediction.tokens), "set": Axis("set", ["the set"])}

    def shown(self, predictions: Sequence[Prediction]) -> Sequence[Prediction]:
        return predictions[:1]  # one picture shows all

    def title(self, example: Example, prediction: Prediction) -> str:
        return f"{example.input} + {prediction.text}"

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {}
