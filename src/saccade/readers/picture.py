"""Pictures: standardized by the mean and deviation of each channel, or read by a published network."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade import records
from saccade.data import augmentation
from saccade.data.examples import Example, Picture, Splits, inputs_of
from saccade.data.formats.image_files import SUFFIXES, fitted_image, image_of, pixels_of
from saccade.data.formats.tables import Table
from saccade.data.picture_sets import DrawnPictures
from saccade.data.tensors import PictureInput
from saccade.errors import DataError, UsageError
from saccade.layers.backbones import Backbone, BackboneGrid, Tensors, opened, shape_of
from saccade.readers import picture_features, reader
from saccade.readers.picture_features import FeatureColumn, FrozenNetwork
from saccade.readers.reader import Load, Note, numbered
from saccade.view.trace import Axis

FILE = "pixels.json"
AT_ONCE = 1000  # pictures that are counted together
SAMPLE = 10_000  # pictures that a scale is learned from, where pictures are drawn

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Config(augmentation.Config):
    """What reads pictures, and what is done to those of training."""

    backbone: str = ""
    "Directory of a ResNet or ViT in Hugging Face's layout; empty: a network of the system's own, which is trained along."
    frozen: bool = True
    "Whether the backbone stays as it is, and reads each picture once; false: it is trained on with the system."

    def __post_init__(self) -> None:
        if not self.frozen and not self.backbone:
            raise UsageError(
                "frozen: of a network of the system's own every part is trained; name a backbone, or leave it out"
            )
        if self.backbone and self.frozen and self.augments:
            fix = "set frozen=false, or leave crop, flip and color out"
            raise UsageError(
                f"backbone: a frozen one reads each picture once, so that nothing can change in training; {fix}"
            )


@dataclass(frozen=True)
class PixelScale:
    """The shape of pictures (height, width, channels), and the mean and deviation of each channel."""

    shape: tuple[int, int, int]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, pixels: Pixels) -> "PixelScale":
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

    def save(self, directory: Path) -> None:
        """Write it into the run."""
        records.save(directory / FILE, asdict(self))

    @classmethod
    def load(cls, directory: Path) -> "PixelScale":
        """Read it again."""
        record = records.load(directory / FILE)
        try:
            (height, width, channels), mean, deviation = (tuple(record[key]) for key in ("shape", "mean", "deviation"))
            if channels not in (1, 3) or not len(mean) == len(deviation) == channels or 0 in deviation:
                raise ValueError(f"expected 1 or 3 channels with a mean and a deviation each, got {record}")
        except (ValueError, TypeError, KeyError) as error:
            raise records.unreadable(directory / FILE, error) from None
        return cls((height, width, channels), mean, deviation)


class PictureColumn:
    """Pictures in bytes; a batch is made into numbers when it is wanted."""

    def __init__(self, scale: PixelScale, pixels: Pixels | DrawnPictures, config: Config) -> None:
        self.scale, self.pixels, self.config = scale, pixels, config
        self.lengths = np.ones(len(pixels), dtype=np.int64)

    def batch(self, indices: Any) -> PictureInput:
        """The tensors of these pictures."""
        return PictureInput(self.scale.standardized(self.some(np.asarray(indices, dtype=np.int64))))

    def some(self, numbers: NDArray[np.int64]) -> Pixels:
        """The pixels of these pictures, (N, height, width, channels); some are drawn only now."""
        pixels = self.pixels.pixels(numbers) if isinstance(self.pixels, DrawnPictures) else self.pixels[numbers]
        return pixels.reshape(len(numbers), *self.scale.shape)

    def in_epoch(self, seed: int, epoch: int) -> "AugmentedColumn | PictureColumn":
        """The same as this epoch of training sees them."""
        return AugmentedColumn(self, seed, epoch) if self.config.augments else self


@dataclass(frozen=True)
class AugmentedColumn:
    """Pictures that are changed at random, in a way of its own in every epoch."""

    pictures: PictureColumn
    seed: int
    epoch: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Each picture counts one."""
        return self.pictures.lengths

    def batch(self, indices: Any) -> PictureInput:
        """The tensors of these pictures."""
        numbers = np.asarray(indices, dtype=np.int64)
        pixels, config = self.pictures.some(numbers), self.pictures.config
        changed = augmentation.augmented(pixels, config, self.seed, self.epoch, numbers.tolist())
        return PictureInput(self.pictures.scale.standardized(changed))


