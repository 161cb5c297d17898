"""One item of a set, such as the one that does not belong; in the data it is marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from saccade.data.examples import Bag, Example
from saccade.data.tensors import Batch
from saccade.errors import DataError
from saccade.evaluation.ranks import choice_scores
from saccade.view.output.display_text import percent
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.label import LabelColumn
from saccade.writers.writer import Floats, Loss, Options, Prediction, probable, ranked_predictions, recording


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the best checkpoint is chosen by."""

    metric: Literal["accuracy", "loss"] = "accuracy"
    "What the best checkpoint is chosen by: accuracy or loss."


class Writer(writer.Writer):
    """Ranks the items of each set by their scores."""

    config: Config

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("accuracy", "chance", "loss")

    def check(self, example: Example) -> None:
        bag: Bag = example.input
        marked = 0 if bag.marks is None else int((bag.marks != 0).sum())
        if marked != 1 or len(bag.items) < 2:
            problem = f"expected at least 2 items, one of them marked, got {len(bag.items)} with {marked} marked"
            raise DataError(f"set {example.name!r}: {problem}; mark the item to predict by a 1 in the column mark")

    def encode(self, examples: Sequence[Example]) -> LabelColumn:
        for _, problem in self.flaws(examples):
            raise DataError(problem)
        return LabelColumn(np.array([_marked(example) for example in examples], dtype=np.int64))

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            scores = model.scores(batch.input)
        looks = model.looks(batch.input, scores, recorded) if options.looks else []
        rows = scores.cpu().split(batch.input.sizes.tolist())
        return [
            ranked_predictions(str, row.log_softmax(0), options.search.n_best, row.numpy(), [look.of(i) for look in looks])
            for i, row in enumerate(rows)
        ]

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        truth = np.array([_marked(example) for example in examples], dtype=np.int64)
        total, count, _ = loss(range(len(examples)))
        values = [one.values for one in predictions if one.values is not None]
        return {"all": {**choice_scores(truth, values), "loss": total / max(1, count)}}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        predicted = [int(one.values.argmax()) for one in predictions if one.values is not None]
        right = [_marked(example) == place for example, place in zip(examples, predicted, strict=True)]
        return np.array(right, np.float64) if name == "accuracy" else None

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": probable("item", prediction)}

    def title(self, example: Example, prediction: Prediction) -> str:
        return f"{example.name}: {prediction.text}"

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        known = {} if _marked(example) is None else {"marked item": f"{_marked(example)} *"}
        return {"probability": percent(prediction.probability), **known}


def _marked(example: Example) -> int | None:
    """The index of the marked item, if there is one."""
    marks = example.input.marks
    return None if marks is None or not marks.any() else int(marks.argmax())
