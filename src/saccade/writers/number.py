"""Numbers: one for each example."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from saccade import records
from saccade.data.examples import Bag, Example, Splits, place
from saccade.data.tensors import Batch, NumberTarget
from saccade.errors import DataError
from saccade.evaluation.numbers import Floats, number_scores
from saccade.readers.reader import Reader
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.writer import Loss, Options, Prediction, parts_of, recording

FILE = "numbers.json"
MOST_DIGITS = 6  # after the point


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the best checkpoint is chosen by."""

    metric: Literal["exact_match", "mae"] = "exact_match"
    "exact_match, the share of numbers that are right when rounded; or mae, the mean absolute error."


@dataclass(frozen=True)
class NumberScale:
    """How large the training numbers are, and how many digits follow the point.

    They are divided by their size and not centered: a sum that starts from 0 is found much sooner than one that does not.
    """

    size: float
    digits: int

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "NumberScale":
        """That of the training numbers."""
        values = numbers(examples)
        digits = max(len(example.target.strip().lower().partition("e")[0].partition(".")[2]) for example in examples)
        return cls(float(np.sqrt((values**2).mean())) or 1.0, min(digits, MOST_DIGITS))

    def text(self, value: float) -> str:
        """A number as it is written."""
        return f"{round(value, self.digits) + 0.0:.{self.digits}f}"  # + 0.0: there is no negative nothing


def numbers(examples: Sequence[Example]) -> Floats:
    """The number of each example."""
    values = np.empty(len(examples))
    for index, example in enumerate(examples):
        values[index] = number(example, f"{place(example, index + 1)}: ")
    return values


def number(example: Example, where: str = "") -> float:
    """The target as a number."""
    try:
        value = float(example.target)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}expected a number as target, got {example.target[:40]!r}; mend it")
    return value


class NumberColumn:
    """Scaled numbers."""

    lengths = np.zeros(0, dtype=np.int64)

    def __init__(self, values: Floats) -> None:
        self.values = values.astype(np.float32)

    def batch(self, indices: Any) -> NumberTarget:
        """The tensors of these numbers."""
        return NumberTarget(torch.from_numpy(self.values[list(indices)]))


class Writer(writer.Writer):
    """Scales numbers, and rounds them to the digits of the training data."""

    config: Config

    def __init__(self, config: Any, scale: NumberScale) -> None:
        super().__init__(config)
        self.scale = scale

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("exact_match", "mae")

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        return cls(config, NumberScale.of(splits.train))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Reader, earlier: "Writer") -> "Writer":
        return cls(config, replace(NumberScale.of(splits.train), size=earlier.scale.size))

    def save(self, directory: Path) -> None:
        records.save(directory / FILE, asdict(self.scale))

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> "Writer":
        try:
            return cls(config, NumberScale(**records.load(directory / FILE)))
        except TypeError as error:
            raise records.unreadable(directory / FILE, error) from None

    def check(self, example: Example) -> None:
        number(example)

    def encode(self, examples: Sequence[Example]) -> NumberColumn:
        return NumberColumn(numbers(examples) / self.scale.size)

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            output = model.numbers(batch.input)
        looks = model.looks(batch.input, output, recorded) if options.looks else []
        values = output.double().cpu().numpy() * self.scale.size
        return [
            [Prediction(text, tokens=[text], looks=[look.of(i) for look in looks], values=np.array(value))]
            for i, value in enumerate(values)
            for text in [self.scale.text(float(value))]
        ]

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        truth, predicted = (
            numbers(examples),
            np.array([float(one.values if one.values is not None else one.text) for one in predictions]),
        )
        groups = [example.group for example in examples]
        parts = parts_of(groups)  # groups in the order in which they appear
        order = ["all", *dict.fromkeys(group for group in groups if group not in ("", "all"))]
        return {name: number_scores(truth[parts[name]], predicted[parts[name]], self.scale.digits) for name in order}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        truth, digits = numbers(examples), self.scale.digits
        predicted = np.array([float(one.values if one.values is not None else one.text) for one in predictions])
        if name == "exact_match":
            return np.asarray(predicted.round(digits) == truth.round(digits), np.float64)
        return np.asarray(np.abs(predicted - truth)) if name == "mae" else None

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        return number_scores(numbers(examples), np.array([float(one.text) for one in predictions]), self.scale.digits)

    def choose_by(self) -> Sequence[str]:
        return ["mae"] if self.config.metric == "mae" else ["exact_match", "mae"]

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        if all(isinstance(example.input, Bag) for example in examples):
            return [len(example.input.items) for example in examples]
        return super().lengths(examples)

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": Axis("number", prediction.tokens)}

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {"known number": example.target} if example.target else {}