class Reader(reader.Reader):
    """Standardizes pictures, and lets a frozen backbone read them."""

    INPUT, OWN, TYPED = Picture, "image_files", "test#0"
    unit, budget = "pictures", 200

    def __init__(
        self, config: Any, scale: PixelScale, backbone: Backbone | None = None, tensors: Tensors | None = None
    ) -> None:
        super().__init__(config)
        self.scale, self.backbone, self.tensors = scale, backbone, tensors or {}
        self.network = FrozenNetwork(backbone, self.tensors) if backbone is not None and backbone.frozen else None

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        shape = _shape_of(splits)
        if config.backbone:
            backbone, tensors = opened(config.backbone, frozen=config.frozen)
            return cls(config, _published_scale(backbone, shape), backbone, tensors)
        inputs = inputs_of(splits.train)
        if isinstance(inputs, DrawnPictures):  # of which there may be any number
            inputs = inputs[:SAMPLE]
        return cls(config, PixelScale.of(stacked(inputs, shape)))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        same = earlier.scale.shape == _shape_of(splits)
        if not same or config.backbone:
            return cls.fit(config, tokens, splits, texts)
        return cls(config, earlier.scale)

    def save(self, directory: Path) -> None:
        self.scale.save(directory)
        if self.backbone is not None:
            picture_features.save(directory, self.backbone, self.tensors)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        network = picture_features.load(directory) if config.backbone else (None, None)
        return cls(config, PixelScale.load(directory), *network)

    def sizes(self) -> dict[str, Any]:
        height, width, channels = self.scale.shape
        if self.network is not None:
            channels, height, width = shape_of(self.network.backbone, height, width)
        own = {} if self.backbone is None else {"backbone": self.backbone}
        return {"channels": channels, "height": height, "width": width, **own}

    def prepare(self, model: Any, splits: Splits, column: Any, note: Note) -> None:
        for part in model.modules() if self.tensors else ():
            if isinstance(part, BackboneGrid):
                part.network.load_state_dict(self.tensors)

    def check(self, example: Example) -> None:
        require_shape(example.input.pixels, self.scale.shape)

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        # Those that are drawn are all alike.
        return super().flaws(examples[:1] if isinstance(inputs_of(examples), DrawnPictures) else examples)

    def encode(self, inputs: Sequence[Picture]) -> PictureColumn | FeatureColumn:
        if self.network is None:
            pixels = inputs if isinstance(inputs, DrawnPictures) else stacked(inputs, self.scale.shape)
            return PictureColumn(self.scale, pixels, self.config)
        numbers: dict[int, int] = {}  # a picture with several captions is read once
        held = list(inputs)
        rows = np.array([numbers.setdefault(id(one.pixels), len(numbers)) for one in held], dtype=np.int64)
        first = {number: one for one, number in zip(held[::-1], rows[::-1].tolist(), strict=True)}
        different = stacked([first[number] for number in range(len(first))], self.scale.shape)
        return self.network.column(different, rows, self.scale.standardized)

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return [source] if isinstance(source, str) and Path(source).suffix.lower() in SUFFIXES else None

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, str) and not typed.strip():
            return None
        if isinstance(typed, str | Path):
            name = str(typed).strip()
            example = numbered(name, splits)
            return replace(example, name=name) if example else Example(self._file(Path(name).expanduser()), name=name)
        return Example(Picture(fitted_image(image_of(typed), self.scale.shape)))

    def _file(self, path: Path) -> Picture:
        return Picture(pixels_of(path, self.scale.shape))

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        """The picture, or the cells of a grid over it."""
        cells = [f"{row}, {column}" for row in range(grid[0]) for column in range(grid[1])] if grid else []
        return {"input": Axis("picture", cells, grid=grid, image=example.input.pixels.squeeze())}


def _shape_of(splits: Splits) -> tuple[int, int, int]:
    """Height, width and channels of the first training picture, which all others must have."""
    height, width, *channels = splits.train[0].input.pixels.shape
    return height, width, channels[0] if channels else 1


def _published_scale(backbone: Backbone, shape: tuple[int, int, int]) -> PixelScale:
    """How a published network wants its pixels, which are bytes here."""
    if shape[2] != backbone.channels:
        kinds = {1: "gray", 3: "in color"}
        wanted, got = kinds.get(backbone.channels, f"of {backbone.channels} channels"), kinds[shape[2]]
        raise DataError(f"reader.backbone: expected pictures that are {wanted}, got {got}; set data.colors, or leave it out")
    return PixelScale(shape, *(tuple(255 * one for one in own) for own in (backbone.mean, backbone.deviation)))


def _histograms(pixels: Pixels) -> NDArray[np.int64]:
    """How often each byte comes, (channels, 256), some pictures at a time: numpy counts in numbers of eight bytes."""
    counts = np.zeros((pixels.shape[-1], 256), np.int64)
    for first in range(0, len(pixels), AT_ONCE):
        for channel, count in enumerate(counts):
            count += np.bincount(pixels[first : first + AT_ONCE, ..., channel].ravel(), minlength=256)
    return counts


def require_shape(pixels: Pixels, shape: tuple[int, int, int]) -> None:
    """Refuse a picture that has not this height, width and number of channels."""
    if pixels.size != math.prod(shape) or pixels.shape[:2] != shape[:2]:
        raise DataError(f"expected pictures of {shape[0]} × {shape[1]} pixels and {shape[2]} channels, got {pixels.shape}")


def stacked(pictures: Sequence[Picture], shape: tuple[int, int, int]) -> Pixels:
    """Pictures of one shape as one array, (N, height, width, channels)."""
    pixels = np.empty((len(pictures), *shape), np.uint8)
    for index, one in enumerate(pictures):
        require_shape(one.pixels, shape)
        pixels[index] = one.pixels.reshape(shape)
    return pixels
