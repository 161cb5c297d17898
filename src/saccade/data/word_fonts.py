"""Fonts that words are drawn in: free ones that can be downloaded, those of this machine, or those of a folder."""

import functools
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from PIL import ImageFont

from saccade.data import known
from saccade.data.examples import digest
from saccade.errors import DataError

SET = "fonts"
SUFFIXES = (".ttf", ".otf", ".ttc", ".woff", ".woff2")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
FEW = 20  # below which a reader learns these fonts rather than letters


class Font(NamedTuple):
    """A font: what it is called, a short name for its content, and the font itself."""

    name: str
    digest: str
    drawn: ImageFont.FreeTypeFont


def fonts(spec: str, size: int) -> list[Font]:
    """Of `published`, `system` or a folder all fonts that have every letter and digit, each once, by their names."""
    found = {font.digest: font for path in _paths(spec) if (font := _opened(path, size)) is not None}
    if not found and spec != "system":
        raise DataError(
            f"{spec}: expected a folder with fonts ({', '.join(SUFFIXES)}), got none with all letters and digits"
        )
    chosen = list(found.values()) or [_built_in(size)]
    return sorted(chosen, key=lambda font: (font.name, font.digest))


def _paths(spec: str) -> list[Path]:
    if spec == "published":
        return [known.find(SET, file.path) for file in known.lookup(SET).files]
    folders = list(system_folders()) if spec == "system" else [Path(spec).expanduser()]
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES]


def system_folders() -> Iterator[Path]:
    """Where fonts of this machine lie, and those that came with matplotlib."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        yield Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts"
    elif sys.platform == "darwin":
        yield from (Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts")
    else:
        yield from (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".fonts", home / ".local/share/fonts")
    package = find_spec("matplotlib")
    if package is not None and package.origin:
        yield Path(package.origin).parent / "mpl-data/fonts/ttf"


def _opened(path: Path, size: int) -> Font | None:
    """The font of a file; None where it cannot be read, or has not all letters: signs, other scripts."""
    try:
        font = ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
        shapes = {bytes(font.getmask(letter)) for letter in LETTERS.lower()}
        missing = bytes(font.getmask("\uffff"))
    except (OSError, ValueError):
        return None
    name, style = font.getname()
    plain = len(shapes) > len(LETTERS) // 2 and missing not in shapes and b"" not in shapes
    return Font(f"{name} {style}", digest([path.read_bytes()]), font) if plain else None


@functools.cache
def _built_in(size: int) -> Font:
    """The one that Pillow has with it."""
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return Font(" ".join(filter(None, font.getname())), "built-in", font)
