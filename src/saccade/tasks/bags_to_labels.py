"""Bags to labels: sets of instances of which only the whole has a label. Scales, batches, prediction and pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from saccade.config import Amount
from saccade.data import tokenizers
from saccade.data.batches import cut
from saccade.data.examples import Bag, Splits
from saccade.data.ragged import BagBatch, joined
from saccade.evaluation.labels import LABEL_SCORES, auc
from saccade.search import Config as SearchConfig
from saccade.tasks.instances import Scale, instances, named
from saccade.tasks.labels import Labels, LabelTask, Metric
from saccade.tasks.prediction import Prediction, nothing
from saccade.view.trace import Axis, Look, Scene

DATA = "bags"


@dataclass(frozen=True, kw_only=True)
class Config:
    """How features are scaled, and what counts as best."""

    farthest: Amount = 0.0
    "Deviations from the mean beyond which a feature counts no more: tames features with rare large values; 0: all counts."
    metric: Metric = "accuracy"
    "What the best checkpoint is chosen by: accuracy, macro_f1, auc or loss."


class BagCorpus:
    """Scaled bags with their labels."""

    def __init__(self, found: Sequence[Bag], labels: np.ndarray[Any, np.dtype[np.int64]], scale: Scale) -> None:
        self.bags = [Bag(scale(bag.items), bag.target) for bag in found]
        self.labels = labels
        self.lengths = np.array([len(bag.items) for bag in found], dtype=np.int64)

    def batch(self, indices: Any) -> BagBatch:
        """The batch of these bags."""
        return joined([self.bags[i] for i in indices], self.labels[list(indices)])


class Task(LabelTask):
    """Everything around a model that reads a bag and says its label."""

    counted = "instances"
    BUDGET: ClassVar[int] = 4_000

    examples: Callable[[], Splits]
    "The run's own bags, to be looked at by their number; set by the run."

    def __init__(self, config: Config, labels: Labels, scale: Scale) -> None:
        super().__init__(labels, config.metric)
        self.config, self.scale = config, scale

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores of labels, and how well weights tell marked instances from the others."""
        return (*LABEL_SCORES, "instance_auc")

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the labels and the scale from the training data."""
        labels, scale = Labels.of(splits), Scale.of(splits.train, config.farthest)
        scale.check(splits)
        return cls(config, labels, scale)

    def save(self, run: Path) -> None:
        """Write both into the run."""
        self.labels.save(run)
        self.scale.save(run)

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        return cls(config, Labels.load(run), Scale.load(run))

    def sizes(self) -> dict[str, Any]:
        """What a model is made for."""
        return {"shape": self.scale.shape, "labels": len(self.labels.names)}

    def require_sound(self, example: Any) -> None:
        """Refuse other items than were learned from, and a label that the run does not know."""
        super().require_sound(example)
        self.scale.fitting(example)

    def corpus(self, found: Sequence[Bag]) -> BagCorpus:
        """The bags as numbers."""
        return BagCorpus([self.scale.fitting(bag) for bag in found], self.labels.numbers(found), self.scale)

    def named(self, text: str) -> Bag:
        """The bag that a line names: one of the run's own data by its number, or one of a file."""
        return named(text, self.scale, self.examples)

    def answer(self, model: Any, text: str, count: int, *, looks: bool) -> list[Prediction]:
        """The most probable labels of the bag that a line names."""
        if not text.strip():
            return nothing()
        bag = self.named(text)
        batch = joined([Bag(self.scale(bag.items), "")], [0])
        with torch.inference_mode():
            logs = model(batch).log_softmax(-1)[0]
            seen = model.glance(batch) if looks else {}
        return self.ranked(logs, {name: weights.view(1, 1, -1) for name, weights in seen.items()}, count)

    def evaluate(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all bags; where instances are marked, also how well weights tell the marked ones from the others."""
        scores = super().evaluate(model, examples, config, tick)
        found = self._marked(
            model, [bag for bag in examples if bag.marks is not None and 0 < bag.marks.sum() < len(bag.marks)]
        )
        return {**scores, "all": {**scores["all"], **found}}

    def _marked(self, model: Any, found: Sequence[Bag]) -> dict[str, float]:
        if not found:
            return {}
        corpus, areas = self.corpus(found), []
        for chosen in cut(range(len(found)), corpus.lengths.tolist(), self.BUDGET):
            with torch.inference_mode():
                seen = model.eval().glance(batch := corpus.batch(chosen))
            if not seen:
                return {}
            for i, weights in zip(chosen, next(iter(seen.values())).split(batch.sizes.tolist()), strict=True):
                marks = found[i].marks
                assert marks is not None
                areas.append(auc(marks > 0, weights.double().numpy()))
        return {"instance_auc": float(np.mean(areas))}

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction for this bag: how much of it each instance was."""
        bag = self.named(text)
        marks = bag.marks if bag.marks is not None else np.zeros(len(bag.items))
        names = [f"{number}{' *' if mark else ''}" for number, mark in enumerate(marks)]
        sides = {"bag": instances(bag, names)}
        known = {"known label": bag.target} if bag.target else {}
        told = {"marked instances": "*"} if marks.any() else {}
        return [
            Scene(
                f"{text}: {one.text}",
                {**sides, "label": Axis("label", one.labels)},
                [Look(name, "label", "bag", weights.float().numpy()) for name, weights in one.looks.items()],
                {"probability": float(np.exp(one.log_prob)), **known, **told},
            )
            for one in predictions
        ]
