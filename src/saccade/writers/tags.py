"""Tags: a label for each word of a text, such as its part of speech, or the names in it (B-PER I-PER O)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from saccade import records
from saccade.config import Share
from saccade.data.examples import Example, Pair, Splits, in_order, place
from saccade.data.tensors import Batch, TagTarget, padded
from saccade.errors import DataError, UnknownName
from saccade.evaluation.significance import Score
from saccade.evaluation.spans import OUTSIDE, is_bio, span_f1
from saccade.readers.reader import Reader
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.chances import Chances, OutputSlot
from saccade.writers.writer import Floats, Loss, Options, Prediction, parts_of, probable, recording

FILE = "tags.json"


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is optimized, and what the best checkpoint is chosen by."""

    metric: Literal["accuracy", "span_f1", "loss"] = "accuracy"
    "What the best checkpoint is chosen by: accuracy of words, span_f1 (labels such as B-PER, I-PER and O), or loss."
    label_smoothing: Share = 0.0
    "Share of the target probability that is spread over all labels in training."


class TagColumn:
    """The labels of the words of each text."""

    lengths = np.zeros(0, dtype=np.int64)

    def __init__(self, rows: Sequence[Sequence[int]], label_smoothing: float) -> None:
        self.rows, self.label_smoothing = rows, label_smoothing

    def batch(self, indices: Any) -> TagTarget:
        """The tensors of these texts."""
        return TagTarget(padded([self.rows[i] for i in indices])[0], self.label_smoothing)


class Writer(writer.Writer):
    """Knows the labels of the training data."""

    OWN = "tagged_files"
    config: Config

    def __init__(self, config: Any, names: Sequence[str]) -> None:
        super().__init__(config)
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(names)}

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("accuracy", "span_f1", "loss")

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        for _, _, problem in cls.unfit(splits):
            raise DataError(problem)
        names = in_order({tag for example in splits.train for tag in example.target.split()})
        if len(names) < 2:
            raise DataError(f"expected at least 2 different labels in the training data, got {', '.join(names) or 'none'}")
        if config.metric == "span_f1" and not is_bio(names):
            raise DataError(f"writer.metric=span_f1: expected labels such as O, B-PER and I-PER, got {', '.join(names[:5])}")
        return cls(config, names)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Reader, earlier: "Writer") -> "Writer":
        own = cls.fit(config, tokens, splits, reader)
        return cls(config, earlier.names) if {*own.names} == {*earlier.names} else own

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        known = {tag for example in splits.train for tag in str(example.target).split()}
        for name, part in splits.parts():
            for index, example in enumerate(part):
                problem = uneven(example) or _unknown(example, known)
                if problem:
                    yield name, index, f"{place(example, index + 1)}: {problem}"

    def strange(self, earlier: Any) -> set[str]:
        return {"tags"} if self.names != getattr(earlier, "names", None) else set()

    def save(self, directory: Path) -> None:
        records.save(directory / FILE, self.names)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> "Writer":
        names = records.load(directory / FILE)
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise records.unreadable(directory / FILE, "expected a list of texts")
        return cls(config, names)

    def sizes(self) -> dict[str, Any]:
        return {"tags": len(self.names)}

    def check(self, example: Example) -> None:
        if problem := uneven(example) or _unknown(example, self.numbers):
            raise DataError(problem)

    def encode(self, examples: Sequence[Example]) -> TagColumn:
        for _, problem in self.flaws(examples):
            raise DataError(problem)
        rows = [[self.numbers[tag] for tag in example.target.split()] for example in examples]
        return TagColumn(rows, self.config.label_smoothing)

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            logits = model.logits(batch.input)
        looks = model.looks(batch.input, batch.input.lengths, recorded) if options.looks else []
        logs = logits.double().log_softmax(-1).cpu().numpy()
        rows, words, counts = (tensor.cpu().numpy() for tensor in (batch.input.rows, batch.input.words, batch.input.counts))
        found = []
        for row, count in enumerate(counts.tolist()):
            own = rows == row
            found.append([self._tagged(logs[own], words[own], count, [look.of(row) for look in looks])])
        return found

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        ((best,),) = self.predict(model, batch, options, [1])
        assert best.values is not None
        words, name = batch.input.texts[0].split(), self.names.__getitem__
        rows = enumerate(zip(words, best.values, strict=True), 1)
        return Chances(slots=[OutputSlot(f"{number}: {word}", row, name) for number, (word, row) in rows])

    def _tagged(self, logs: Floats, words: Any, count: int, looks: Sequence[Any]) -> Prediction:
        """A label for each of so many words; one that was not read, behind the maximum length, is outside of all spans."""
        unread = np.full(len(self.names), -np.inf)
        unread[self.numbers.get(OUTSIDE, 0)] = 0.0
        every = np.tile(unread, (count, 1))
        every[words] = logs
        best = every.argmax(1)
        own = every[np.arange(count), best]
        tags = [self.names[number] for number in best.tolist()]
        return Prediction(
            " ".join(tags), float(own.sum()), tokens=tags, looks=looks, token_probabilities=np.exp(own), values=np.exp(every)
        )

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        groups = parts_of([example.group for example in examples])
        return {name: self._scores([(examples[i], predictions[i]) for i in own]) for name, own in groups.items()}

    def _scores(self, own: Sequence[tuple[Example, Prediction]]) -> dict[str, float]:
        truth = [example.target.split() for example, _ in own]
        found = [list(prediction.tokens) for _, prediction in own]
        right = [one == other for row in zip(truth, found, strict=True) for one, other in zip(*row, strict=True)]
        known = [
            prediction.values[number, self.numbers[tag]]
            for example, prediction in own
            for number, tag in enumerate(example.target.split())
            if prediction.values is not None
        ]
        scores = {
            "examples": len(own),
            "accuracy": float(np.mean(right)),
            "loss": -float(np.log(np.maximum(known, 1e-12)).mean()),
        }
        return {**scores, **({"span_f1": span_f1(truth, found)} if is_bio(self.names) else {})}

    def whole(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score | None:
        pairs = list(zip(examples, predictions, strict=True))
        return lambda indices: self._scores([pairs[i] for i in indices])[name] if name != "loss" else 0.0

    def details(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Any]:
        return {"words": sum(len(example.target.split()) for example in examples)}

    def empty(self, options: Options) -> list[Prediction]:
        return [Prediction("")]

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": probable("labels", prediction)}

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        words = zip(str(example.input).split(), prediction.tokens, strict=True)
        return {"labels": " ".join(f"{word}/{tag}" for word, tag in words if tag != OUTSIDE) or OUTSIDE}


def uneven(example: Example) -> str:
    """What is wrong with an example that has not as many labels as words."""
    if isinstance(example.input, Pair):
        return "expected one text, got a pair; leave the second out"
    words, tags = len(str(example.input).split()), len(str(example.target).split())
    return "" if words == tags and words else f"expected as many labels as words, got {tags} for {words} words"


def _unknown(example: Example, known: Mapping[str, int] | set[str]) -> str:
    strange = next((tag for tag in example.target.split() if tag not in known), None)
    return "" if strange is None else str(UnknownName("label", strange, sorted(known)))
