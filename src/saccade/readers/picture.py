"""Pictures: standardized by the mean and deviation of each channel."""

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
from saccade.config import Empty
from saccade.data.examples import Example, Picture, Splits, inputs_of
from saccade.data.formats.image_files import SUFFIXES, fitted_image, pixels_of
from saccade.data.formats.tables import Table
from saccade.data.picture_sets import DrawnPictures
from saccade.data.tensors import PictureInput
from saccade.errors import DataError, UsageError
from saccade.readers import reader
from saccade.readers.reader import Load, numbered
from saccade.view.trace import Axis

FILE = "pixels.json"
AT_ONCE = 1000  # pictures that are counted together
SAMPLE = 10_000  # pictures that a scale is learned from, where pictures are drawn

Pixels = NDArray[np.uint8]
Config = Empty


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

    def __init__(self, scale: PixelScale, pixels: Pixels | DrawnPictures) -> None:
        self.scale, self.pixels = scale, pixels
        self.lengths = np.ones(len(pixels), dtype=np.int64)

    def batch(self, indices: Any) -> PictureInput:
        """The tensors of these pictures."""
        places = np.asarray(indices, dtype=np.int64)
        pixels = self.pixels.pixels(places) if isinstance(self.pixels, DrawnPictures) else self.pixels[places]
        return PictureInput(self.scale.standardized(pixels.reshape(len(places), *self.scale.shape)))


class Reader(reader.Reader):
    """Standardizes pictures."""

    INPUT, OWN, TYPED = Picture, "image_files", "test#0"
    unit, budget = "pictures", 200

    def __init__(self, config: Any, scale: PixelScale) -> None:
        super().__init__(config)
        self.scale = scale

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        first = splits.train[0].input.pixels.shape
        shape = (first[0], first[1], first[2] if len(first) == 3 else 1)
        inputs = inputs_of(splits.train)
        if isinstance(inputs, DrawnPictures):  # of which there may be any number
            inputs = inputs[:SAMPLE]
        return cls(config, PixelScale.of(stacked(inputs, shape)))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        own, before = splits.train[0].input.pixels.shape, earlier.scale
        same = before.shape == (own[0], own[1], own[2] if len(own) == 3 else 1)
        return cls(config, before) if same else cls.fit(config, tokens, splits, texts)

    def save(self, directory: Path) -> None:
        self.scale.save(directory)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        return cls(config, PixelScale.load(directory))

    def sizes(self) -> dict[str, Any]:
        height, width, channels = self.scale.shape
        return {"channels": channels, "height": height, "width": width}

    def check(self, example: Example) -> None:
        require_shape(example.input.pixels, self.scale.shape)

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        # Those that are drawn are all alike.
        return super().flaws(examples[:1] if isinstance(inputs_of(examples), DrawnPictures) else examples)

    def encode(self, inputs: Sequence[Picture]) -> PictureColumn:
        if isinstance(inputs, DrawnPictures):
            return PictureColumn(self.scale, inputs)
        return PictureColumn(self.scale, stacked(inputs, self.scale.shape))

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return [source] if isinstance(source, str) and Path(source).suffix.lower() in SUFFIXES else None

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, str) and not typed.strip():
            return None
        if isinstance(typed, str | Path):
            name = str(typed).strip()
            example = numbered(name, splits)
            return replace(example, name=name) if example else Example(self._file(Path(name).expanduser()), name=name)
        if hasattr(typed, "convert"):  # an image of Pillow
            return Example(Picture(fitted_image(typed, self.scale.shape)))
        pixels = np.asarray(typed)
        if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
            expected = "a file, an image of Pillow, or an array of bytes (height, width) or (height, width, 3)"
            raise UsageError(f"expected a picture: {expected}, got {type(typed).__name__} {pixels.dtype} {pixels.shape}")
        require_shape(pixels, self.scale.shape)
        return Example(Picture(pixels))

    def _file(self, path: Path) -> Picture:
        return Picture(pixels_of(path, self.scale.shape))

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        """The picture, or the cells of a grid over it."""
        cells = [f"{row}, {column}" for row in range(grid[0]) for column in range(grid[1])] if grid else []
        return {"input": Axis("picture", cells, grid=grid, image=example.input.pixels.squeeze())}


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
