"""Pictures of words, of any shape: in gray, scaled to one height and width, whatever that does to their shape."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from saccade.config import Positive
from saccade.data.examples import Example, Picture, Splits
from saccade.data.formats.image_files import opened
from saccade.errors import UsageError
from saccade.readers import picture
from saccade.readers.picture import PictureColumn, Pixels, PixelScale
from saccade.readers.reader import Load, numbered

GRAY = "L"


@dataclass(frozen=True, kw_only=True)
class Config:
    """What all pictures are made into; training and prediction scale alike."""

    height: Positive = 32
    "Height in pixels that pictures are scaled to."
    width: Positive = 100
    "Width in pixels that pictures are scaled to, as those of long words, so of short ones (Shi et al. 2016)."


def fitted(pixels: Pixels, height: int, width: int) -> Pixels:
    """The whole picture in gray, (height, width), stretched where its shape is another; nothing is cut off."""
    if pixels.shape == (height, width):
        return pixels
    return scaled(Image.fromarray(pixels.squeeze()).convert(GRAY), height, width)


def scaled(image: Image.Image, height: int, width: int) -> Pixels:
    """The same of a gray image that is open."""
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))


class Reader(picture.Reader):
    """Scales pictures to one shape, and standardizes them."""

    config: Config

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        return cls(config, PixelScale.of(_together(config, [example.input for example in splits.train])))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: Any) -> "Reader":
        same = earlier.scale.shape == (config.height, config.width, 1)
        return cls(config, earlier.scale) if same else cls.fit(config, tokens, splits, texts)

    def check(self, example: Example) -> None:
        """Every picture can be scaled."""

    def encode(self, inputs: Sequence[Picture]) -> PictureColumn:
        return PictureColumn(self.scale, _together(self.config, inputs))

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, str) and not typed.strip():
            return None
        example = numbered(typed, splits)
        if example is None:
            name = str(typed).strip() if isinstance(typed, str | Path) else ""
            example = Example(Picture(self._pixels(Path(name).expanduser() if name else typed)), name=name)
        shown = Picture(fitted(example.input.pixels, self.config.height, self.config.width))
        return replace(example, input=shown, name=example.name or "picture")

    def _pixels(self, typed: Any) -> Pixels:
        """The pixels of a file, of an image of Pillow or of an array, as they are."""
        if isinstance(typed, Path):
            return np.asarray(opened(typed, 1))
        if hasattr(typed, "convert"):  # an image of Pillow
            return np.asarray(typed.convert(GRAY))
        pixels = np.asarray(typed)
        if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or 0 in pixels.shape:
            expected = "a file, an image of Pillow, or an array of bytes (height, width) or (height, width, 3)"
            raise UsageError(f"expected a picture: {expected}, got {type(typed).__name__} {pixels.dtype} {pixels.shape}")
        return pixels


def _together(config: Config, pictures: Sequence[Picture]) -> Pixels:
    """Pictures as one array, (N, height, width, 1)."""
    pixels = np.empty((len(pictures), config.height, config.width, 1), np.uint8)
    for index, one in enumerate(pictures):
        pixels[index, ..., 0] = fitted(one.pixels, config.height, config.width)
    return pixels
