"""A trace that draws itself: in a notebook, in the terminal, and as a file of the kind that its name asks for."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from saccade.errors import UsageError
from saccade.view import render
from saccade.view.drawings import check_drawing, place_map
from saccade.view.drawings.figure import find_look, look_of_layer
from saccade.view.head_measures import is_measured, rows_of, summed
from saccade.view.head_report import HeadReport
from saccade.view.html_page import framed, html
from saccade.view.output.saving import DRAWINGS, kind_of, numbered, write
from saccade.view.output.scales import Floats
from saccade.view.side_by_side import SideBySide
from saccade.view.trace import Look, Scene, Trace, check_trace, matrix
from saccade.view.trace_file import encode, encode_json

FILES = (*DRAWINGS, ".json", ".trace", ".safetensors")
TALL = 720  # pixels of the page inside a notebook


def first_of(scenes: Sequence[Scene], kinds: Sequence[str]) -> str | None:
    """The name of the first look of the first of these kinds, if any is named: what was asked for is shown first."""
    return next((look.name for look in scenes[0].looks if look.kind in kinds[:1]), None) if scenes else None


class Shown:
    """Where a model looked, for one input or several: print it, save it, or let a notebook show it.

    `look` (the first unless named) and `head` (from 0; the mean of all unless given) say which attention is drawn;
    `drawing` says how, where the look's own drawing is not wanted: heatmap, lines (tokens joined by lines), overview (all
    looks and heads, small) or another that fits it.
    """

    def __init__(self, trace: Trace, look: str | None = None, head: int | None = None, drawing: str | None = None) -> None:
        check_trace(trace)
        check_drawing(drawing)
        if look is not None and all(look != each.name for scene in trace.scenes for each in scene.looks):
            find_look(trace.scenes[0], look)  # raises, and names the nearest
        self.trace, self.look, self.head, self.drawing = trace, look, head, drawing

    @property
    def scenes(self) -> Sequence[Scene]:
        return self.trace.scenes

    @property
    def looks(self) -> list[str]:
        """The names of the first scene's looks."""
        return [look.name for look in self.scenes[0].looks]

    def weights(
        self, look: str | None = None, head: int | None = None, scene: int = 0, *, layer: int | None = None
    ) -> Floats:
        """The weights of one look of one scene, (queries, keys): of one head, or the mean of all.

        `layer` counts from 1 among the layers of the look, or of the first one; heads count from 0.
        """
        if not 0 <= scene < len(self.scenes):
            raise UsageError(f"expected a scene from 0 to {len(self.scenes) - 1}, got scene {scene}")
        named = find_look(self.scenes[scene], self.look if look is None else look)
        if layer is not None:
            named = look_of_layer(self.scenes[scene], named, layer)
        return matrix(self.scenes[scene], named, self.head if head is None else head)

    def of_layer(self, layer: int) -> "Shown":
        """The same trace, drawn at this layer (from 1) of the look that is selected, or of the first."""
        look = look_of_layer(self.scenes[0], find_look(self.scenes[0], self.look), layer)
        return Shown(self.trace, look.name, self.head, self.drawing)

    def of_pixel(self, row: int, column: int) -> "Shown":
        """The same trace, drawn from this place of the pictures whose places look at each other, both counted from 0."""
        named = find_look(self.scenes[0], self.look)
        scenes = [
            replace(scene, looks=[self._chosen(scene, look, row, column, look.name == named.name) for look in scene.looks])
            for scene in self.scenes
        ]
        return Shown(replace(self.trace, scenes=scenes), self.look, self.head, self.drawing)

    @staticmethod
    def _chosen(scene: Scene, look: Look, row: int, column: int, wanted: bool) -> Look:
        if not wanted and not place_map.fits(scene, look):
            return look
        return replace(look, chosen=place_map.choose(scene, look, row, column))

    def heads(self) -> HeadReport:
        """What each head attends to, measured over all scenes: print it, sort it, save it."""
        if not any(is_measured(look) for scene in self.scenes for look in scene.looks):
            raise UsageError("heads: expected attention as a matrix, got none in this trace")
        return HeadReport(self.trace.system, summed(self.scenes), len(self.scenes), rows_of(self.scenes))

    def __getitem__(self, scene: int) -> "Shown":
        """One scene alone."""
        if not -len(self.scenes) <= scene < len(self.scenes):
            raise IndexError(f"expected a scene from 0 to {len(self.scenes) - 1}, got {scene}")  # an end to a loop over them
        return Shown(replace(self.trace, scenes=[self.scenes[scene]]), self.look, self.head, self.drawing)

    def beside(self, other: "Shown") -> SideBySide:
        """This and another side by side: two models on one input, or two inputs (`shown[0].beside(shown[1])`)."""
        return SideBySide(self, other)

    def texts(self, color: bool | None = None, width: int | None = None) -> list[str]:
        """Each scene as text for the terminal."""
        return [render.terminal(scene, self.look, self.head, color, width, self.drawing) for scene in self.scenes]

    def terminal(self, color: bool | None = None, width: int | None = None) -> str:
        """Every scene as text for the terminal; `color` and `width` are the terminal's own unless given."""
        return "\n\n".join(self.texts(color, width))

    def save(self, path: str | Path, scale: int = 2, drawing: str | None = None) -> list[Path]:
        """Writes the trace as the suffix says; returns the files.

        .html holds every scene, look and head, and shows the selected ones first; .json, .trace and .safetensors hold
        all numbers. .svg and .png draw one look of one scene: several scenes become name-1.svg, name-2.svg and so on.
        `scale` is for .png; `drawing` is for this file alone.
        """
        if drawing is not None:
            return Shown(self.trace, self.look, self.head, drawing).save(path, scale)
        target = Path(path)
        contents = self._contents(kind_of(target, FILES), scale)
        targets = numbered(target, len(contents))
        for each, content in zip(targets, contents, strict=True):
            write(each, content)
        return targets

    def _contents(self, kind: str, scale: int) -> list[bytes]:
        """The contents of all files, made before the first is written, so that a failure leaves nothing behind."""
        if kind == ".html":
            return [self._html.encode()]
        if kind == ".json":
            return [encode_json(self.trace)]
        if kind == ".svg":
            return [render.svg(scene, self.look, self.head, self.drawing).encode() for scene in self.scenes]
        if kind == ".png":
            return [render.png(scene, self.look, self.head, scale, self.drawing) for scene in self.scenes]
        return [encode(self.trace)]

    @cached_property
    def _html(self) -> str:
        return html(self.trace, self.look, self.head, self.drawing)

    def __str__(self) -> str:
        more = len(self.looks) - 1 if self.look is None and self.drawing != "overview" else 0
        told = f"\n\nand {more} more: look.looks names them, look.save('look.html') holds all" if more > 0 else ""
        return self.terminal() + told

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.looks))
        return f"Shown({self.trace.system!r}, {len(self.scenes)} scenes, looks: {names})"

    def _repr_html_(self) -> str:
        """The page in a frame of its own: its script and style reach nothing else in the notebook."""
        return framed(self._html, TALL)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Text, the image of the first scene and the page: an editor shows the richest that it can."""
        return {
            "text/plain": self.terminal(color=False, width=100),
            "image/png": base64.b64encode(render.png(self.scenes[0], self.look, self.head, drawing=self.drawing)).decode(),
            "text/html": self._repr_html_(),
        }
