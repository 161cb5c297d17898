"""Photographs with five captions each: 900 of the 8,000 of Flickr8k (Hodosh et al. 2013), at most 200 pixels wide or high.

A training picture comes with each of its captions in turn; a picture of the other parts comes once, with all of them.
"""

import csv
import io
from collections import defaultdict
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

import numpy as np
from PIL import Image

from saccade.config import Positive, Share
from saccade.data import archives, known
from saccade.data.examples import Example, Picture, Splits, hash_order
from saccade.data.formats.image_files import Pixels, fitted_image
from saccade.errors import DataError

INPUT, TARGET = Picture, str
SET = "flickr8k-1000"


@dataclass(frozen=True, kw_only=True)
class Config:
    """What pictures are made into, and what is held out."""

    size: Positive = 64
    "Height and width in pixels that all pictures are brought to."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be told without seeing."
    valid: Share = 0.1
    "Share of the pictures in the validation set."
    test: Share = 0.1
    "Share of the pictures in the test set."
    captions: Literal["lower", "published"] = "lower"
    "lower: in small letters and without the period at the end; published: as they are."


def load(config: Config) -> Splits:
    """All three parts; a picture's part is chosen by a hash of its name."""
    captions = _captions()
    parts: dict[str, list[Example]] = {"train": [], "valid": [], "test": []}
    for name, pixels in _pictures(config).items():
        if name not in captions:
            raise DataError(f"{SET}: expected captions of {name}, got none; take the published files")
        texts = [_plain(text) if config.captions == "lower" else text for text in captions[name]]
        share = hash_order(name, SET) / 2**64
        part = "test" if share < config.test else "valid" if share < config.test + config.valid else "train"
        targets = texts if part == "train" else ["\n".join(texts)]
        picture = Picture(pixels)
        parts[part] += [Example(picture, target, name=name) for target in targets]
    return Splits(parts["train"], parts["valid"], parts["test"])


def _captions() -> dict[str, list[str]]:
    """The captions of each picture."""
    path = known.find(SET, "captions.csv")
    found: dict[str, list[str]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(known.unzipped(path).decode())):
        found[row["image"]].append(" ".join(row["caption"].split()))
    return found


def _pictures(config: Config) -> dict[str, Pixels]:
    """All pictures, by name."""
    shape, found = (config.size, config.size, 3), {}
    for name, _, read in archives.entries(known.find(SET, "images.zip")):
        with Image.open(io.BytesIO(read())) as image:
            fitted = fitted_image(image, shape)
        found[PurePath(name).name] = np.full_like(fitted, 255) if config.blank else fitted
    return dict(sorted(found.items()))


def _plain(caption: str) -> str:
    return caption.lower().removesuffix(".").rstrip()
