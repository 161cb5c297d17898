"""The colors of every drawing: a ramp of rising lightness, one for signed numbers, and colors for things side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.view.output.scales import Floats

# Nine colors picked by eye, ordered by lightness; `ramp` mixes neighbors.
ANCHORS = np.array(
    [
        (34, 14, 66),
        (57, 38, 112),
        (54, 74, 140),
        (42, 107, 148),
        (30, 138, 146),
        (50, 168, 129),
        (108, 194, 102),
        (177, 214, 78),
        (250, 231, 84),
    ],
    dtype=np.float64,
)
# Below 0 blue, above 0 red, both darker the farther they are: for what is no attention (`attribution`).
SIGNED = np.array(
    [(17, 66, 133), (65, 131, 192), (158, 198, 226), (245, 245, 247), (244, 182, 150), (211, 94, 75), (130, 16, 38)]
)
BELOW, ABOVE = SIGNED[1], SIGNED[-2]
PAPER, WORD, SENTENCE = (
    (251, 251, 253),
    (255, 176, 59),
    (214, 69, 93),
)  # weight 0; the largest of words, of sentences
MISSING = (150, 150, 150)  # a cell that is not a number: gray, which the ramp never is

# Dark and light by turns: neighbors differ also for readers who tell few hues apart.
DISTINCT = ("#1f4fc0", "#ee7b1c", "#0b6e5a", "#d9599f", "#644a00", "#45a5cc", "#5b3fb5", "#8f9330")


def ramp(unit: ArrayLike, anchors: NDArray[Any] = ANCHORS) -> NDArray[np.uint8]:
    """Colors (…, 3) for numbers between 0 and 1; numbers outside take the nearest end, NaN is gray."""
    values = np.asarray(unit, dtype=np.float64)
    missing = np.isnan(values)
    place = np.where(missing, 0.0, np.clip(values, 0.0, 1.0)) * (len(anchors) - 1)
    channels = [np.interp(place, np.arange(len(anchors)), channel) for channel in anchors.T]
    mixed = np.stack(channels, axis=-1).round()
    return np.where(missing[..., None], np.array(MISSING), mixed).astype(np.uint8)


def tint(share: float, color: ArrayLike = WORD) -> NDArray[np.uint8]:
    """From paper (0) to this color (1): the shade of a word, a bar or a frame."""
    mixed = np.array(PAPER) + (np.asarray(color) - np.array(PAPER)) * min(max(share, 0.0), 1.0)
    return np.asarray(mixed.round(), dtype=np.uint8)


def class_colors(classes: Sequence[str]) -> dict[str, str]:
    """A color for each class, in the order of their names; those that are too many for colors of their own share gray."""
    names = sorted(set(classes))
    return {name: DISTINCT[number] if number < len(DISTINCT) else hexadecimal(MISSING) for number, name in enumerate(names)}


def hexadecimal(color: ArrayLike) -> str:
    """`#rrggbb` for one color of three channels."""
    red, green, blue = (int(channel) for channel in np.asarray(color))
    return f"#{red:02x}{green:02x}{blue:02x}"


def lightness(color: ArrayLike) -> Floats:
    """Perceived brightness between 0 and 1 (Rec. 709 weights): what decides whether ink on a color is dark or light."""
    return np.asarray(np.asarray(color, dtype=np.float64) @ np.array([0.2126, 0.7152, 0.0722]) / 255)
