"""Where is the red square? Made pictures and questions on absolute and relative places (Xu and Saenko 2016, section 4.1).

Each picture comes with one question for each direction, of which one is to be answered by yes: without seeing, nobody does
better than 75 %. The paper's second object is a cat; here it is a square of another color.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.config import Count, Positive
from saccade.data.draws import Draws, Integers
from saccade.data.examples import Example, Picture, PictureQuestion, Splits
from saccade.errors import UsageError

INPUT, TARGET = PictureQuestion, str
COLORS = {
    "red": (220, 30, 30),
    "blue": (40, 70, 220),
    "green": (30, 160, 60),
    "yellow": (240, 200, 40),
    "black": (30, 30, 30),
    "orange": (250, 130, 20),
    "purple": (140, 50, 170),
    "gray": (150, 150, 150),
}
DIRECTIONS = {"top": (0, -1), "bottom": (0, 1), "left": (-1, 0), "right": (1, 0)}  # steps to the right and down
SIDE = 6  # of a square, in pixels
CLEAR = 4  # pixels by which one direction must be more so than any other
TRIES = 64  # drawn together until enough pictures are clear


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which questions, and how many pictures."""

    task: Literal["absolute", "relative"] = "absolute"
    "absolute: is there a red square on the top?; relative: is there a red square on the top of the blue square?"
    others: Count = 0
    "Further squares of other colors; with any, the two that are asked about have any colors, too."
    size: Positive = 32
    "Height and width of a picture in pixels."
    train_size: Positive = 4000
    "Training pictures, with four questions each."
    valid_size: Positive = 500
    "Validation pictures."
    test_size: Positive = 1000
    "Test pictures."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be answered without seeing."
    seed: Count = 0
    "Decides which pictures are made."

    def __post_init__(self) -> None:
        if self.others > len(COLORS) - 2:
            raise UsageError(f"others: expected at most {len(COLORS) - 2} of {len(COLORS)} colors, got {self.others}")
        if self.size < 4 * SIDE:
            raise UsageError(f"size: expected at least {4 * SIDE} pixels, got {self.size}")


def load(config: Config) -> Splits:
    """All three parts."""
    counts = (config.train_size, config.valid_size, config.test_size)
    return Splits(*(list(_made(count, config, part)) for part, count in enumerate(counts)))


def _made(count: int, config: Config, part: int) -> Iterator[Example]:
    """Four examples for each of so many pictures."""
    draws = Draws(config.seed, part)
    places = _placed(count, config, draws)
    squares = places.shape[1]
    for number, corners in enumerate(places):
        order = draws.order(len(COLORS))[:squares] if config.others else np.arange(squares)
        names = [list(COLORS)[color] for color in order]
        picture = Picture(_drawn(corners, names, config.size))
        picture = picture.white() if config.blank else picture
        right = _direction(_offsets(corners[None], config))[0]
        for index, direction in enumerate(DIRECTIONS):
            behind = f" of the {names[1]} square" if config.task == "relative" else ""
            question = f"is there a {names[0]} square on the {direction}{behind} ?"
            yield Example(PictureQuestion(picture, question), "yes" if index == right else "no", direction, f"{number}")


def _placed(count: int, config: Config, draws: Draws) -> Integers:
    """Upper left corners (count, squares, 2), x before y, of squares that do not touch and whose direction is clear."""
    squares = 1 + (config.task == "relative") + config.others
    found: list[Integers] = []
    while sum(map(len, found)) < count:
        corners = draws.whole(0, config.size - SIDE, TRIES, squares, 2)
        apart = np.abs(corners[:, :, None] - corners[:, None]).max(-1) > SIDE
        steps = np.sort(np.abs(_offsets(corners, config)), 1)
        good = (apart | np.eye(squares, dtype=bool)).all((1, 2)) & (steps[:, 1] - steps[:, 0] >= CLEAR)
        found.append(corners[good])
    return np.concatenate(found)[:count]


def _offsets(corners: Integers, config: Config) -> Integers:
    """How far the first square is to the right of, and below, the second or the picture's center, in half pixels."""
    center = 2 * corners[:, 1] if config.task == "relative" else np.array([config.size - SIDE] * 2)
    return 2 * corners[:, 0] - center


def _direction(offsets: Integers) -> Integers:
    """The number of the direction that a step goes most into."""
    numbers: Integers = (offsets @ np.array(list(DIRECTIONS.values())).T).argmax(1)
    return numbers


def _drawn(corners: Integers, names: list[str], size: int) -> NDArray[np.uint8]:
    """Squares of these colors on white."""
    pixels = np.full((size, size, 3), 255, np.uint8)
    for (x, y), name in zip(corners, names, strict=True):
        pixels[y : y + SIDE, x : x + SIDE] = COLORS[name]
    return pixels
