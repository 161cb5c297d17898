"""Sets to numbers: items in no order, words or pictures or rows of features, and a number that is said of all of them."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from saccade.data import tokenizers
from saccade.data.batches import Integers, cut
from saccade.data.examples import Splits, place
from saccade.data.sets import SetBatch, alike, set_batch
from saccade.errors import DataError
from saccade.evaluation.numbers import Floats, number_scores
from saccade.search import Config as SearchConfig
from saccade.tasks.lengths import bounds
from saccade.tasks.plain import PlainTask
from saccade.tasks.prediction import Prediction, nothing
from saccade.tasks.set_items import SetItems
from saccade.view.trace import Axis, Look, Scene

DATA = "sets"
TOKENS = "word"
FILE = "numbers.json"
MOST_DIGITS = 6  # after the point


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as best."""

    metric: Literal["exact", "mae"] = "exact"
    "What the best checkpoint is chosen by: exact, the share that is right when rounded; mae, the mean absolute error."


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run: how large they are, and how many digits follow the point.

    They are divided by their size and not centered: a sum that starts from 0 is found much sooner than one that does not.
    """

    size: float
    digits: int

    @classmethod
    def of(cls, examples: Sequence[Any]) -> "Numbers":
        """Those to learn from."""
        values = numbers(examples)
        digits = max(len(example.target.strip().lower().partition("e")[0].partition(".")[2]) for example in examples)
        return cls(float(np.sqrt((values**2).mean())) or 1.0, min(digits, MOST_DIGITS))

    def text(self, value: float) -> str:
        """A number as it is written."""
        return f"{round(value, self.digits) + 0.0:.{self.digits}f}"  # + 0.0: there is no negative nothing


def numbers(examples: Sequence[Any]) -> Floats:
    """The number of each example."""
    found = np.empty(len(examples))
    for index, example in enumerate(examples):
        found[index] = number(example, f"{place(example, index + 1)}: ")
    return found


def number(example: Any, where: str = "") -> float:
    """The number that is to be said of a set."""
    try:
        found = float(example.target)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise DataError(f"{where}expected a number to be said of the set, got {example.target[:40]!r}; mend it")
    return found


class SetCorpus:
    """Sets with their numbers, scaled."""

    def __init__(self, items: Sequence[Any], sizes: Integers, targets: Floats) -> None:
        self.items, self.sizes, self.targets = items, sizes, targets.astype(np.float32)
        self.lengths = alike(sizes)

    def batch(self, indices: Any) -> SetBatch:
        """The batch of these sets."""
        return set_batch([self.items[i] for i in indices], self.targets[list(indices)])


class Task(PlainTask):
    """Everything around a model that reads a set and says a number."""

    counted = "items"
    BUDGET: ClassVar[int] = 4000

    examples: Callable[[], Splits]
    "The run's own sets, to be asked for by their number; set by the run."

    def __init__(self, config: Config, items: SetItems, scale: Numbers) -> None:
        self.config, self.items, self.scale = config, items, scale

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The scores of numbers."""
        return ("examples", "exact", "mae")

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the words, or the scale of features, and the scale of numbers from the training data."""
        items = SetItems.of(splits.train, tokens)
        if items.scale:
            items.scale.check(splits)
        return cls(config, items, Numbers.of(splits.train))

    def save(self, run: Path) -> None:
        """Write all of it into the run."""
        self.items.save(run)
        (run / FILE).write_text(json.dumps(asdict(self.scale)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read it again."""
        try:
            scale = Numbers(**json.loads((run / FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None
        return cls(config, SetItems.load(run), scale)

    def sizes(self) -> dict[str, Any]:
        """What a model is made for."""
        return self.items.sizes()

    def require_sound(self, example: Any) -> None:
        """Refuse what is no number, and other items than were learned from."""
        number(example)
        if self.items.scale:
            self.items.scale.fitting(example)

    def corpus(self, examples: Sequence[Any]) -> SetCorpus:
        """The sets as numbers."""
        items, sizes = self.items.encoded(examples)
        return SetCorpus(items, sizes, numbers(examples) / self.scale.size)

    def said(self, model: Any, corpus: SetCorpus, tick: Callable[[int], None] = lambda done: None) -> Floats:
        """The number of each set, not rounded."""
        found, done = np.zeros(len(corpus.sizes)), 0
        order = np.argsort(corpus.sizes, kind="stable").tolist()
        for chosen in cut(order, corpus.sizes.tolist(), self.BUDGET):
            with torch.inference_mode():
                found[chosen] = model.eval()(corpus.batch(chosen)).double().numpy()
            done += len(chosen)
            tick(done)
        return found * self.scale.size

    def answers(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The number of each, as it is written."""
        return [self.scale.text(value) for value in self.said(model, self.corpus(examples), tick)]

    def evaluate(
        self, model: Any, examples: Sequence[Any], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all sets ("all") and of each group, in the order in which groups appear."""
        if len(examples) == 0:
            raise DataError("expected examples to be judged on, got none")
        truth, said = numbers(examples), self.said(model, self.corpus(examples), tick)
        groups = np.array([example.group for example in examples])
        parts = {name: groups == name for name in dict.fromkeys(groups.tolist()) if name not in ("", "all")}
        whole = {"all": np.ones(len(examples), dtype=bool), **parts}
        return {name: number_scores(truth[part], said[part], self.scale.digits) for name, part in whole.items()}

    def by_length(self, examples: Sequence[Any], texts: Sequence[str]) -> list[dict[str, float]]:
        """Scores of sets of about the same size: from, to, how many, score."""
        lengths = self.items.encoded(examples)[1]
        truth, said = numbers(examples), np.array([float(text) for text in texts])
        found = []
        for low, high in bounds(lengths.tolist()):
            part = (low <= lengths) & (lengths <= high)
            found.append({"shortest": low, "longest": high, **number_scores(truth[part], said[part], self.scale.digits)})
        return found

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better: the metric, and among equals the error."""
        whole = scores["all"]
        return [-whole["mae"]] if self.config.metric == "mae" else [whole["exact"], -whole["mae"]]

    def answer(self, model: Any, text: str, count: int, *, looks: bool) -> list[Prediction]:
        """The number of the set on a line; an empty line is the empty set where items are words."""
        example = self.items.named(text, lambda: self.examples())
        if example is None:
            return nothing()
        corpus = SetCorpus(*self.items.encoded([example]), np.zeros(1))
        number = self.scale.text(float(self.said(model, corpus)[0]))
        with torch.inference_mode():
            seen = model.glance(corpus.batch([0])) if looks else {}
        own = {name: weights.reshape(1, 1, -1) for name, weights in seen.items()}
        return [Prediction(number, 0.0, True, [number], own)]

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Any] | None = None
    ) -> list[Scene]:
        """A picture of the set: how much each item counted."""
        example = self.items.named(text, lambda: self.examples())
        assert example is not None
        side, known = self.items.side(example), {"known number": example.target} if example.target else {}
        return [
            Scene(
                f"{one.text}: {text}",
                {"set": side, "number": Axis("number", one.labels)},
                [Look(name, "number", "set", weights.float().numpy()) for name, weights in one.looks.items()],
                known,
            )
            for one in predictions
        ]
