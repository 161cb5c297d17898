"""What is drawn of a scene: one look of it, one head or the mean of all, with its labels and the lines above it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from saccade.errors import UnknownName, UsageError
from saccade.view.head_measures import layers_of
from saccade.view.output.axis_labels import Labels
from saccade.view.output.display_text import percent, place_name
from saccade.view.output.scales import Floats
from saccade.view.output.screen import Screen
from saccade.view.trace import Axis, Look, Pixels, Scene, Weights, matrix, quoted

UNTITLED = "where it looked"
NAMED = 6  # unknown tokens that a note lists
FLAT = 0.99  # rows are nearly uniform where their entropy, divided by that of a uniform row, is so large in the mean
SAID_FLAT = "nearly uniform: each row looks at everything alike"
KINDS = {
    "rollout": "rollout: attention through all layers",
    "flow": "flow: the most that layers, as capacities, let through",
    "attribution": "attribution: what moved the output, not attention",
}
SMALLEST = np.float32(1e-37)  # whose logarithm is finite; a weight of 0 has none, and no part in an entropy
RULER = 32  # from so many places on, labels that only count are drawn as a scale
AXES = "down: {} · across: {}"


@dataclass(frozen=True)
class Figure:
    """One look of a scene, to be drawn; `head` None is the mean of all heads."""

    scene: Scene
    look: Look
    head: int | None = None
    blank: str = "␣"
    "What a space at the end of a label is shown as."
    axes: str = AXES
    "How the line above the drawing names the two axes."
    unknown: str = ""
    "What follows the name of an unknown token where it cannot be underlined."

    span: tuple[float, float] | None = None
    "The range of the colors of a heat map that is compared with another; else that of its weights."

    @property
    def signed(self) -> bool:
        """Whether weights below 0 mean something, and the colors are those of an attribution."""
        return self.look.kind == "attribution"

    @cached_property
    def weights(self) -> Floats:
        """The matrix, (queries, keys)."""
        return matrix(self.scene, self.look, self.head)

    @property
    def queries(self) -> Axis:
        return self.scene.axes[self.look.queries]

    @property
    def keys(self) -> Axis:
        return self.scene.axes[self.look.keys]

    @property
    def rows(self) -> Labels:
        return self._labels(self.queries)

    @property
    def columns(self) -> Labels:
        return self._labels(self.keys)

    @property
    def row(self) -> list[float]:
        """The weights of the first query."""
        row: list[float] = self.weights[0].tolist()
        return row

    @property
    def title(self) -> str:
        return self.scene.title or UNTITLED

    @property
    def notes(self) -> list[str]:
        """The lines under the title: the look, its head and axes, and the notes of the scene."""
        words = self.axes.replace("looked at", "moved by") if self.signed else self.axes
        axes = words.format(_axis_name(self.look.queries, self.queries), _axis_name(self.look.keys, self.keys))
        notes = [f"{key}: {note if isinstance(note, str) else f'{note:.4g}'}" for key, note in self.scene.notes.items()]
        if (
            len(self.queries.labels) == 1
            and self.queries.probabilities is not None
            and "probability" not in self.scene.notes
        ):
            notes = [*self.written_names(), *notes]
        lines = [[self.look.name, self._head_name(), axes], [KINDS.get(self.look.kind, "")], notes, self._unknown_names()]
        flat = [SAID_FLAT] if is_flat(self.scene, self.look, self.head) else []
        return [*filter(None, (" · ".join(filter(None, line)) for line in lines)), *flat]

    def names(self, axis: Axis, *, numbered: bool = False) -> list[str]:
        """The labels of an axis as names; with `numbered`, an empty one is its number, in a grid its row and column."""
        unknown = set(axis.unknown) if self.unknown else ()
        return [
            place_of(axis, number)
            if numbered and not label
            else place_name(label, blank=self.blank) + self.unknown * (number in unknown)
            for number, label in enumerate(axis.labels)
        ]

    def percents(self, axis: Axis) -> list[str]:
        """The probability of each place, if there are any."""
        return [] if axis.probabilities is None else [percent(each) for each in axis.probabilities.tolist()]

    def written_names(self) -> list[str]:
        """The queries' names, each with its probability if there is one."""
        names, percents = self.names(self.queries), self.percents(self.queries)
        return [" ".join(pair) for pair in zip(names, percents, strict=True)] if percents else names

    def _unknown_names(self) -> list[str]:
        """The note on unknown tokens, each named once."""
        axes = {self.look.queries: self.queries, self.look.keys: self.keys}.values()
        names = list(dict.fromkeys(place_name(axis.labels[place]) for axis in axes for place in axis.unknown))
        more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
        return [f"unknown to the tokenizer: {', '.join([*names[:NAMED], *more])}"] if names else []

    def _head_name(self) -> str:
        if self.look.heads == 1:
            return ""
        return f"mean of {self.look.heads} heads" if self.head is None else f"head {self.head} of 0–{self.look.heads - 1}"

    def _labels(self, axis: Axis) -> Labels:
        """The labels to draw: names, or numbers where they do nothing but count upward (frames, instances, …)."""
        if len(axis.labels) >= RULER and all(label.isascii() and label.isdigit() for label in axis.labels):
            numbers = [float(label) for label in axis.labels]
            if all(after > before for before, after in pairwise(numbers)):
                return numbers
        return self.names(axis)


