"""Sets to items: which thing of a set is meant, such as the one that does not belong; it is marked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from saccade.data import tokenizers
from saccade.data.batches import Integers, cut
from saccade.data.examples import Bag, Splits
from saccade.data.ragged import BagBatch, joined
from saccade.errors import DataError
from saccade.evaluation.ranks import choice_scores
from saccade.search import Config as SearchConfig
from saccade.tasks.instances import Scale, instances, named
from saccade.tasks.plain import PlainTask
from saccade.tasks.prediction import Prediction, nothing
from saccade.tasks.set_items import SAMPLE, Scaled
from saccade.view.trace import Axis, Look, Scene

DATA = "sets with an odd one"


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as best."""

    metric: Literal["accuracy", "loss"] = "accuracy"
    "What the best checkpoint is chosen by: accuracy or loss."


class ItemCorpus:
    """Scaled sets, and which item of each is meant."""

    def __init__(self, found: Sequence[Bag], targets: Integers, scale: Scale) -> None:
        self.items, self.targets = Scaled(found, scale), targets
        self.lengths = np.array([len(bag.items) for bag in found], dtype=np.int64)

    def batch(self, indices: Any) -> BagBatch:
        """The batch of these sets."""
        return joined([Bag(self.items[i], "") for i in indices], self.targets[list(indices)].tolist())


class Task(PlainTask):
    """Everything around a model that gives each item of a set a score."""

    counted = "items"
    BUDGET: ClassVar[int] = 4000

    examples: Callable[[], Splits]
    "The run's own sets, to be asked for by their number; set by the run."

    def __init__(self, config: Config, scale: Scale) -> None:
        self.config, self.scale = config, scale

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores of a choice."""
        return ("examples", "accuracy", "chance", "loss")

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the scale from the training data."""
        scale = Scale.of(splits.train[:SAMPLE])
        scale.check(splits)
        return cls(config, scale)

    def save(self, run: Path) -> None:
        """Write it into the run."""
        self.scale.save(run)

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read it again."""
        return cls(config, Scale.load(run))

    def sizes(self) -> dict[str, Any]:
        """What a model is made for."""
        return {"shape": self.scale.shape}

    def require_sound(self, example: Any) -> None:
        """Refuse a set in which not just one item is marked, or whose items are others than were learned from."""
        marked = 0 if example.marks is None else int((example.marks != 0).sum())
        if marked != 1 or len(example.items) < 2:
            told = f"expected at least 2 items, one of them marked, got {len(example.items)} with {marked} marked"
            raise DataError(f"set {example.name!r}: {told}; mark the one that is meant by a 1 in the column mark")
        self.scale.fitting(example)

    def corpus(self, found: Sequence[Bag]) -> ItemCorpus:
        """The sets as numbers."""
        for bag in found:
            self.require_sound(bag)
        return ItemCorpus(found, np.array([_marked(bag) for bag in found], dtype=np.int64), self.scale)

    def scored(
        self, model: Any, corpus: ItemCorpus, tick: Callable[[int], None] = lambda done: None
    ) -> tuple[list[Tensor], float]:
        """The scores of the items of each set, and the mean loss."""
        found: dict[int, Tensor] = {}
        total = 0.0
        order = np.argsort(corpus.lengths, kind="stable").tolist()
        for chosen in cut(order, corpus.lengths.tolist(), self.BUDGET):
            with torch.inference_mode():
                batch = corpus.batch(chosen)
                scores = model.eval()(batch)
                total += float(model.loss(batch))
            found |= dict(zip(chosen, scores.split(batch.sizes.tolist()), strict=True))
            tick(len(found))
        return [found[i] for i in range(len(found))], total / max(1, len(found))

    def answers(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The place of the item with the highest score."""
        return [str(int(scores.argmax())) for scores in self.scored(model, self.corpus(examples), tick)[0]]

    def evaluate(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """How often the item that is meant has the highest score, and how often it would by chance."""
        if len(examples) == 0:
            raise DataError("expected examples to be judged on, got none")
        corpus = self.corpus(examples)
        scores, loss = self.scored(model, corpus, tick)
        return {"all": {**choice_scores(corpus.targets, [one.numpy() for one in scores]), "loss": loss}}

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better: the metric, and among equals the loss."""
        whole = scores["all"]
        return [-whole["loss"]] if self.config.metric == "loss" else [whole["accuracy"], -whole["loss"]]

    def answer(self, model: Any, text: str, count: int, *, looks: bool) -> list[Prediction]:
        """The places, from 0 on, of the items that belong least."""
        if not text.strip():
            return nothing()
        bag = named(text, self.scale, self.examples)
        with torch.inference_mode():
            weights = model.glance(joined([Bag(self.scale(bag.items), "")], [0]))
        logs, places = next(iter(weights.values())).log().topk(min(count, len(bag.items)))
        own = {name: seen.reshape(1, 1, -1) for name, seen in weights.items()} if looks else {}
        return [
            Prediction(str(place), log, True, [str(place)], own)
            for log, place in zip(logs.tolist(), places.tolist(), strict=True)
        ]

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of the set: how odd each item is beside the others."""
        bag = named(text, self.scale, self.examples)
        odd = _marked(bag)
        side = instances(bag, [f"{place}{' *' if place == odd else ''}" for place in range(len(bag.items))])
        known = {} if odd is None else {"the odd one": f"{odd} *"}
        return [
            Scene(
                f"{text}: {one.text}",
                {"set": side, "item": Axis("item", one.labels)},
                [Look(name, "item", "set", weights.float().numpy()) for name, weights in one.looks.items()],
                {"weight": float(np.exp(one.log_prob)), **known},
            )
            for one in predictions
        ]


def _marked(bag: Bag) -> int | None:
    """The place of the item that is meant, if it is known."""
    return None if bag.marks is None or not bag.marks.any() else int(bag.marks.argmax())
