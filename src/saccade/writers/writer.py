"""What every writer does; a kind of output says how."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.attention import looking
from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, pieces_of
from saccade.data.tensors import Batch
from saccade.errors import UsageError
from saccade.evaluation.metrics import Metric, metric, ranked
from saccade.evaluation.significance import Row, Score
from saccade.readers.reader import Column, Reader, Side
from saccade.search import Config as SearchConfig
from saccade.view.output.display_text import percent
from saccade.view.trace import Axis, Look
from saccade.writers.chances import Chances
from saccade.writers.text_stream import Ended, TextStream

Floats = NDArray[np.float64]
# Of some examples, or all: the summed loss, the count, and sums of other metrics.
Loss = Callable[[Sequence[int] | None], tuple[float, int, Mapping[str, float]]]


@dataclass(frozen=True)
class Prediction:
    """What a model puts out for one example: text, how likely it is, and where the model looked."""

    text: str
    log_prob: float = 0.0
    finished: bool = True
    "Whether a text ended by itself or at a stop string, and not by the maximum length."
    tokens: Sequence[str] = field(default=(), repr=False)
    context: Sequence[str] = field(default=(), repr=False)
    "What stood before the first token: the start token, or a prompt."
    looks: Sequence[Look] = field(default=(), repr=False)
    group: str = ""
    "The group that it was written for, such as a language."
    token_probabilities: Floats | None = field(default=None, repr=False, compare=False)
    "The probability of each token of a text."
    values: Floats | None = field(default=None, repr=False, compare=False)
    "The probability of every label, the score of every item or word, or the number itself."
    alternatives: tuple["Prediction", ...] = ()
    "The next best."
    example: Example | None = field(default=None, repr=False, compare=False)
    ended: Ended = field(default="", repr=False)
    "Why a text ended: by the end token, at a stop string, at the maximum length, or because the context was full."

    def __str__(self) -> str:
        return self.text

    @property
    def probability(self) -> float:
        """Of the text."""
        return float(np.exp(self.log_prob))


@dataclass(frozen=True)
class Options:
    """How predictions are made."""

    search: SearchConfig = field(default_factory=SearchConfig)
    looks: bool = False
    groups: Sequence[str] = ("",)
    stop: Sequence[str] = ()
    "Texts that end an output; they are no part of it."
    slide: bool | None = None
    "Whether a language model goes on beyond its context; None: as its writer is set."
    reading: bool = False
    "Whether a language model only reads the text, so that looks are those of the text to itself."


class Writer(Side):
    """Encodes targets of one kind, makes predictions and scores them."""

    SEARCHES: ClassVar[bool] = False
    "Whether outputs are searched for, and so the section [search]."
    CONTINUES: ClassVar[bool] = False
    "Whether an output goes on from its input, and does not answer it."
    VERB: ClassVar[str] = "predict"
    "The command that makes its outputs."
    PREDICTED: ClassVar[bool] = True
    "Whether scores are of predictions; else of the loss alone."
    OWN: ClassVar[str] = ""
    "The format of the user's own files, where that is not the reader's."
    parts: ClassVar[tuple[str, ...]] = ()
    "What is scored beside all examples and their groups."

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        """The metrics that scores may have, known before anything is trained."""
        raise NotImplementedError

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Splits) -> Iterable[str]:
        """Texts that the reader's tokenizer must know."""
        return []

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        """Learn from the training targets what encoding needs."""
        return cls(config)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Reader, earlier: Any) -> "Writer":
        """As `fit`, with what an earlier writer of this kind has learned."""
        return cls.fit(config, tokens, splits, reader)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> "Writer":
        """Read it again."""
        return cls(config)

    def encode(self, examples: Sequence[Example]) -> Column | None:
        """Targets as numbers."""
        raise NotImplementedError

    def budget(self, budget: int, options: Options) -> int:
        """Size of a batch without gradients, from what the reader allows."""
        return budget

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        """The predictions for each row of a batch, best first, group after group; `positions` are the rows' own numbers."""
        raise NotImplementedError

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        """How likely everything is that could be put out for the one row of a batch; of a text that is written, the text of
        `given`, or else what the model would write."""
        raise UsageError("ablation: expected a system that writes text, labels, tags, answers or vectors, got another")

    def stream(self, model: Any, batch: Batch, options: Options) -> TextStream:
        """The output for the one row of a batch, piece by piece as it is decided."""
        raise UsageError("stream: expected a system that writes text; use predict")

    def empty(self, options: Options) -> list[Prediction]:
        """What is predicted for an empty line."""
        return [Prediction("")]

    def groups(self) -> list[str]:
        """What can be written, languages say; one nameless group if there is one way only."""
        return [""]

    def needs_looks(self, examples: Sequence[Example]) -> bool:
        """Whether scores depend on where the model looked."""
        return False

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        """Scores of all examples ("all") and of each group."""
        raise NotImplementedError

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        """The scores that need nothing but the predictions' texts."""
        match = [example.target == prediction.text for example, prediction in zip(examples, predictions, strict=True)]
        return {"examples": len(match), "accuracy": sum(match) / len(match)}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        """What each example has of a metric that is their mean; None where only all together have a score."""
        return None

    def whole(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score | None:
        """A metric of which only several examples together have a score; None where it is none to compare runs by."""
        return None

    def bootstrap(
        self, name: str, examples: Sequence[Example], found: Mapping[str, Sequence[Prediction]], samples: int
    ) -> dict[str, Row] | None:
        """Of a metric that is resampled in a way of its own, the rows of several runs; None for all others."""
        return None

    def choose_by(self) -> Sequence[str]:
        """The metrics that the best checkpoint is chosen by, in order."""
        return [self.config.metric] if self.config.metric == "loss" else [self.config.metric, "loss"]

    def best(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better."""
        return ranked(scores["all"], self.choose_by())

    def signatures(self) -> dict[str, str]:
        """How metrics that can be computed in more than one way are computed."""
        return {}

    def details(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Any]:
        """What else there is to know of an evaluation."""
        return {}

    def main(self) -> Metric:
        """The metric that is shown where there is room for one."""
        return metric(next(name for name in [*self.choose_by(), *self.metrics(self.config)] if name != "loss"))

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        """How long the inputs are, by which scores are broken down."""
        if not all(isinstance(example.input, str) for example in examples):
            raise UsageError("scores by length: expected a run that reads texts, got another; leave them out")
        return [len(example.input.split()) for example in examples]

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        """The places of an output, under the names that looks use."""
        return {"output": probable("label", prediction)}

    def shown(self, predictions: Sequence[Prediction]) -> Sequence[Prediction]:
        """Those that get a picture of their own."""
        return predictions

    def title(self, example: Example, prediction: Prediction) -> str:
        """Of a picture."""
        return (
            f"{prediction.text}: {' '.join(str(example.input if isinstance(example.input, str) else example.name).split())}"
        )

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        """What a picture says beside its title."""
        return {"probability": percent(prediction.probability)}


def probable(kind: str, prediction: Prediction) -> Axis:
    """The places of an output, each with its probability where that is known."""
    known = prediction.token_probabilities
    return Axis(kind, prediction.tokens, probabilities=None if known is None else known.astype(np.float32))


class ReaderTokens(Writer):
    """A writer of the reader's own tokens, made with its tokenizer."""

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Splits) -> Iterable[str]:
        return pieces_of(splits.train)

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Any) -> Any:
        return cls.load(config, Path(), reader)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Any, earlier: Any) -> Any:
        return cls.load(config, Path(), reader)

    def strange(self, earlier: Any) -> set[str]:
        return set()

    def save(self, directory: Path) -> None:
        """The tokenizer is the reader's."""

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Any) -> Any:
        return cls(config, reader.tokenizer)  # type: ignore[call-arg]


