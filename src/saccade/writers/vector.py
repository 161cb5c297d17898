"""A vector for each text: the mean of its tokens' states, or the state of its class token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from saccade.attention import lengths
from saccade.data.examples import Example
from saccade.data.tensors import Batch
from saccade.errors import UsageError
from saccade.layers.pooling import mean
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.chances import Chances
from saccade.writers.writer import Loss, Options, Prediction, recording

POOLS = ("mean", "first")


@dataclass(frozen=True, kw_only=True)
class Config:
    """How the states of tokens become a vector."""

    pool: Literal["mean", "first"] = "mean"
    "mean: of all tokens, special ones included; first: the state of the class token, which is the first, of XLNet the last."
    normalized: bool = False
    "Whether a vector is divided by its length, so that dot products are cosines."
    pooler: bool = True
    "Whether the model has the dense layer over its first token that labels are made with."


class Writer(writer.Writer):
    """Makes vectors; nothing is trained for them."""

    VERB, PREDICTED = "embed", False
    config: Config

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("loss",)

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Any, reader: Any) -> "Writer":
        raise UsageError("task=vector: expected a task that is trained; use task=label, tags, span or masked")

    def sizes(self) -> dict[str, Any]:
        return {"pooler": self.config.pooler}

    def encode(self, examples: Sequence[Example]) -> None:
        return None

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            states = model.states(batch.input)
        looks = model.looks(batch.input, batch.input.lengths, recorded) if options.looks else []
        vectors = (
            mean(states, lengths(batch.input.lengths))
            if self.config.pool == "mean"
            else model.class_states(states, batch.input)
        )
        if self.config.normalized:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        rows = vectors.double().cpu().numpy()
        return [
            [Prediction(" ".join(f"{x:.6g}" for x in row), values=row, looks=[look.of(i) for look in looks])]
            for i, row in enumerate(rows)
        ]

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        ((made,),) = self.predict(model, batch, options, [1])
        return Chances(vector=made.values)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        raise UsageError("task=vector: expected a task with scores, got one that makes vectors; use saccade embed")

    def choose_by(self) -> Sequence[str]:
        return ["loss"]

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {}

    def title(self, example: Example, prediction: Prediction) -> str:
        return " ".join(str(example.input).split())

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {}
