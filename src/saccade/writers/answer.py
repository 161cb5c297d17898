"""Answers to open questions: one of the most frequent of the training data; any other answer is one that nobody can give.

Where several people have answered, a target has a line for each of them: the most frequent answer is learned, and an answer
counts min(n / 3, 1) where n of them gave it (VQA accuracy, Antol et al. 2015).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from saccade.config import Count
from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, targets_of
from saccade.errors import DataError
from saccade.evaluation.labels import TINY
from saccade.readers.reader import Reader
from saccade.writers import label
from saccade.writers.label import UNKNOWN
from saccade.writers.writer import Floats, Loss, Prediction, parts_of

AGREE = 3  # people who make an answer right


@dataclass(frozen=True, kw_only=True)
class Config(label.Config):
    """Which answers can be given, and what the best checkpoint is chosen by."""

    metric: Literal["accuracy", "vqa_accuracy", "loss"] = "accuracy"  # type: ignore[assignment]
    "What the best checkpoint is chosen by: accuracy, vqa_accuracy (where several people have answered) or loss."
    max_answers: Count = 1000
    "How many answers can be given, the most frequent of the training data; 0: all. Examples of others teach nothing."


class Writer(label.Writer):
    """Knows the most frequent answers of the training data."""

    config: Config

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("accuracy", "vqa_accuracy", "loss", "known_answers")

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        return iter(())

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        counts = Counter(map(learned, targets_of(splits.train)))
        names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if name]
        names = names[: config.max_answers or len(names)]
        if len(names) < 2:
            raise DataError(f"expected at least 2 different answers in the training data, got {', '.join(names) or 'none'}")
        return cls(config, names)

    def check(self, example: Example) -> None:
        """No answer is refused: those that are not known are wrong."""

    def _labels(self, examples: Sequence[Example]) -> Iterator[Integers]:
        numbers = (self.numbers.get(learned(target), UNKNOWN) for target in targets_of(examples))
        yield np.fromiter(numbers, np.int64, len(examples))

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        truth = self.encode(examples).labels
        logs = np.log(np.maximum(np.array([one.values for one in predictions]), TINY))
        known, names = truth != UNKNOWN, ["accuracy", *(["vqa_accuracy"] if _several(examples) else [])]
        right = {name: self.outcomes(name, examples, predictions) for name in names}
        scores: dict[str, dict[str, float]] = {}
        for group, own in parts_of([example.group for example in examples]).items():
            means = {name: float(values[own].mean()) for name, values in right.items() if values is not None}
            seen = own[known[own]]
            losses = {"loss": float(-logs[seen, truth[seen]].mean())} if len(seen) else {}
            scores[group] = {"examples": len(own), **means, **losses, "known_answers": float(known[own].mean())}
        return scores

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        right = self.outcomes("accuracy", examples, predictions)
        assert right is not None
        return {"examples": len(right), "accuracy": float(right.mean())}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        pairs = [(one.target, prediction.text) for one, prediction in zip(examples, predictions, strict=True)]
        if name == "accuracy":
            return np.array([learned(target) == text for target, text in pairs], np.float64)
        if name == "vqa_accuracy":
            return np.array([min(target.split("\n").count(text) / AGREE, 1.0) for target, text in pairs], np.float64)
        return None

    def details(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Any]:
        whole = (self.encode(examples).labels != UNKNOWN).all()
        return super().details(examples, predictions) if whole else {}

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        known = ", ".join(dict.fromkeys(example.target.split("\n")))
        return {**super().notes(example, prediction), **({"known label": known} if known else {})}


def learned(target: str) -> str:
    """The answer that most people gave; among equals the first."""
    if "\n" not in target:
        return target
    return Counter(target.split("\n")).most_common(1)[0][0]


def _several(examples: Sequence[Example]) -> bool:
    """Whether several people have answered."""
    return any("\n" in target for target in targets_of(examples))
