"""Binary vectors, one for each point of the input at which one is expected (Graves et al. 2014, section 4)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.data.examples import Example, Splits
from saccade.data.tensors import Batch, BitsTarget
from saccade.errors import DataError
from saccade.evaluation.significance import Score, mean_of
from saccade.readers.bits import BLANK
from saccade.readers.reader import Reader
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.writer import Floats, Loss, Options, Prediction, parts_of, recording


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the best checkpoint is chosen by."""

    metric: Literal["bits_per_sequence", "bit_error", "exact_match"] = "bits_per_sequence"
    "Cross-entropy of a whole answer in bits, the share of wrong bits, or the share of answers without a wrong bit."


class VectorsColumn:
    """The bits of each answer, and the points of its sequence at which they stand."""

    lengths = np.zeros(0, dtype=np.int64)

    def __init__(self, answers: Sequence[NDArray[np.float32]], points: Sequence[NDArray[np.bool_]]) -> None:
        self.answers, self.points = answers, points

    def batch(self, indices: Any) -> BitsTarget:
        """The tensors of these answers."""
        chosen = list(indices)
        longest = max(len(self.points[i]) for i in chosen)
        asked = np.zeros((len(chosen), longest), bool)
        for row, i in enumerate(chosen):
            asked[row, : len(self.points[i])] = self.points[i]
        answers = np.concatenate([self.answers[i] for i in chosen])
        bits = np.zeros((*asked.shape, answers.shape[1]), np.float32)
        bits[asked] = answers
        return BitsTarget(torch.from_numpy(bits), torch.from_numpy(asked))


class Writer(writer.Writer):
    """Writes bits that are more likely than not."""

    config: Config

    def __init__(self, config: Any, bits: int) -> None:
        super().__init__(config)
        self.bits = bits

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("bits_per_sequence", "bit_error", "exact_match")

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        return cls.load(config, Path(), reader)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> "Writer":
        return cls(config, reader.sizes()["bits"])

    def check(self, example: Example) -> None:
        words, blanks = example.target.split(), example.input.split().count(BLANK)
        if len(words) != blanks:
            raise DataError(f"expected an answer of {blanks} vectors, one for each point, got {len(words)}")
        for word in words:
            if len(word) != self.bits or {*word} - {"0", "1"}:
                raise DataError(f"expected answers of {self.bits} bits, got {word!r}")

    def encode(self, examples: Sequence[Example]) -> VectorsColumn:
        for _, problem in self.flaws(examples):
            raise DataError(problem)
        points = [np.array([word == BLANK for word in example.input.split()]) for example in examples]
        return VectorsColumn([_bits(example.target, self.bits) for example in examples], points)

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            logits = model.vectors(batch.input)
        looks = model.looks(batch.input, logits, recorded) if options.looks else []
        chances, blanks = logits.double().sigmoid().cpu().numpy(), batch.input.blanks.cpu().numpy()
        return [
            [self._prediction(rows[asked], [look.of(i) for look in looks])]
            for i, (rows, asked) in enumerate(zip(chances, blanks, strict=True))
        ]

    def _prediction(self, chances: Floats, looks: Sequence[Any]) -> Prediction:
        words = ["".join("01"[int(bit > 0.5)] for bit in row) for row in chances]
        likely = np.maximum(chances, 1 - chances).prod(-1)
        log_prob = float(np.log(np.maximum(likely, 1e-300)).sum())
        return Prediction(" ".join(words), log_prob, tokens=words, looks=looks, values=chances, token_probabilities=likely)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        means = {name: self._mean(name, examples, predictions) for name in self.metrics(self.config)}
        groups = parts_of([example.group for example in examples])
        return {
            group: {"examples": len(own)} | {name: mean(own) for name, mean in means.items()}
            for group, own in groups.items()
        }

    def _mean(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score:
        """A metric of some examples; wrong bits are counted among all bits, not among those of each answer."""
        sizes = np.array([len(example.target.split()) for example in examples], np.float64)
        return mean_of(self._each(name, examples, predictions), sizes if name == "bit_error" else None)

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        return None if name == "bit_error" else self._each(name, examples, predictions)

    def whole(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score | None:
        return self._mean(name, examples, predictions)

    def _each(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats:
        pairs = [(_bits(one.target, self.bits), _known(other)) for one, other in zip(examples, predictions, strict=True)]
        if name == "bits_per_sequence":
            return np.array([_cost(bits, chances) for bits, chances in pairs])
        wrong = [np.asarray((chances > 0.5) != (bits > 0.5)) for bits, chances in pairs]
        return np.array([one.mean() if name == "bit_error" else not one.any() for one in wrong], np.float64)

    def choose_by(self) -> Sequence[str]:
        return [self.config.metric]

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        error = self._mean("bit_error", examples, predictions)(np.arange(len(examples)))
        return {"examples": len(examples), "bit_error": error}

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": Axis("vectors", prediction.tokens)}

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {"known answer": example.target} if example.target else {}


def _bits(text: str, width: int) -> NDArray[np.float32]:
    """Words of zeros and ones as rows of numbers."""
    rows = [[bit == "1" for bit in word] for word in text.split()]
    return np.array(rows, np.float32).reshape(len(rows), width)


def _known(prediction: Prediction) -> Floats:
    assert prediction.values is not None
    return prediction.values


def _cost(bits: NDArray[np.float32], chances: Floats) -> float:
    """−Σ log₂ p of the right bits."""
    right = np.where(bits > 0.5, chances, 1 - chances)
    return float(-np.log2(np.maximum(right, 1e-300)).sum() + 0.0) if math.isfinite(right.sum()) else math.inf
