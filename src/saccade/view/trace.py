"""Where a model looked, as data: named axes and arrays of weights; `check` says whether they fit each other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.view.labels import fit

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Side:
    """One axis of a picture: what its places are (characters, words, pixels, frames, nodes …) and their labels.

    Shapes: pictures (places, height, width) or (places, height, width, 3), if the places can be seen
    """

    kind: str
    labels: Sequence[str]
    pictures: NDArray[np.uint8] | None = None
    grid: tuple[int, int] | None = None
    "Rows and columns, where the places are the tiles of one picture, row by row."


@dataclass(frozen=True)
class Look:
    """The weights of one attention: (heads, queries, keys), between two of the scene's sides."""

    name: str
    queries: str
    keys: str
    weights: Weights


@dataclass(frozen=True)
class Scene:
    """One thing that was read and what was written: its sides by name, and every look between them."""

    title: str
    sides: Mapping[str, Side]
    looks: Sequence[Look]
    notes: Mapping[str, str | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace:
    """Scenes of one system, in the order in which they were asked for (n-best hypotheses follow each other)."""

    system: str
    scenes: Sequence[Scene]


def check_trace(trace: Trace) -> None:
    """Raises DataError unless there is a scene and every scene is sound."""
    _text(trace.system, "the system")
    if not trace.scenes:
        raise DataError("a trace needs at least one scene, got none")
    for number, scene in enumerate(trace.scenes, 1):
        try:
            check(scene)
        except DataError as error:
            raise DataError(f"scene {number}: {error}") from None


def check(scene: Scene) -> None:
    """Raises DataError unless the scene has looks, and each fits the labels of two sides that exist."""
    _text(scene.title, "the title")
    for name, side in scene.sides.items():
        _check_side(name, side)
    for key, note in scene.notes.items():
        _check_note(key, note)
    if not scene.looks:
        raise DataError("a scene needs at least one look, got none")
    for look in scene.looks:
        _check_look(look, scene.sides)
    names = [look.name for look in scene.looks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two looks are named {quoted(twice)}; names must differ")


def _check_side(name: str, side: Side) -> None:
    _text(name, "a side's name")
    _text(side.kind, f"the kind of side {quoted(name)}")
    if isinstance(side.labels, str):
        raise DataError(f"side {quoted(name)}: expected a list of labels, got one text; write list(text) for its letters")
    for index, label in enumerate(side.labels):
        _text(label, f"side {quoted(name)}: label {index}")
    if side.pictures is not None:
        _check_pictures(name, side.pictures, len(side.labels))
    if side.grid is not None:
        _check_grid(name, side.grid, len(side.labels))


def _check_pictures(name: str, pictures: object, places: int) -> None:
    if not isinstance(pictures, np.ndarray) or pictures.dtype != np.uint8:
        got = pictures.dtype if isinstance(pictures, np.ndarray) else type(pictures).__name__
        raise DataError(f"side {quoted(name)}: expected pictures as a uint8 array, got {got}")
    if pictures.ndim not in (3, 4) or pictures.shape[3:] not in ((), (3,)) or 0 in pictures.shape:
        expected = "(places, height, width) or (places, height, width, 3)"
        raise DataError(f"side {quoted(name)}: expected pictures of shape {expected}, got {pictures.shape}")
    if len(pictures) != places:
        raise DataError(f"side {quoted(name)}: expected {places} pictures, one per label, got {len(pictures)}")


def _check_grid(name: str, grid: object, places: int) -> None:
    sizes = grid if isinstance(grid, tuple) else ()
    if len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise DataError(
            f"side {quoted(name)}: expected a grid of (rows, columns), whole numbers above 0, got {quoted(grid)}"
        )
    if sizes[0] * sizes[1] != places:
        told = f"{sizes[0]} × {sizes[1]} places"
        raise DataError(f"side {quoted(name)}: expected a grid of {places} places, one per label, got {told}")


def _check_note(key: str, note: object) -> None:
    _text(key, "a note's name")
    if isinstance(note, bool) or not isinstance(note, str | int | float):
        raise DataError(f"note {quoted(key)}: expected a text or a number, got {type(note).__name__}")
    if not isinstance(note, str) and not math.isfinite(note):
        raise DataError(f"note {quoted(key)}: expected a finite number, got {note}; write it as text")


def _check_look(look: Look, sides: Mapping[str, Side]) -> None:
    _text(look.name, "a look's name")
    for side in (look.queries, look.keys):
        if side not in sides:
            known = ", ".join(map(quoted, sides)) or "none"
            raise DataError(f"look {quoted(look.name)}: no side is named {quoted(side)}; sides: {known}")
    weights: object = look.weights
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float32:
        got = weights.dtype if isinstance(weights, np.ndarray) else type(weights).__name__
        raise DataError(f"look {quoted(look.name)}: expected weights as a float32 array, got {got}")
    places = len(sides[look.queries].labels), len(sides[look.keys].labels)
    if weights.ndim != 3 or weights.shape[1:] != places or 0 in weights.shape:
        expected = f"(at least 1 head, {max(1, places[0])} queries, {max(1, places[1])} keys)"
        raise DataError(f"look {quoted(look.name)}: expected weights of shape {expected}, got {weights.shape}")
    if not np.isfinite(weights).all():
        raise DataError(f"look {quoted(look.name)}: expected finite weights, got NaN or infinity")


def _text(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise DataError(f"{what}: expected text, got {type(value).__name__}")


def quoted(name: object) -> str:
    """A name for a message: safe to print, short, in quotes."""
    return f"'{fit(str(name), 60)}'"


Axis = Side