def ranked_predictions(
    names: Callable[[int], str], logs: Any, count: int, values: Floats | None, looks: Sequence[Look]
) -> list[Prediction]:
    """The `count` most probable of some outputs, (outputs) log-probabilities."""
    best, places = logs.topk(min(count, len(logs)))
    outputs = [(names(place), value) for place, value in zip(places.tolist(), best.tolist(), strict=True)]
    return [
        Prediction(name, value, tokens=[name], looks=looks, token_probabilities=np.exp([value]), values=values)
        for name, value in outputs
    ]


def recording(model: Any, wanted: bool) -> AbstractContextManager[Any]:
    """Attention that happens inside the block, by module, if it is wanted."""
    return looking(model) if wanted else nullcontext({})


def parts_of(groups: Sequence[str]) -> dict[str, Integers]:
    """The indices of all examples ("all"), and of each group in the order of its name."""
    names = sorted({*groups} - {"", "all"})
    whole = {"all": np.arange(len(groups))}
    return whole | {name: np.array([i for i, group in enumerate(groups) if group == name]) for name in names}


def with_alternatives(predictions: Sequence[Prediction], example: Example) -> Prediction:
    """The best of several predictions, which holds the others."""
    return replace(predictions[0], alternatives=tuple(predictions[1:]), example=example)
