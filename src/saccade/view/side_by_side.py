"""Two inputs or two models side by side: in the terminal, as SVG and PNG, as a page and in a notebook."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import UsageError
from saccade.view import render
from saccade.view.drawings import heatmap
from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.html_page import Opening, framed, html, opening
from saccade.view.output import display_text
from saccade.view.output.saving import DRAWINGS, kind_of, numbered, write
from saccade.view.output.scales import limits
from saccade.view.output.screen import this_screen
from saccade.view.output.svg import document, text
from saccade.view.output.svg_layout import SMALL

if TYPE_CHECKING:
    from saccade.view.shown import Shown

APART = 3  # columns between two texts
NARROWEST = 44  # columns of a side; below, the second stands under the first
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
TALL = 760  # pixels of the page inside a notebook


class SideBySide:
    """Two traces, scene by scene; each side keeps its own head and drawing, and its own look if both name one.

    Else both show the same, if both have it.
    """

    def __init__(self, left: "Shown", right: "Shown") -> None:
        if len(left.scenes) != len(right.scenes):
            sizes = f"{len(left.scenes)} and {len(right.scenes)}"
            raise UsageError(f"expected as many scenes on both sides, got {sizes}; shown[0] is the first scene alone")
        self.sides = _following(left, right), _following(right, left)

    def terminal(self, color: bool | None = None, width: int | None = None) -> str:
        """Every pair of scenes as text; the second stands below the first where two columns are too narrow."""
        screen = this_screen(color, width)
        half = (screen.width - APART) // 2
        narrow, differ = half < NARROWEST, self.sides[0].trace.system != self.sides[1].trace.system
        columns = screen.width if narrow else half
        sides = [
            [f"{each.trace.system}\n{text}" for text in each.texts(color, columns)] if differ else each.texts(color, columns)
            for each in self.sides
        ]
        pairs = zip(*sides, strict=True)
        return "\n\n".join("\n\n".join(pair) if narrow else _columns(pair[0], pair[1], half) for pair in pairs)

    def svg(self) -> list[str]:
        """A drawing for each pair of scenes, the name of the system over each side."""
        return [self._svg(number) for number in range(len(self.sides[0].scenes))]

    def _svg(self, number: int) -> str:
        drawn = [render.prepared(side.scenes[number], side.look, side.head, side.drawing) for side in self.sides]
        span = _shared_span(drawn)
        x, tallest, parts = 0.0, 0.0, []
        for side, (form, figure) in zip(self.sides, drawn, strict=True):
            drawing = form.svg(replace(figure, span=span))
            size = SIZE.match(drawing)
            assert size is not None  # it is one of ours
            parts.append(text(side.trace.system, x + 20, 22, {**SMALL, "font-weight": 600}))
            parts.append(drawing.replace("<svg ", f'<svg x="{x:g}" y="26" ', 1).strip())
            x, tallest = x + float(size[1]), max(tallest, float(size[2]))
        return document(x, tallest + 26, " | ".join(figure.title for _, figure in drawn), *parts)

    def save(self, path: str | Path, scale: int = 2) -> list[Path]:
        """Writes .svg, .png or .html; of several scenes, .svg and .png become name-1.svg, name-2.svg and so on."""
        target = Path(path)
        kind = kind_of(target, DRAWINGS)
        contents = [self._html.encode()] if kind == ".html" else [drawing.encode() for drawing in self.svg()]
        if kind == ".png":
            from saccade.view.output import raster  # Pillow takes a moment to load, and only PNG files need it

            contents = [raster.png(content.decode(), scale) for content in contents]
        targets = numbered(target, len(contents))
        for each, content in zip(targets, contents, strict=True):
            write(each, content)
        return targets

    @cached_property
    def _html(self) -> str:
        """Two pages in frames; what is selected in one is selected in the other, if it has it."""
        pages = [
            html(side.trace, side.look, side.head, side.drawing, start=start, linked=True)
            for side, start in zip(self.sides, self._starts(), strict=True)
        ]
        parts = {
            "title": escape(" | ".join(display_text.fit(side.trace.system, 80) for side in self.sides)),
            **{f"page_{number}": escape(page) for number, page in enumerate(pages)},
        }
        template = (files("saccade.view") / "page" / "beside.html").read_text(encoding="utf-8")
        return re.sub(r"{{(\w+)}}", lambda name: parts[name[1]], template)

    def _starts(self) -> tuple[Opening | None, Opening | None]:
        """Where the pages open if no look is named: the left one as if alone, the right one, if it can, on the same look."""
        left, right = self.sides
        if left.look is not None or right.look is not None:
            return None, None
        scene, look, why = opening(left.trace)
        same = [each for each in right.scenes[scene].looks if each.name == look.name]
        return (scene, look, why), (scene, same[0], why and "opened on the look of the left side") if same else None

    def __str__(self) -> str:
        return self.terminal()

    def _repr_html_(self) -> str:
        return framed(self._html, TALL)


def _following(side: "Shown", other: "Shown") -> "Shown":
    """The side; if it names no look, with the one that the other names, if all of its scenes have that."""
    if side.look is not None or other.look is None:
        return side
    if any(other.look not in {look.name for look in scene.looks} for scene in side.scenes):
        return side
    return type(side)(side.trace, other.look, side.head, side.drawing)


def _shared_span(drawn: Sequence[tuple[Drawing, Figure]]) -> tuple[float, float] | None:
    """One range of colors for two heat maps of the same kind, so that equal colors are equal weights."""
    if {form.name for form, _ in drawn} != {heatmap.DRAWING.name} or len({figure.look.kind for _, figure in drawn}) > 1:
        return None
    return limits(*(figure.weights for _, figure in drawn))


def _columns(left: str, right: str, half: int) -> str:
    lines = []
    for one, other in zip_longest(left.splitlines(), right.splitlines(), fillvalue=""):
        gap = " " * (half - display_text.columns(ANSI.sub("", one)) + APART)
        lines.append(f"{one}{gap}{other}".rstrip())
    return "\n".join(lines)
