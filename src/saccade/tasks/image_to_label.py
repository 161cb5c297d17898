"""Image to label: pictures to classes. Standardized pixels, batches, prediction, and pictures of the channels' gates."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data import tokenizers
from saccade.data.batches import Integers
from saccade.data.examples import Picture, Splits
from saccade.data.images import pixels_of
from saccade.data.pictures import LabeledPictures
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.systems.system import Labeler
from saccade.tasks.labels import Labels, LabelTask, Metric
from saccade.tasks.numbered import numbered
from saccade.tasks.prediction import Prediction, at_line, nothing
from saccade.view.trace import Axis, Look, Scene

DATA = "images"
FILE = "pixels.json"
AT_ONCE = 1000  # pictures that are counted together

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as best."""

    metric: Metric = "accuracy"
    "What the best checkpoint is chosen by: accuracy, macro_f1, auc or loss."


@dataclass(frozen=True)
class Scale:
    """What pictures are like: their shape, and the mean and spread of each channel's pixels."""

    shape: tuple[int, int, int]
    """Height, width and channels."""
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, pixels: Pixels) -> "Scale":
        """Of pictures (N, height, width, channels), from sums of whole numbers: the same on every machine."""
        sums = [[int(count @ np.arange(256) ** power) for power in (0, 1, 2)] for count in _histograms(pixels)]
        mean = tuple(first / total for total, first, _ in sums)
        spread = [second / total - (first / total) ** 2 for total, first, second in sums]
        deviation = tuple(math.sqrt(max(one, 0.0)) or 1.0 for one in spread)
        return cls((pixels.shape[1], pixels.shape[2], pixels.shape[3]), mean, deviation)

    def standardized(self, pixels: Pixels) -> Tensor:
        """(N, height, width, channels) in bytes as (N, channels, height, width) around 0; memory stays in its order."""
        values = torch.from_numpy(pixels).float()
        return values.sub_(torch.tensor(self.mean)).div_(torch.tensor(self.deviation)).permute(0, 3, 1, 2)

    def save(self, run: Path) -> None:
        """Write it into the run."""
        told = {"shape": self.shape, "mean": self.mean, "deviation": self.deviation}
        (run / FILE).write_text(json.dumps(told) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, run: Path) -> "Scale":
        """Read it again."""
        try:
            told = json.loads((run / FILE).read_text(encoding="utf-8"))
            (height, width, channels), mean, deviation = (tuple(told[key]) for key in ("shape", "mean", "deviation"))
            if channels not in (1, 3) or not len(mean) == len(deviation) == channels or 0 in deviation:
                raise ValueError(f"expected 1 or 3 channels with a mean and a deviation each, got {told}")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None
        return cls((height, width, channels), mean, deviation)


class PictureCorpus:
    """Pictures in bytes with their labels; a batch is made into numbers when it is wanted."""

    def __init__(self, scale: Scale, pixels: Pixels, labels: Integers) -> None:
        self.scale, self.pixels, self.labels = scale, pixels, labels
        self.lengths = np.ones(len(pixels), dtype=np.int64)

    def batch(self, indices: Any) -> LabeledPictures:
        """The batch of these pictures."""
        chosen = np.asarray(indices, dtype=np.int64)
        return LabeledPictures(self.scale.standardized(self.pixels[chosen]), torch.from_numpy(self.labels[chosen]))


