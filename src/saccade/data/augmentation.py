"""Pictures as an epoch of training sees them: cut, mirrored and colored by random numbers of (seed, epoch, example)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.config import Share
from saccade.data.draws import Draws

Pixels = NDArray[np.uint8]
GRAY = np.array([0.299, 0.587, 0.114], np.float32)  # how bright red, green and blue are (ITU-R 601)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What may be done to a training picture."""

    crop: Share = 0.0
    "Share of a training picture's height and width that may be cut away; what is left is scaled up again."
    flip: Share = 0.0
    "Chance that a training picture is mirrored, left to right; not for pictures of texts, or of what is left and right."
    color: Share = 0.0
    "How far brightness, contrast and saturation of a training picture may change, as shares of themselves."

    @property
    def augments(self) -> bool:
        """Whether training pictures change at all."""
        return bool(self.crop or self.flip or self.color)


def augmented(pixels: Pixels, config: Config, seed: int, epoch: int, numbers: Sequence[int]) -> Pixels:
    """These pictures (B, height, width, channels) in this epoch; `numbers` are those of their examples."""
    drawn = [Draws(seed, epoch, int(number)).uniform(7) for number in numbers]
    return np.stack([_changed(one, config, own) for one, own in zip(pixels, drawn, strict=True)])


def _changed(pixels: Pixels, config: Config, chances: NDArray[np.float64]) -> Pixels:
    size, down, right, mirrored, *factors = chances
    if config.crop:
        pixels = cropped(pixels, 1 - config.crop * size, down, right)
    if mirrored < config.flip:
        pixels = pixels[:, ::-1]
    return colored(pixels, *(1 + config.color * (2 * one - 1) for one in factors)) if config.color else pixels


def cropped(pixels: Pixels, size: float, down: float, right: float) -> Pixels:
    """A window of this share of height and width, at these shares of the way down and right, scaled up to the whole."""
    height, width, channels = pixels.shape
    top, left = down * (1 - size) * height, right * (1 - size) * width
    box = (left, top, left + size * width, top + size * height)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR, box)).reshape(pixels.shape)


def colored(pixels: Pixels, brightness: float, contrast: float, saturation: float) -> Pixels:
    """All numbers times `brightness`; their distance from the mean times `contrast`, from their gray times `saturation`."""
    values = pixels.astype(np.float32) * np.float32(brightness)
    gray = values @ GRAY if values.shape[-1] == 3 else values[..., 0]
    values = gray.mean() + (values - gray.mean()) * np.float32(contrast)
    if values.shape[-1] == 3:
        gray = (values @ GRAY)[..., None]
        values = gray + (values - gray) * np.float32(saturation)
    whole: Pixels = values.round().clip(0, 255).astype(np.uint8)
    return whole
