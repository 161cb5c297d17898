"""Emoji as images of 32 × 32 pixels with captions: Noto and Twemoji, and the short names of Unicode CLDR."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.config import Share
from saccade.data import known
from saccade.data.examples import Example, Picture, Splits, hash_order

INPUT, TARGET = Picture, str

SET = "emoji"
STYLES = {"noto": "google", "twemoji": "twitter"}
SIZE, BORDER = 32, 1  # of a cell in a sheet
# Words by which the variants of one emoji differ; without them its variants have one name.
PERSONS = re.compile(r"\b(?:wo)?m[ae]n\b|\bpersons?\b|\bpeople\b|\bgirl\b|\bboy\b|\bchild\b|[:,]")
VARIATION = "\ufe0f"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which images and captions, and what is held out."""

    language: Literal["en", "de", "fr"] = "en"
    "Language of the captions."
    style: Literal["both", "noto", "twemoji"] = "both"
    "Whose images; both: every emoji twice, always in the same part."
    skin_tones: bool = True
    "Whether the variants with skin tones are examples of their own."
    blank: bool = False
    "Whether all pictures are left white: the control, which shows what can be told without seeing."
    valid: Share = 0.1
    "Share of the emoji in the validation set."
    test: Share = 0.1
    "Share of the emoji in the test set."


def load(config: Config) -> Splits:
    """Training, validation and test set, split by the emoji's English name: all variants of one emoji are in one part."""
    table = json.loads(known.unzipped(known.find(SET, "emoji.json")))
    english, captions = _captions("en"), _captions(config.language)
    sheets = {style: _sheet(STYLES[style]) for style in STYLES if config.style in ("both", style)}
    parts: dict[str, list[Example]] = {"train": [], "valid": [], "test": []}
    for emoji in table:
        name = english.get(_characters(emoji))
        if name is None or _characters(emoji) not in captions:  # flags of countries, families
            continue
        part = parts[_part(family(name), config)]
        for variant, caption in _variants(emoji, captions, config.skin_tones):
            for style, sheet in sheets.items():
                picture = Picture(_cell(sheet, variant))
                part.append(
                    Example(
                        picture.white() if config.blank else picture,
                        caption,
                        emoji["category"],
                        f"{style}/{variant['image']}",
                    )
                )
    return Splits(parts["train"], parts["valid"], parts["test"])


def family(name: str) -> str:
    """What the variants of one emoji have in common: "woman detective" and "detective" are one family."""
    return " ".join(PERSONS.sub(" ", name).split())


def _part(name: str, config: Config) -> str:
    share = hash_order(name, "emoji") / 2**64
    return "test" if share < config.test else "valid" if share < config.test + config.valid else "train"


def _captions(language: str) -> dict[str, str]:
    """The short name of each emoji, without variation selectors."""
    table = json.loads(known.unzipped(known.find(SET, f"cldr_annotations_{language}.json")))
    entries = table["annotations"]["annotations"].items()
    return {text.replace(VARIATION, ""): entry["tts"][0] for text, entry in entries if "tts" in entry}


def _characters(emoji: dict[str, Any]) -> str:
    return _text(emoji["unified"]).replace(VARIATION, "")


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split("-"))


def _variants(emoji: dict[str, Any], captions: dict[str, str], tones: bool) -> Iterator[tuple[dict[str, Any], str]]:
    """An emoji and its variants with their captions: "waving hand: dark skin tone", as CLDR joins them."""
    caption = captions[_characters(emoji)]
    yield emoji, caption
    for codes, variant in emoji.get("skin_variations", {}).items() if tones else ():
        named = ", ".join(dict.fromkeys(captions[tone] for tone in _text(codes)))
        yield variant, f"{caption}{',' if ': ' in caption else ':'} {named}"


def _sheet(vendor: str) -> NDArray[np.uint8]:
    """All images of a style on white."""
    with Image.open(known.find(SET, f"sheet_{vendor}_{SIZE}.png")) as file:
        clear = file.convert("RGBA")
    return np.asarray(Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB"))


def _cell(sheet: NDArray[np.uint8], emoji: dict[str, Any]) -> NDArray[np.uint8]:
    pitch = SIZE + 2 * BORDER
    row, column = (pitch * emoji[key] + BORDER for key in ("sheet_y", "sheet_x"))
    return sheet[row : row + SIZE, column : column + SIZE]
