"""What this terminal can do: its width, whether it shows color and Unicode, and the characters to draw with."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.view.output import display_text

Color = tuple[int, int, int] | NDArray[np.uint8]

NARROWEST = 16
RESET = "\x1b[0m"
MARK = (255, 176, 59)


@dataclass(frozen=True)
class Glyphs:
    """The characters of a drawing: five shades from nothing to full, a frame, axis ticks and a point."""

    shades: str
    across: str
    down: str
    corners: str  # top left, top right, bottom left, bottom right
    tick_left: str
    tick_below: str
    point: str
    times: str


UNICODE = Glyphs(" ░▒▓█", "─", "│", "┌┐└┘", "┤", "┬", "•", "×")
ASCII = Glyphs(" .:*#", "-", "|", "++++", "+", "+", ".", "x")


def speaks_unicode() -> bool:
    """Whether standard output can encode what we draw with."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "⣿█│•…".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def wants_color(color: bool | None) -> bool:
    """The caller's choice, or else: a terminal, not a dumb one, and no NO_COLOR (https://no-color.org)."""
    if color is not None:
        return color
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


@dataclass(frozen=True)
class Screen:
    """Where a drawing goes: its characters, whether it has color, and its columns."""

    glyphs: Glyphs
    color: bool
    width: int

    @property
    def ascii_only(self) -> bool:
        return self.glyphs is ASCII

    def fit(self, text: str, room: int) -> str:
        """The text, safe to show here and cut to `room` columns."""
        return display_text.fit(text, room, ascii_only=self.ascii_only)


def this_screen(color: bool | None, width: int | None) -> Screen:
    """Standard output, with the caller's color and width where they are given."""
    if width is not None and width < NARROWEST:
        raise ValueError(f"expected a width of at least {NARROWEST} columns, got {width}")
    columns = max(NARROWEST, shutil.get_terminal_size().columns) if width is None else width
    return Screen(UNICODE if speaks_unicode() else ASCII, wants_color(color), columns)


def painted(text: str, color: Color, *, background: bool = False) -> str:
    """The text in a color of three channels (or on it)."""
    red, green, blue = (int(channel) for channel in color)
    return f"\x1b[{48 if background else 38};2;{red};{green};{blue}m{text}{RESET}"


def half_blocks(pixels: NDArray[np.uint8], marks: Mapping[tuple[int, int], str] | None = None) -> list[str]:
    """An image as lines of upper half blocks: two pixels to a character, which `marks` replaces, by line and column.

    Shapes: pixels (an even height, width, 3)
    """
    return [
        "".join(_block(above, below, (marks or {}).get((line, column))) for column, (above, below) in enumerate(pairs))
        for line, pairs in enumerate(zip(*rows, strict=True) for rows in zip(pixels[::2], pixels[1::2], strict=True))
    ]


def _block(above: Color, below: Color, mark: str | None) -> str:
    ink, paper = ((27, 31, 42), MARK) if mark else (above, below)
    return painted(painted(mark or "▀", ink).removesuffix(RESET), paper, background=True)


def ruler(marks: Iterable[tuple[int, str]], width: int) -> str:
    """Texts centered under their columns on one line; one that would touch its neighbor is left out."""
    line, used = "", 0
    for column, text in marks:
        size = display_text.columns(text)
        start = max(0, min(column - size // 2, width - size))
        if size <= width and (not used or start > used):
            line, used = line + " " * (start - used) + text, start + size
    return line
