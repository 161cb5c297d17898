"""Labels: one of several classes for each example."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray

from saccade import records
from saccade.config import Amount, Share
from saccade.data.batches import Integers
from saccade.data.examples import Bag, Example, Splits, in_order, place, targets_of
from saccade.data.formats.graph_files import GraphData
from saccade.data.stored.preparations import prepared
from saccade.data.stored.ragged import MANY, mapped
from saccade.data.stored.stored_examples import StoredTexts
from saccade.data.tensors import Batch, LabelTarget
from saccade.errors import DataError, UnknownName, UsageError
from saccade.evaluation.labels import LABEL_SCORES, auc, confusion, label_scores
from saccade.evaluation.significance import Score
from saccade.readers.reader import Reader
from saccade.writers import writer
from saccade.writers.chances import Chances, OutputSlot
from saccade.writers.writer import Floats, Loss, Options, Prediction, parts_of, ranked_predictions, recording

FILE, NUMBERS = "labels.json", "labels.bin"
UNKNOWN = -100  # the number of a label that nobody knows, which torch's losses leave out
MANY_TEXTS = 20  # labels that occur once, from which on they may be texts
TEXTS = "most labels occur once, as texts do: for those train transformer or bahdanau, or name another column as label"
PARTS = (  # of the data, what each is called, and what else to do about a label that is only there
    ("valid", "the validation data (held out, or data.valid)", "name other data.valid, or set data.held_out=0"),
    ("test", "the test data (data.test)", "or name other data.test"),
)
NODES = (  # of one graph, whose parts are a column
    ("valid", "the validation data", "or mend the column split"),
    ("test", "the test data", "or mend the column split"),
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is optimized, and what the best checkpoint is chosen by."""

    metric: Literal["accuracy", "macro_f1", "auc", "loss"] = "accuracy"
    "What the best checkpoint is chosen by: accuracy, macro_f1, auc or loss."
    label_smoothing: Share = 0.0
    "Share of the target probability that is spread over all labels in training."
    agreement: Amount = 0.0
    "R-Drop (Liang et al. 2021): weight of the divergence between two passes with different dropout; 0: one pass."
    class_weight: Literal["none", "balanced"] = "none"
    "balanced: examples count in the loss by the inverse of how frequent their label is; none: all alike."
    balanced_batches: bool = False
    "Whether examples of rarer labels are repeated in each epoch until every label has as many as the most frequent one."

    def __post_init__(self) -> None:
        if self.balanced_batches and self.class_weight == "balanced":
            raise UsageError(
                "balanced_batches: with writer.class_weight=balanced rare labels count twice over; leave one out"
            )


class LabelColumn:
    """The label of each example by its number."""

    lengths = np.zeros(0, dtype=np.int64)

    def __init__(self, labels: Integers, config: Config | None = None, classes: int = 0) -> None:
        self.labels, self.config = labels, config or Config()
        known = labels[labels != UNKNOWN]
        counts = np.bincount(known, minlength=classes) if classes else np.zeros(0, dtype=np.int64)
        self.weights: torch.Tensor | None = None
        self.order: Integers | None = None if len(known) == len(labels) else np.flatnonzero(labels != UNKNOWN)
        "What an epoch reads, where that is not each example once."
        if self.config.class_weight == "balanced":
            self.weights = torch.from_numpy((len(known) / (classes * np.maximum(counts, 1))).astype(np.float32))
        if self.config.balanced_batches:
            own = [np.resize(np.flatnonzero(labels == label), counts.max()) for label in np.flatnonzero(counts)]
            self.order = np.concatenate(own)

    def batch(self, indices: Any) -> LabelTarget:
        """The tensors of these labels."""
        labels = torch.from_numpy(self.labels[list(indices)])
        return LabelTarget(labels, self.config.label_smoothing, self.config.agreement, self.weights)


