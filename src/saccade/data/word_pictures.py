"""Words drawn in gray as they stand in the wild: straight or on an arc, turned, in perspective, before clutter, blurred.

Every picture depends on nothing but the word, the font and the numbers that are drawn for it. Where each pixel comes from is
computed backwards, from the picture to the line of letters, so that arc, turn and perspective are one step.
"""

import io
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from saccade.data.draws import Draws

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

FONT_SIZE = 32
BORDER = 3  # of black around the letters, so that what is read beyond them is black
EDGE = 16  # points on each side of a line of letters, by which its place in the picture is found
LEAST_CONTRAST = 40.0
CLEAR = (0.4, 0.6)  # of straight and of curved words the least share of its resolution that a picture keeps
FLATTEST = 0.9  # heights of a line of letters that the radius of its arc has at least


class Geometry(NamedTuple):
    """How a line of letters lies in a picture: angles in radians, all others as shares of its size."""

    arc: float
    """What the line's ends are turned against each other; negative where the middle hangs down; 0: straight."""
    turn: float
    slant: float
    perspective: tuple[float, float]
    margins: tuple[float, float, float, float]
    """What is left free (or cut off, where negative) at the left, the top, the right and the bottom."""


def geometry(numbers: Iterator[float], *, curved: bool) -> Geometry:
    """One drawn for a line that is straight or on an arc."""

    def between(low: float, high: float) -> float:
        return low + (high - low) * next(numbers)

    side = 1 if next(numbers) < 0.5 else -1
    bent = side * math.radians(between(50, 170))
    arc = bent if curved else 0.0
    turn = math.radians(between(-25, 25) if curved else between(-7, 7))
    left, top, right, bottom = (between(-0.02, 0.08) for _ in range(4))
    slant, perspective = between(-0.25, 0.25), (between(-0.2, 0.2), between(-0.15, 0.15))
    return Geometry(arc, turn, slant, perspective, (left, top, right, bottom))


def _bend(x: Floats, y: Floats, arc: float, width: float) -> tuple[Floats, Floats]:
    """Points of the straight line, around its middle, where the arc has them."""
    if arc == 0:
        return x, y
    radius = width / arc  # negative: the center is above
    angle, length = x / radius, radius - y
    return length * np.sin(angle), radius - length * np.cos(angle)


def _straighten(x: Floats, y: Floats, arc: float, width: float) -> tuple[Floats, Floats]:
    """The way back."""
    if arc == 0:
        return x, y
    radius = width / arc
    sign = math.copysign(1.0, radius)
    angle, length = np.arctan2(sign * x, sign * (radius - y)), sign * np.hypot(x, radius - y)
    return angle * radius, radius - length


def _tilt(own: Geometry, width: float, height: float) -> Floats:
    """Turn, slant and perspective as one 3 × 3 matrix over points (x, y, 1) around the middle."""
    cos, sin = math.cos(own.turn), math.sin(own.turn)
    turned = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]) @ np.array([[1, own.slant, 0], [0, 1, 0], [0, 0, 1]])
    far = np.array([[1, 0, 0], [0, 1, 0], [own.perspective[0] / max(width, height), own.perspective[1] / height, 1]])
    matrix: Floats = far @ turned
    return matrix


