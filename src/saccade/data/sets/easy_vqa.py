"""easy-VQA: questions about pictures with one colored shape, 64 × 64 (Zhou 2019)."""

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from saccade.config import Positive, Share
from saccade.data import known
from saccade.data.archives import entries
from saccade.data.examples import Example, Picture, PictureQuestion, Splits, hash_order
from saccade.errors import DataError

INPUT, TARGET = PictureQuestion, str
SET, FILE = "easy-vqa", "easy-vqa-data.zip"
MEMBER = re.compile(r"(?:^|/)data/(train|test)/(?:images/(\d+)\.png|questions\.json)$")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is held out, and what is seen."""

    size: Positive = 64
    "Height and width that pictures are brought to, in pixels; the files have 64."
    held_out: Share = 0.1
    "Share of the training pictures whose questions are held out for validation; 0: none."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be answered without seeing."


def load(config: Config) -> Splits:
    """All three parts; all questions about one picture are in one of them."""
    learned, test = _parts(known.find(SET, FILE), config)
    held = [hash_order(one.name, "held") % 1000 < 1000 * config.held_out for one in learned]
    train, valid = ([one for one, out in zip(learned, held, strict=True) if out == wanted] for wanted in (False, True))
    return Splits(train, valid, test)


def kind(question: str, answer: str) -> str:
    """What is asked for: a color, a shape, or yes or no."""
    if answer in ("yes", "no"):
        return "yes or no"
    return "color" if "color" in question else "shape"


def _parts(path: Path, config: Config) -> list[list[Example]]:
    """Training and test examples of the archive."""
    pictures: dict[tuple[str, str], Picture] = {}
    questions: dict[str, list[Any]] = {}
    for name, _, read in entries(path):
        if found := MEMBER.search(name):
            part, number = found.groups()
            if number is None:
                questions[part] = json.loads(read())
            else:
                pictures[part, number] = _picture(read(), config)
    try:
        return [
            [
                Example(PictureQuestion(pictures[part, f"{number}"], asked), answer, kind(asked, answer), f"{number}.png")
                for asked, answer, number in questions[part]
            ]
            for part in ("train", "test")
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{path}: expected pictures and questions of both parts, got none of {error}; download it again"
        ) from None


def _picture(content: bytes, config: Config) -> Picture:
    with Image.open(io.BytesIO(content)) as image:
        picture = Picture(np.asarray(image.convert("RGB").resize((config.size, config.size), Image.Resampling.BOX)))
    return picture.white() if config.blank else picture