class Writer(writer.Writer):
    """Knows the labels of the training data."""

    config: Config

    def __init__(self, config: Any, names: Sequence[str]) -> None:
        super().__init__(config)
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(names)}

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return (*LABEL_SCORES, "instance_auc")

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> Self:
        labels = {*map(cls.learned, targets_of(splits.train))}
        for _, _, problem in cls.unfit(splits):
            raise DataError(problem)
        names = splits.labels or in_order(labels)
        if len(names) < 2:
            raise DataError(f"expected at least 2 different labels in the training data, got {', '.join(labels) or 'none'}")
        return cls.of(config, names, reader)

    @classmethod
    def of(cls, config: Any, names: Sequence[str], reader: Any) -> Self:
        """A writer of these labels, beside this reader."""
        return cls(config, names)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Reader, earlier: "Writer") -> Self:
        own = cls.fit(config, tokens, splits, reader)
        return cls.of(config, earlier.names, reader) if {*own.names} == {*earlier.names} else own

    def strange(self, earlier: Any) -> set[str]:
        return {"labels"} if self.names != getattr(earlier, "names", None) else set()

    @staticmethod
    def learned(target: str) -> str:
        """The label of a target."""
        return target

    def truth(self, examples: Sequence[Example], predicted: Integers) -> Integers:
        """The numbers of the right labels, where these were predicted."""
        return self.encode(examples).labels

    @classmethod
    def named(cls, splits: Splits) -> Sequence[str]:
        """Labels that examples may have although no training example has them."""
        return ()

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        counts = Counter(map(cls.learned, targets_of(splits.train)))
        once = sum(count == 1 for count in counts.values())
        known, texts = {*counts, *cls.named(splits)}, once >= MANY_TEXTS and once > len(splits.train) / 2
        for part, data, fix in NODES if isinstance(splits.shared, GraphData) else PARTS:
            for index, example in enumerate(getattr(splits, part)):
                if cls.learned(example.target) not in known:
                    where = f"label {example.target!r} is in {data}, but in no training example"
                    fixes = TEXTS if texts else f"add other examples of it (equal ones stay together), {fix}"
                    yield part, index, f"{place(example, index + 1)}: {where}; {fixes}"

    def save(self, directory: Path) -> None:
        records.save(directory / FILE, self.names)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> Self:
        names = records.load(directory / FILE)
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise records.unreadable(directory / FILE, "expected a list of texts")
        return cls.of(config, names, reader)

    def sizes(self) -> dict[str, Any]:
        return {"labels": len(self.names)}

    def check(self, example: Example) -> None:
        if self.learned(example.target) not in self.numbers:
            raise DataError(str(UnknownName("label", self.learned(example.target), self.names)))

    def encode(self, examples: Sequence[Example]) -> LabelColumn:
        targets = targets_of(examples)
        if isinstance(targets, StoredTexts):
            folder = prepared(targets.name("labels", self.names), partial(self._write, examples))
            labels = mapped(folder / NUMBERS, np.int64)
        else:
            labels = np.concatenate([*self._labels(examples), np.zeros(0, np.int64)])
        return LabelColumn(labels, self.config, len(self.names))

    def _write(self, examples: Sequence[Example], folder: Path) -> None:
        with (folder / NUMBERS).open("wb") as file:
            for part in self._labels(examples):
                file.write(part.tobytes())

    def _labels(self, examples: Sequence[Example]) -> Iterator[Integers]:
        """The numbers of the labels, some at a time."""
        for _, problem in self.flaws(examples):
            raise DataError(problem)
        targets = targets_of(examples)
        for start in range(0, len(targets), MANY):
            part = targets[start : start + MANY]
            yield np.fromiter((self.numbers[self.learned(target)] for target in part), np.int64, len(part))

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            logits = model.logits(batch.input)
        looks = model.looks(batch.input, logits, recorded) if options.looks else []
        logs = logits.log_softmax(-1).cpu()
        probabilities = logits.double().softmax(-1).cpu().numpy()
        name = self.names.__getitem__
        return [
            ranked_predictions(name, logs[i], options.search.n_best, probabilities[i], [look.of(i) for look in looks])
            for i in range(len(logs))
        ]

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        probabilities = model.logits(batch.input).double().softmax(-1)[0].cpu().numpy()
        return Chances(slots=[OutputSlot("label", probabilities, self.names.__getitem__)])

    def needs_looks(self, examples: Sequence[Example]) -> bool:
        return any(_mixed(example) is not None for example in examples)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        probabilities = np.array([prediction.values for prediction in predictions]).reshape(len(examples), len(self.names))
        truth = self.truth(examples, probabilities.argmax(1))
        groups = parts_of([example.group for example in examples])
        scores = {name: label_scores(truth[own], probabilities[own]) for name, own in groups.items()}
        return {**scores, "all": {**scores["all"], **_instance_auc(examples, predictions)}}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        if name != "accuracy":
            return None
        predicted = np.array([one.values for one in predictions]).argmax(1)
        return np.asarray(predicted == self.truth(examples, predicted), np.float64)

    def whole(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score | None:
        if name not in ("macro_f1", "auc"):
            return None
        probabilities = np.array([one.values for one in predictions])
        truth = self.truth(examples, probabilities.argmax(1))
        return lambda indices: label_scores(truth[indices], probabilities[indices]).get(name, math.nan)

    def details(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Any]:
        predicted = np.array([self.numbers[prediction.text] for prediction in predictions], dtype=np.int64)
        counts = confusion(self.truth(examples, predicted), predicted, len(self.names))
        return {"confusion": {"labels": self.names, "counts": counts.tolist()}}

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {**super().notes(example, prediction), **({"known label": example.target} if example.target else {})}


def _mixed(example: Example) -> NDArray[np.bool_] | None:
    """Which instances of a bag are marked, if some are and some are not."""
    marks = example.input.marks if isinstance(example.input, Bag) else None
    return None if marks is None or not 0 < marks.sum() < len(marks) else marks > 0


def _instance_auc(examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
    """How well attention weights tell marked instances from the others, on average over bags that have both."""
    pairs = zip(map(_mixed, examples), predictions, strict=True)
    areas = [
        auc(marks, one.looks[0].weights.reshape(-1).astype(np.float64))
        for marks, one in pairs
        if marks is not None and one.looks
    ]
    return {"instance_auc": float(np.mean(areas))} if areas else {}
