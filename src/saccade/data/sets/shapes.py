"""SHAPES: yes-no questions about pictures of colored shapes, 30 × 30 (Andreas et al. 2016).

Each question comes with 64 pictures, and no question of the test is one of training. Training is the published train.small
(10 questions); train.large is not among the files that are known, so the published protocol is not to be had.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.data import known
from saccade.data.examples import Example, Picture, PictureQuestion, Splits
from saccade.data.sets.sentences import lines
from saccade.errors import DataError

INPUT, TARGET = PictureQuestion, str
SET = "shapes"
ANSWERS = {"true": "yes", "false": "no"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """How much is learned from, and what is seen."""

    train: Literal["small", "tiny"] = "small"
    "small: 10 questions with 64 pictures each; tiny: one question."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be answered without seeing."


def load(config: Config) -> Splits:
    """All three parts."""
    return Splits(*(_part(name, config.blank) for name in (f"train.{config.train}", "val", "test")))


def _part(name: str, blank: bool) -> list[Example]:
    paths = [known.find(SET, f"{name}.{what}") for what in ("input.npy", "query_str.txt", "output")]
    pixels, asked, answers = _pixels(paths[0]), lines(paths[1]), lines(paths[2])
    if not len(pixels) == len(asked) == len(answers) or {*answers} - {*ANSWERS}:
        counts = f"{len(pixels)}, {len(asked)} and {len(answers)}"
        raise DataError(
            f"{paths[0]}: expected pictures with a question and true or false each, got {counts}; download it again"
        )
    pictures = [Picture(one).white() if blank else Picture(one) for one in pixels]
    rows = enumerate(zip(pictures, asked, answers, strict=True))
    return [Example(PictureQuestion(one, f"{text} ?"), ANSWERS[answer], "", f"{i}") for i, (one, text, answer) in rows]


def _pixels(path: Path) -> NDArray[np.uint8]:
    """Pictures (N, 30, 30, 3) in red, green and blue."""
    try:
        pixels = np.load(io.BytesIO(known.unzipped(path)), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path}: expected an array of numpy ({error}); download it again") from None
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[-1] != 3:
        raise DataError(f"{path}: expected pictures in bytes, got {pixels.dtype} {pixels.shape}; download it again")
    return np.ascontiguousarray(pixels[..., ::-1])  # the files have blue first
