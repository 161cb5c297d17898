"""Fonts for PNG files: those installed here, and which of them has a letter."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from PIL import ImageFont

from saccade.view.output import display_text

# Whole names of plain sans faces, best first; other installed ones of these families fill in what they lack.
FIRST = ("DejaVuSans", "NotoSans-Regular", "LiberationSans-Regular", "Arial Unicode", "Arial", "arial", "segoeui")
FAMILIES = (
    *("dejavusans", "notosans", "liberationsans", "arial", "segoeui", "freesans", "droidsansfallback", "wqy", "ipag"),
    *("hiragino", "pingfang", "applesdgothicneo", "geezapro", "msyh", "msgothic", "yugoth", "malgun", "nirmala"),
    *("leelawui", "ebrima", "gadugi", "seguisym", "takao", "unifont", "symbola"),
)
HEAVY = ("bold", "italic", "oblique", "light", "thin", "black", "medium", "condensed", "mono", "emoji", "lastresort")
SUFFIXES = {".ttf", ".otf", ".ttc"}
UNASSIGNED = "\U0010ffff"  # never a letter: what a font draws for it is what it draws for all that it lacks

IGNORED = display_text.JOINERS + display_text.LEFT_TO_RIGHT

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def directories() -> list[Path]:
    """Where Linux, macOS and Windows keep fonts, the user's own included."""
    home = Path.home()
    if sys.platform == "win32":
        windows = Path(os.environ.get("WINDIR", r"C:\Windows"))
        return [windows / "Fonts", home / "AppData/Local/Microsoft/Windows/Fonts"]
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


@cache
def installed() -> tuple[Path, ...]:
    """Plain faces of well-known families, the widely covering ones first."""
    faces = [path for directory in directories() for path in _files(directory) if _suits(path.stem)]
    rank = {name: place for place, name in enumerate(FIRST)}
    return tuple(sorted(faces, key=lambda path: (rank.get(path.stem, len(FIRST)), path.name)))


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.suffix.lower() in SUFFIXES)


def _suits(stem: str) -> bool:
    name = stem.lower().replace(" ", "").replace("-", "")
    return name.startswith(FAMILIES) and not any(word in name for word in HEAVY)


@cache
def _opened(path: Path | None, size: int) -> Font | None:
    """The font of a file (None: the one inside Pillow, which has Latin letters); None where it cannot be read."""
    try:
        return ImageFont.load_default(size) if path is None else ImageFont.truetype(path, size)
    except (OSError, ValueError):
        return None


@cache
def _drawn(path: Path | None, letter: str) -> bytes | None:
    """The pixels of one letter alone; None where there are none."""
    font = _opened(path, 16)
    try:
        mask = font.getmask(letter) if font else None
    except (OSError, ValueError, UnicodeError):
        return None
    return bytes(mask) + bytes(mask.size) if mask is not None and mask.getbbox() else None


@cache
def has(path: Path | None, letter: str) -> bool:
    """Whether the font draws this letter as more than its empty box."""
    if letter == " ":
        return True
    pixels = _drawn(path, letter)
    return pixels is not None and pixels != _drawn(path, UNASSIGNED)


def _covers(path: Path | None, text: str) -> bool:
    return all(letter in IGNORED or has(path, letter) for letter in text)


@cache
def _path_for(text: str) -> Path | bool | None:
    """The first font with every letter of the text; False where there is none."""
    return next((path for path in (*installed(), None) if _covers(path, text)), False)


def runs(text: str, size: int) -> list[tuple[str, Font | None]]:
    """The text in parts, each with a font that has all its letters; a letter that none has is alone, with None."""
    whole = _path_for(text)
    if not isinstance(whole, bool):
        return [(text, _font(whole, size))]
    fonts = [(piece, _path_for(piece)) for piece in display_text.clusters(text)]
    parts: list[tuple[str, Font | None]] = []
    for path, pairs in groupby(fonts, key=lambda pair: pair[1]):
        pieces = [piece for piece, _ in pairs]
        if isinstance(path, bool):
            parts += [(piece, None) for piece in pieces]
        else:
            parts.append(("".join(pieces), _font(path, size)))
    return parts


def _font(path: Path | None, size: int) -> Font:
    font = _opened(path, size)
    assert font is not None  # it has drawn a letter already
    return font
