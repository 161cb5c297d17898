"""Pictures of words, of any shape: in gray, scaled to one height and width, each around its own mean.

Nothing is cut off, so that no letter is lost: a word is stretched or squeezed to the shape of all (Shi et al. 2016).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from saccade.config import Positive
from saccade.data.examples import Example, Picture
from saccade.data.formats.image_files import SUFFIXES, image_of, opened, upright
from saccade.data.formats.tables import Table
from saccade.data.tensors import PictureInput
from saccade.readers import reader
from saccade.readers.reader import Load, numbered
from saccade.view.trace import Axis

GRAY = "L"
FLAT = 8.0  # added to the deviation of a picture's bytes: of an empty picture nothing is made

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What all pictures are made into, in training and later."""

    height: Positive = 32
    "Height in pixels that pictures are scaled to."
    width: Positive = 100
    "Width in pixels that pictures are scaled to, short words as well as long ones."


def fitted(pixels: Pixels, height: int, width: int) -> Pixels:
    """The whole picture in gray, (height, width), stretched where its shape is another."""
    if pixels.shape == (height, width):
        return pixels
    image = Image.fromarray(pixels.squeeze(-1) if pixels.shape[2:] == (1,) else pixels).convert(GRAY)
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))


class WordPictures:
    """Pictures of one shape in bytes, (N, height, width); a batch is made into numbers when it is wanted."""

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels
        self.lengths = np.ones(len(pixels), dtype=np.int64)

    def batch(self, indices: Any) -> PictureInput:
        """The tensors of these pictures, each with mean 0 and nearly deviation 1: pale words are as dark as others."""
        values = torch.from_numpy(self.pixels[np.asarray(indices, dtype=np.int64)]).float()
        deviation, mean = torch.std_mean(values, (1, 2), correction=0, keepdim=True)
        return PictureInput(values.sub_(mean).div_(deviation + FLAT)[..., None].permute(0, 3, 1, 2))


class Reader(reader.Reader):
    """Scales pictures to one shape."""

    INPUT, OWN, TYPED = Picture, "word_files", "test#0"
    unit, budget = "pictures", 200

    def sizes(self) -> dict[str, Any]:
        return {"channels": 1, "height": self.config.height, "width": self.config.width}

    def encode(self, inputs: Sequence[Picture]) -> WordPictures:
        pixels = np.empty((len(inputs), self.config.height, self.config.width), np.uint8)
        for index, one in enumerate(inputs):
            pixels[index] = self._fitted(one.pixels)
        return WordPictures(pixels)

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return [source] if isinstance(source, str) and Path(source).suffix.lower() in SUFFIXES else None

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, str) and not typed.strip():
            return None
        name = str(typed).strip() if isinstance(typed, str | Path) else "picture"
        example = numbered(typed, splits)
        if example is not None:
            return replace(example, name=name)
        return Example(Picture(_pixels(Path(name).expanduser() if isinstance(typed, str | Path) else typed)), name=name)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        """The cells of a grid over the picture as it is read."""
        rows, columns = grid or (1, 1)
        cells = [f"{row}, {column}" for row in range(rows) for column in range(columns)]
        return {"input": Axis("picture", cells, grid=(rows, columns), image=self._fitted(example.input.pixels))}

    def _fitted(self, pixels: Pixels) -> Pixels:
        return fitted(pixels, self.config.height, self.config.width)


def _pixels(typed: Any) -> Pixels:
    """The pixels of a file, of an image of Pillow or of an array, in gray."""
    if isinstance(typed, Path):
        return np.asarray(opened(typed, 1))
    return np.asarray(upright(image_of(typed), 1))