class Task(LabelTask):
    """Everything around a model that sees a picture and says its label."""

    counted = "pictures"
    BUDGET: ClassVar[int] = 200

    examples: Callable[[], Splits]
    """The run's own pictures, loaded only when one is asked for by its number; set by the run."""

    def __init__(self, config: Config, scale: Scale, labels: Labels) -> None:
        super().__init__(labels, config.metric)
        self.config, self.scale = config, scale

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the labels and the spread of pixels from the training data."""
        labels = Labels.of(splits)
        return cls(config, Scale.of(stacked(splits.train)), labels)

    def save(self, run: Path) -> None:
        """Write both into the run."""
        self.scale.save(run)
        self.labels.save(run)

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        return cls(config, Scale.load(run), Labels.load(run))

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        height, width, channels = self.scale.shape
        return {"channels": channels, "height": height, "width": width, "labels": len(self.labels.names)}

    def require_sound(self, example: Any) -> None:
        """Refuse a picture of another shape, and a label that the run does not know."""
        super().require_sound(example)
        require_shape(example.pixels, self.scale.shape)

    def corpus(self, examples: Sequence[Picture]) -> PictureCorpus:
        """The pictures as one array."""
        return PictureCorpus(self.scale, stacked(examples, self.scale.shape), self.labels.numbers(examples))

    def predict(
        self,
        model: Labeler,
        texts: Iterable[str],
        search_config: SearchConfig,
        *,
        looks: bool = False,
        groups: Sequence[str] = ("",),
    ) -> Iterator[list[Prediction]]:
        """The most probable labels of each picture: the path of a file, or its number such as test#12; empty gives empty."""
        left, first = (text.strip() for text in texts), 1
        while window := list(islice(left, self.BUDGET)):
            lines = {number: line for number, line in enumerate(window, first) if line}
            first += len(window)
            pixels = [self._pixels(number, line) for number, line in lines.items()]
            corpus = PictureCorpus(self.scale, whole(pixels, self.scale.shape), np.zeros(len(pixels), np.int64))
            batch = corpus.batch(range(len(pixels)))
            with torch.inference_mode():
                logs = model.eval()(batch).log_softmax(-1)
                seen = model.glance(batch) if looks and lines else {}
            places = iter(range(len(lines)))
            for line in window:
                if line:
                    place = next(places)
                    own = {name: weights[place] for name, weights in seen.items()}
                    yield self.ranked(logs[place], own, search_config.n_best)
                else:
                    yield nothing()

    def _pixels(self, number: int, line: str) -> Pixels:
        """Of the picture on this line of the input."""
        with at_line(number):
            return self.picture(line).pixels

    def picture(self, line: str) -> Picture:
        """The picture of this path, or of this number among the run's own."""
        found: Picture | None = numbered(line, self.examples)
        return Picture(pixels_of(Path(line).expanduser(), self.scale.shape), "", name=line) if found is None else found

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction: how much of each channel every block let through."""
        if not text.strip():
            raise DataError("there is nothing to look at: expected the path of a picture, or a number such as test#12")
        known = self.picture(text.strip()).target
        return [self._scene(text.strip(), one, known) for one in predictions]

    def _scene(self, text: str, one: Prediction, known: str) -> Scene:
        widths = sorted({weights.shape[-1] for weights in one.looks.values()})
        sides = {_side(width, widths): Axis("channels", [str(number) for number in range(width)]) for width in widths}
        looks = [
            Look(name, "label", _side(weights.shape[-1], widths), weights.float().numpy())
            for name, weights in one.looks.items()
        ]
        notes: dict[str, str | float] = {"probability": math.exp(one.log_prob)}
        notes |= {"known label": known} if known else {}
        return Scene(f"{text}: {one.text}", {"label": Axis("label", one.labels), **sides}, looks, notes)


def _histograms(pixels: Pixels) -> NDArray[np.int64]:
    """How often each byte comes, (channels, 256), some pictures at a time: numpy counts in numbers of eight bytes."""
    found = np.zeros((pixels.shape[-1], 256), np.int64)
    for first in range(0, len(pixels), AT_ONCE):
        for channel, count in enumerate(found):
            count += np.bincount(pixels[first : first + AT_ONCE, ..., channel].ravel(), minlength=256)
    return found


def _side(width: int, widths: Sequence[int]) -> str:
    """The name of a side of so many channels."""
    return "channels" if len(widths) == 1 else f"{width} channels"


def stacked(examples: Sequence[Picture], shape: tuple[int, int, int] | None = None) -> Pixels:
    """The pixels of all, (N, height, width, channels)."""
    if shape is None:
        first = examples[0].pixels.shape
        shape = (first[0], first[1], first[2] if len(first) == 3 else 1)
    return whole([example.pixels for example in examples], shape)


def require_shape(pixels: Pixels, shape: tuple[int, int, int]) -> None:
    """Refuse a picture that has not this height, width and number of channels."""
    if pixels.size != math.prod(shape) or pixels.shape[:2] != shape[:2]:
        raise DataError(f"expected pictures of {shape[0]} × {shape[1]} pixels and {shape[2]} channels, got {pixels.shape}")


def whole(pixels: Sequence[Pixels], shape: tuple[int, int, int]) -> Pixels:
    """Pictures of one shape as one array."""
    found = np.empty((len(pixels), *shape), np.uint8)
    for place, one in enumerate(pixels):
        require_shape(one, shape)
        found[place] = one.reshape(shape)
    return found