def spread(scene: Scene, look: Look, head: int | None = None) -> float | None:
    """The mean entropy of the rows, 0 (each looks at one place) to 1 (at everything alike); None where it says nothing.

    A row counts if it is a distribution over at least two places; places of weight 0, as under a mask, do not.
    """
    if look.places is not None or look.kind == "attribution":
        return None
    weights = matrix(scene, look, head).astype(np.float32)  # half as wide: a page asks this of every head
    seen = np.count_nonzero(weights > 0, axis=1)
    counted = (seen > 1) & (np.abs(weights.sum(axis=1) - 1) < 0.01) & (weights.min(axis=1) >= 0)
    if not counted.any():
        return None
    entropies = -np.einsum("qk,qk->q", weights, np.log(np.maximum(weights, SMALLEST)))[counted]
    return float((entropies / np.log(seen[counted])).mean())


def is_flat(scene: Scene, look: Look, head: int | None = None) -> bool:
    """Whether every row looks at everything alike, which small differences of color may hide."""
    if head is not None and look.edges is None and look.places is None and _is_focused(look.weights[head]):
        return False
    return (spread(scene, look, head) or 0.0) > FLAT


def _is_focused(weights: Weights) -> bool:
    """Whether the largest weights alone tell that rows are not uniform: a row whose largest weight is p, of n that are not
    0, has at most the entropy of p and of 1 - p shared out evenly. Pages ask this of many heads; it takes no logarithms."""
    seen = np.count_nonzero(weights, axis=1)
    counted = seen > 1
    if not counted.any() or weights.min() < 0 or np.abs(weights.sum(axis=1) - 1).max() > 0.01:
        return False
    top, others = weights.max(axis=1)[counted].clip(1e-6, 1 - 1e-6).astype(np.float64), seen[counted]
    most = -top * np.log(top) - (1 - top) * (np.log1p(-top) - np.log(others - 1))
    return bool((most / np.log(others)).mean() <= FLAT)


def _axis_name(name: str, axis: Axis) -> str:
    """The name of an axis and its kind, only once where both are one word."""
    return name if name == axis.kind else f"{name} ({axis.kind})"


def place_of(axis: Axis, number: int) -> str:
    """The number of a place; in a grid its row and column."""
    return str(number) if axis.grid is None else f"{number // axis.grid[1]}, {number % axis.grid[1]}"


def image_and_grid(scene: Scene, look: Look) -> tuple[Pixels, tuple[int, int]]:
    """The image that the keys are cells of, and the rows and columns of these."""
    keys = scene.axes[look.keys]
    picture, grid = keys.whole_image(), keys.grid
    assert picture is not None
    assert grid is not None
    return picture, grid


def find_look(scene: Scene, name: str | None) -> Look:
    """The look of this name; unless named the first, which is an attribution only where there is nothing else."""
    known = {look.name: look for look in scene.looks}
    if name is not None and name not in known:
        raise UnknownName("look", name, known)
    return min(scene.looks, key=lambda look: look.kind == "attribution") if name is None else known[name]


def look_of_layer(scene: Scene, look: Look, layer: int) -> Look:
    """The look of this layer among those between the same axes as a look."""
    layers = layers_of(scene.looks)
    same = {layers[each.name]: each for each in scene.looks if each.name in layers and _sides(each) == _sides(look)}
    if layer not in same:
        known = f"a layer from {min(same)} to {max(same)}" if len(same) > 1 else f"layer {min(same, default=1)} alone"
        raise UsageError(f"layer: expected {known}, as {quoted(look.name)} has, got {layer}")
    return same[layer]


def _sides(look: Look) -> tuple[str, str]:
    return look.queries, look.keys


@dataclass(frozen=True)
class Drawing:
    """One way to draw a look: which looks it fits, its text, its SVG, and what the page needs beside the weights."""

    name: str
    "Also the name of its file in `page`."
    fits: Callable[[Scene, Look], bool]
    terminal: Callable[[Figure, Screen], str]
    svg: Callable[[Figure], str]
    page: Callable[[Scene, Look], Mapping[str, Any]] = lambda scene, look: {}
    "Under `images` a list of data addresses, of which each is stored once."
    axes: str = "{} looked at {}"


def one_query_at(kind: str) -> Callable[[Scene, Look], bool]:
    """Fits looks of a single query at places of this kind."""
    return lambda scene, look: has_one_query(scene, look) and scene.axes[look.keys].kind == kind


def has_one_query(scene: Scene, look: Look) -> bool:
    return look.places is None and scene.shape(look)[0] == 1
