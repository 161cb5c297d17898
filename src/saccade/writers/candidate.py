"""Candidates: one of all known answers, a word or name of the reader or a text of its own (Miller et al. 2016).

Where several are right, each on a line of the target, the first is learned and each counts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, targets_of
from saccade.writers import label
from saccade.writers.label import Config as Config
from saccade.writers.writer import Loss, Prediction


class Writer(label.Writer):
    """Knows the answers of the training data, or all that the data set names, and which of the reader's words each is."""

    def __init__(self, config: Any, names: Sequence[str], words: Sequence[int]) -> None:
        super().__init__(config, names)
        self.words = tuple(words)

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return (*label.Writer.metrics(config), "error")

    @classmethod
    def of(cls, config: Any, names: Sequence[str], reader: Any) -> Self:
        found = map(reader.word, names)
        return cls(config, names, [-1 if word is None else word for word in found])

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Splits) -> Iterable[str]:
        return dict.fromkeys(splits.labels or map(cls.learned, targets_of(splits.train)))

    @classmethod
    def named(cls, splits: Splits) -> Sequence[str]:
        return splits.labels

    @staticmethod
    def learned(target: str) -> str:
        return target.partition("\n")[0]

    def truth(self, examples: Sequence[Example], predicted: Integers) -> Integers:
        first = self.encode(examples).labels
        for place, example in enumerate(examples):
            if self.names[predicted[place]] in example.target.split("\n"):
                first[place] = predicted[place]
        return first

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        scores = super().score(examples, predictions, loss)
        return {name: {**part, "error": 1 - part["accuracy"]} for name, part in scores.items()}

    def sizes(self) -> dict[str, Any]:
        return {"answers": self.words}

    def strange(self, earlier: Any) -> set[str]:
        return {"answers"} if super().strange(earlier) else set()

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        known = example.target.replace("\n", " | ")
        return {**super().notes(Example(example.input), prediction), **({"known answer": known} if known else {})}
