"""Files: written whole or not at all, and a drawing as the kind of file that its name asks for."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from saccade import durable_files
from saccade.errors import DataError, UsageError
from saccade.view.output.display_text import visible

DRAWINGS = (".svg", ".png", ".html")
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 2rem; text-align: center }} svg {{ max-width: 100%; height: auto }}</style>
</head>
<body>
{drawing}</body>
</html>
"""


def write(path: str | Path, content: bytes) -> None:
    """Puts the bytes at the path. A link stays a link: what it points to is replaced."""
    try:
        durable_files.replace(Path(os.path.realpath(path)), content)
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        raise durable_files.unwritable(visible(str(path)), error, "choose another place", DataError) from None


def save_drawing(drawing: str, path: str | Path, scale: int = 2) -> Path:
    """Writes an SVG drawing as its suffix says: as it is, as pixels, or on a page."""
    target = Path(path)
    kind = kind_of(target, DRAWINGS)
    if kind == ".png":
        from saccade.view.output.raster import png  # Pillow takes a moment to load, and only PNG files need it

        write(target, png(drawing, scale))
    else:
        write(target, (drawing if kind == ".svg" else _framed(drawing)).encode())
    return target


def kind_of(path: Path, kinds: Sequence[str]) -> str:
    """The suffix, if it is one that can be written."""
    kind = path.suffix.lower()
    if kind not in kinds:
        raise UsageError(
            f"{visible(str(path))}: expected a name that ends in {', '.join(kinds)}, got {visible(kind) or 'none'}"
        )
    return kind


def numbered(target: Path, count: int) -> list[Path]:
    """The path itself, or name-1, name-2 … where there are several files."""
    return [target] if count == 1 else [target.with_stem(f"{target.stem}-{number}") for number in range(1, count + 1)]


def _framed(drawing: str) -> str:
    """A page that shows one SVG drawing under its own title."""
    title = re.search(r"<title>(.*?)</title>", drawing)
    return FRAME.format(title=title[1] if title else "saccade", drawing=drawing)
