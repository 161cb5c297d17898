"""What all tasks share whose models write a label: the labels themselves, probabilities, scores, and what counts as best."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from saccade.data.batches import Integers, cut
from saccade.data.examples import in_order, place
from saccade.errors import DataError, UnknownName
from saccade.evaluation.labels import LABEL_SCORES, Floats, confusion, label_scores
from saccade.search import Config as SearchConfig
from saccade.systems.system import System
from saccade.tasks.plain import PlainTask
from saccade.tasks.prediction import Prediction

Metric = Literal["accuracy", "macro_f1", "auc", "loss"]
FILE = "labels.json"
PARTS = (  # of the data, what each is called, and what else to do about a label that is only there
    ("valid", "the examples to choose by (held out, or data.valid)", "name other data.valid, or set data.held_out=0"),
    ("test", "the examples to be judged on (data.test)", "or name other data.test"),
)


class Example(Protocol):
    """What has a label; scores are also given apart for each group."""

    @property
    def target(self) -> str: ...
    @property
    def group(self) -> str: ...


class Corpus(Protocol):
    """Encoded examples."""

    lengths: Integers

    def batch(self, indices: Any) -> Any: ...


class Labels:
    """The labels of a run, in order."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._numbers = {name: number for number, name in enumerate(names)}

    @classmethod
    def of(cls, splits: Any) -> "Labels":
        """Those that occur in what is learned from, in order; what is judged may have no others."""
        found = {example.target for example in splits.train}
        for _, _, problem in unlearned(splits):
            raise DataError(problem)
        if len(found) < 2:
            raise DataError(f"expected at least 2 different labels in the training data, got {', '.join(found) or 'none'}")
        return cls(in_order(found))

    def require(self, label: str) -> None:
        """Refuse a label that is none of these."""
        if label not in self._numbers:
            raise DataError(str(UnknownName("label", label, self.names)))

    def numbers(self, examples: Sequence[Example]) -> Integers:
        """The number of each example's label."""
        for number, example in enumerate(examples, 1):
            try:
                self.require(example.target)
            except DataError as error:
                raise DataError(f"{place(example, number)}: {error}") from None
        return np.array([self._numbers[example.target] for example in examples], dtype=np.int64)

    def save(self, run: Path) -> None:
        """Write them into the run."""
        (run / FILE).write_text(json.dumps(self.names, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, run: Path) -> "Labels":
        """Read them again."""
        try:
            return cls(json.loads((run / FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None


def unlearned(splits: Any) -> Iterator[tuple[str, int, str]]:
    """The part and place of each example whose label none of those to learn from has, and what is wrong with it."""
    found = {example.target for example in splits.train}
    for part, told, fix in PARTS:
        for index, example in enumerate(getattr(splits, part)):
            if example.target not in found:
                where = f"label {example.target!r} is in {told}, but in no example to learn from"
                fixes = f"add other examples of it (equal ones stay together), {fix}"
                yield part, index, f"{place(example, index + 1)}: {where}; {fixes}"


class LabelTask(PlainTask):
    """Everything around a model that says a label; how examples become batches is for each kind of them to say."""

    def __init__(self, labels: Labels, metric: Metric) -> None:
        self.labels, self.metric = labels, metric
        self.note: Callable[[str], None] = lambda text: None  # a training sets who hears what `begin` has to say

    @classmethod
    def unfit(cls, splits: Any) -> Iterator[tuple[str, int, str]]:
        """What `fit` refuses: the part and place of each such example, and what is wrong with it."""
        return unlearned(splits)

    def require_sound(self, example: Any) -> None:
        """Refuse a label that the run does not know."""
        self.labels.require(example.target)

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores of labels."""
        return LABEL_SCORES

    def corpus(self, examples: Sequence[Any]) -> Corpus:
        """The examples as numbers."""
        raise NotImplementedError(f"{type(self).__name__} must define corpus(examples)")

    def truth(self, examples: Sequence[Any]) -> Integers:
        """The number of each example's label."""
        return self.labels.numbers(examples)

    def groups_of(self, examples: Sequence[Any]) -> list[str]:
        """The group of each example."""
        return [example.group for example in examples]

    def ranked(self, logs: Tensor, looks: dict[str, Tensor], count: int) -> list[Prediction]:
        """The most probable labels, with what was looked at for any of them."""
        values, labels = logs.topk(min(count, len(logs)))
        names = [self.labels.names[label] for label in labels.tolist()]
        return [Prediction(name, value, True, [name], looks) for name, value in zip(names, values.tolist(), strict=True)]

    def probabilities(
        self, model: System, examples: Sequence[Any], tick: Callable[[int], None] = lambda done: None
    ) -> Floats:
        """Of every label, (examples, labels)."""
        corpus = self.corpus(examples)
        sizes = corpus.lengths.reshape(len(examples), -1)[:, 0]
        found = np.zeros((len(examples), len(self.labels.names)))
        model.eval()
        done = 0
        for chosen in cut(np.argsort(sizes, kind="stable").tolist(), sizes.tolist(), self.BUDGET):
            with torch.inference_mode():
                found[chosen] = model(corpus.batch(chosen)).double().softmax(-1).numpy()
            done += len(chosen)
            tick(done)
        return found

    def answers(
        self, model: System, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The most probable label of each."""
        return [self.labels.names[label] for label in self.probabilities(model, examples, tick).argmax(1)]

    def evaluate(
        self, model: System, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all examples ("all") and of each group."""
        if len(examples) == 0:
            raise DataError("expected examples to be judged on, got none")
        truth, found, groups = self.truth(examples), self.probabilities(model, examples, tick), self.groups_of(examples)
        parts = {name: np.array([group == name for group in groups]) for name in sorted({*groups} - {"", "all"})}
        whole = {"all": np.ones(len(examples), dtype=bool), **parts}
        return {name: label_scores(truth[chosen], found[chosen]) for name, chosen in whole.items()}

    def details(self, examples: Sequence[Any], texts: Sequence[str]) -> dict[str, Any]:
        """How often each label was taken for each."""
        said = {name: number for number, name in enumerate(self.labels.names)}
        chosen = np.array([said[text] for text in texts], dtype=np.int64)
        counts = confusion(self.truth(examples), chosen, len(said))
        return {"confusion": {"labels": self.labels.names, "counts": counts.tolist()}}

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better: the metric, and among equals the loss."""
        whole = scores["all"]
        if self.metric == "loss":
            return [-whole["loss"]]
        return [whole.get(self.metric, 0.0), -whole["loss"]]