def _moved(matrix: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    a, b, c = (row[0] * x + row[1] * y + row[2] for row in matrix)
    return a / c, b / c


def sources(own: Geometry, letters: tuple[int, int], shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Row and column of the line of letters (its height and width) that each pixel of a picture of this shape shows."""
    height, width = letters
    along, down = np.linspace(-width / 2, width / 2, EDGE), np.linspace(-height / 2, height / 2, EDGE)
    x = np.concatenate((along, along, np.full(EDGE, -width / 2), np.full(EDGE, width / 2)))
    y = np.concatenate((np.full(EDGE, -height / 2), np.full(EDGE, height / 2), down, down))
    bent_x, bent_y = _bend(x, y, own.arc, width)
    matrix = _tilt(own, float(np.ptp(bent_x)), float(np.ptp(bent_y)))
    x, y = _moved(matrix, bent_x, bent_y)
    left, top, right, bottom = own.margins
    columns: Floats = np.linspace(x.min() - left * np.ptp(x), x.max() + right * np.ptp(x), shape[1])
    rows: Floats = np.linspace(y.min() - 2 * top * np.ptp(y), y.max() + 2 * bottom * np.ptp(y), shape[0])
    back = np.asarray(np.linalg.inv(matrix), np.float64)
    x, y = _moved(back, np.broadcast_to(columns, shape), np.broadcast_to(rows[:, None], shape))
    x, y = _straighten(x, y, own.arc, width)
    return y + height / 2, x + width / 2


def sampled(image: Floats, rows: Floats, columns: Floats) -> Floats:
    """The image between its pixels; beyond its edge is what the edge has."""
    height, width = image.shape
    rows, columns = rows.clip(0, height - 1.001), columns.clip(0, width - 1.001)
    top, left = rows.astype(np.intp), columns.astype(np.intp)
    down, right = rows - top, columns - left
    flat, first = image.ravel(), top * width + left
    above = flat[first] * (1 - right) + flat[first + 1] * right
    below = flat[first + width] * (1 - right) + flat[first + width + 1] * right
    mixed: Floats = above * (1 - down) + below * down
    return mixed


def _letters(text: str, font: ImageFont.FreeTypeFont, spacing: float, stroke: int) -> Image.Image:
    """A line of letters, white on black, with a border; `spacing` is what is left free after each, in letters."""
    parts = list(text) if spacing else [text]
    ends = np.cumsum([font.getlength(part) + spacing * FONT_SIZE for part in parts])
    boxes = [font.getbbox(part, anchor="ls", stroke_width=stroke) for part in parts]
    starts = np.array([0.0, *ends[:-1]])
    left = min(start + box[0] for start, box in zip(starts, boxes, strict=True))
    right = max(start + box[2] for start, box in zip(starts, boxes, strict=True))
    top, bottom = min(box[1] for box in boxes), max(box[3] for box in boxes)
    line = Image.new("L", (math.ceil(right - left) + 2 * BORDER, math.ceil(bottom - top) + 2 * BORDER))
    pen = ImageDraw.Draw(line)
    for start, part in zip(starts, parts, strict=True):
        pen.text((BORDER + start - left, BORDER - top), part, 255, font, anchor="ls", stroke_width=stroke)
    return line


def _shown(line: Image.Image, own: Geometry, shape: tuple[int, int]) -> Floats:
    """How much of each pixel is letter, from 0 to 1."""
    rows, columns = sources(own, (line.height, line.width), shape)
    # Where a pixel of the picture covers several of the line, these are averaged before.
    step = (np.abs(np.diff(rows, axis=0)).mean(), np.abs(np.diff(columns, axis=1)).mean())
    small = tuple(max(2, round(side / max(1.0, by))) for side, by in zip((line.height, line.width), step, strict=True))
    scaled = np.asarray(line.resize(small[::-1], Image.Resampling.BOX), np.float64) / 255
    return sampled(scaled, (rows + 0.5) * small[0] / line.height - 0.5, (columns + 0.5) * small[1] / line.width - 0.5)


def _cloudy(draws: Draws, shape: tuple[int, int], cells: tuple[int, int]) -> Floats:
    """Smooth light and shade, from 0 to 1."""
    coarse = draws.uniform(*cells)
    rows, columns = np.linspace(0, cells[0] - 1, shape[0]), np.linspace(0, cells[1] - 1, shape[1])
    return sampled(coarse, *np.broadcast_arrays(rows[:, None], columns))


def _cluttered(ground: Floats, numbers: Iterator[float], count: int) -> Floats:
    """The ground with so many straight edges, beyond which it is lighter or darker, or bars."""
    height, width = ground.shape
    y, x = np.mgrid[:height, :width]
    for _ in range(count):
        angle, place, strength, bar = (next(numbers) for _ in range(4))
        angle = math.pi * angle if place < 0.4 else math.pi * round(2 * angle) / 2  # mostly along the sides
        distance = (x - next(numbers) * width) * math.sin(angle) + (y - next(numbers) * height) * math.cos(angle)
        inside = np.abs(distance) < 1 + 3 * bar if bar < 0.6 else distance > 0
        ground = ground + 80 * (strength - 0.5) * inside
    return ground


def _low(image: Image.Image, share: float) -> Image.Image:
    """The image as if it had been taken from farther away."""
    size = image.size
    small = (max(8, round(size[0] * share)), max(8, round(size[1] * share)))
    return image.resize(small, Image.Resampling.BILINEAR).resize(size, Image.Resampling.BICUBIC)


def _compressed(image: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(file)


def word_picture(text: str, font: ImageFont.FreeTypeFont, shape: tuple[int, int], draws: Draws, *, curved: bool) -> Pixels:
    """The word in this font, straight or on an arc, (height, width); everything else is drawn."""
    numbers = iter(draws.uniform(64).tolist())
    own = geometry(numbers, curved=curved)
    spacing = 0.5 * next(numbers) if next(numbers) < 0.25 else 0.0
    line = _letters(text, font, spacing, 0)
    limit = FLATTEST * line.width / line.height
    own = own._replace(arc=min(max(own.arc, -limit), limit))
    outlined = next(numbers) < 0.15
    letters = _shown(line, own, shape)
    around = _shown(_letters(text, font, spacing, 2), own, shape) if outlined else None
    return _photographed(_printed(letters, around, numbers, draws), numbers, draws, CLEAR[curved])


def _printed(letters: Floats, outline: Floats | None, numbers: Iterator[float], draws: Draws) -> Floats:
    """The letters in some gray, with an outline, a shadow or nothing, on a ground with light, shade and clutter."""
    light, dark = 255 - 120 * next(numbers) ** 2, 120 * next(numbers) ** 2
    ground, ink = (light, dark) if next(numbers) < 0.5 else (dark, light)
    fade = next(numbers) * (1 - LEAST_CONTRAST / abs(light - dark)) if abs(light - dark) > LEAST_CONTRAST else 0.0
    ink += fade**2 * (ground - ink)
    paper = ground + 70 * next(numbers) * (_cloudy(draws, letters.shape, (3, 6)) - 0.5)
    if next(numbers) < 0.3:
        paper = _cluttered(paper, numbers, 1 + int(3 * next(numbers)))
    if outline is not None:
        paper += outline * (255 * next(numbers) - paper) * 0.5
    elif next(numbers) < 0.1:
        paper += np.roll(letters, (1, 2), (0, 1)) * (255 * next(numbers) - paper) * 0.6
    printed: Floats = paper + letters * (ink + 40 * next(numbers) * (_cloudy(draws, letters.shape, (2, 5)) - 0.5) - paper)
    return printed


def _photographed(values: Floats, numbers: Iterator[float], draws: Draws, clear: float) -> Pixels:
    """The same as a camera may have taken it: from afar or out of focus, compressed, with noise."""
    image = Image.fromarray(values.clip(0, 255).astype(np.uint8))
    if next(numbers) < 0.35:
        image = _low(image, clear + 0.4 * next(numbers))
    elif next(numbers) < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(0.55 / clear * next(numbers)))
    if next(numbers) < 0.2:
        image = _compressed(image, 20 + int(60 * next(numbers)))
    noise = 14 * next(numbers) ** 3 * draws.normal(*values.shape)
    return np.asarray(np.asarray(image) + noise).clip(0, 255).astype(np.uint8)
