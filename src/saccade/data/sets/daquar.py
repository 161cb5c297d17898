"""DAQUAR: questions on photographs of rooms (Malinowski and Fritz 2014), the full set with its official split."""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from saccade.config import Positive, Share
from saccade.data import known
from saccade.data.archives import entries
from saccade.data.examples import Example, Picture, PictureQuestion, Splits, hash_order
from saccade.data.sets.sentences import lines
from saccade.errors import DataError

INPUT, TARGET = PictureQuestion, str
SET = "daquar"
NAME = re.compile(r"\bimage\d+\b")
TAIL = re.compile(r"(?:\s+(?:in|on|of))?(?:\s+(?:the|this))?\s+image\s*\??\s*$")  # says nothing: all questions are about one


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which questions, how large the pictures are, and what is held out."""

    answers: Literal["single", "all"] = "single"
    "single: questions whose answer is one word; all: also those whose answer is a list of things."
    height: Positive = 60
    "Height that pictures are brought to, in pixels; the files have 120."
    width: Positive = 80
    "Width that pictures are brought to, in pixels; the files have 160."
    held_out: Share = 0.1
    "Share of the training pictures whose questions are held out for validation; 0: none."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be answered without seeing."


def load(config: Config) -> Splits:
    """All three parts; all questions about one picture are in one of them."""
    pictures = _pictures(known.find(SET, "images_160x120.zip"), config)
    examples = _examples(known.find(SET, "all_qa_pairs.txt"), pictures, config)
    parts = {name: {*lines(known.find(SET, f"{name}_images_list.txt"))} for name in ("train", "test")}
    valid = {name for name in parts["train"] if hash_order(name, "held") % 1000 < 1000 * config.held_out}
    chosen = (parts["train"] - valid, valid, parts["test"])
    return Splits(*([one for one in examples if one.name in names] for names in chosen))


def kind(question: str) -> str:
    """What is asked for: a number, a color, or a thing."""
    return "number" if question.startswith("how many") else "color" if "color" in question else "thing"


def _examples(path: Path, pictures: dict[str, Picture], config: Config) -> list[Example]:
    """A question and its answer, line after line."""
    rows = [line.strip() for line in lines(path)]
    if len(rows) % 2:
        raise DataError(
            f"{path}: expected a question and an answer, line after line, got {len(rows)} lines; download it again"
        )
    return [
        one
        for number, (asked, answer) in enumerate(zip(rows[::2], rows[1::2], strict=True))
        if config.answers == "all" or "," not in answer
        for one in [_example(f"{path}:{2 * number + 1}", asked, answer, pictures)]
    ]


def _example(where: str, asked: str, answer: str, pictures: dict[str, Picture]) -> Example:
    name = next(reversed(NAME.findall(asked)), "")
    if name not in pictures:
        raise DataError(f"{where}: expected a question on a picture such as image1, got {asked[:60]!r}; download it again")
    question = TAIL.sub("", NAME.sub("image", asked)).removesuffix("?").rstrip() + " ?"
    return Example(PictureQuestion(pictures[name], question), answer, kind(question), name)


def _pictures(path: Path, config: Config) -> dict[str, Picture]:
    """The pictures by their names."""
    return {
        Path(name).stem: _picture(read(), (config.width, config.height), config.blank) for name, _, read in entries(path)
    }


def _picture(content: bytes, size: tuple[int, int], blank: bool) -> Picture:
    with Image.open(io.BytesIO(content)) as image:
        small = image.convert("RGB").resize(size, Image.Resampling.BOX)
    picture = Picture(np.asarray(small))
    return picture.white() if blank else picture
