"""Where a model looked, as data: named axes and the attention between them; `check` says whether they fit each other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError, UsageError
from saccade.view.output.display_text import fit

Weights = NDArray[np.float32]
Pixels = NDArray[np.uint8]

NO_WEIGHTS: Weights = np.zeros((0, 0, 0), dtype=np.float32)
KINDS = ("attention", "rollout", "flow", "attribution")  # of looks
LARGEST_MATRIX = 50_000_000  # cells of a look of edges that are still drawn as a matrix


@dataclass(frozen=True)
class Axis:
    """One axis of a look: what its places are (characters, words, pixels, frames, nodes, …) and the label of each.

    Shapes: images (places, height, width[, 3]), one for each place; image (height, width[, 3]), one for all of them;
            probabilities (places)
    """

    kind: str
    labels: Sequence[str]
    images: Pixels | None = None
    grid: tuple[int, int] | None = None
    "Rows and columns, where the places are the cells of a grid over one image, row by row."
    image: Pixels | None = None
    "The image under the grid; without labels it is only the ground of a path of glimpses."
    probabilities: NDArray[np.float32] | None = None
    "The probability, from 0 to 1, that the model gave to each token that it wrote."
    unknown: Sequence[int] = ()
    "The numbers of the places whose token is unknown to the tokenizer, ascending."
    marked: Sequence[int] = ()
    "The numbers of the places that are known to matter, ascending: the supporting facts of a story."
    classes: Sequence[str] | None = None
    "The name of the class of each place (nodes of a graph), for colors and their legend."

    def whole_image(self) -> Pixels | None:
        """The image under the grid: the one given, or the images of all cells put together; None where there is none."""
        if self.image is not None or self.images is None or self.grid is None:
            return self.image
        rows, columns = self.grid
        height, width, *channels = self.images.shape[1:]
        tiles = self.images.reshape(rows, columns, height, width, *channels)
        return np.ascontiguousarray(tiles.swapaxes(1, 2).reshape(rows * height, columns * width, *channels))


@dataclass(frozen=True)
class Look:
    """One attention between two axes of its scene: a matrix, a list of edges, or a path of boxes in an image.

    Shapes: weights (heads, queries, keys); with edges (heads, E); none with places
            edges (2, E), row 0 the key, row 1 the query, as in PyTorch Geometric
            places (steps, 4) or (steps, scales, 4): top row, left column, height and width in pixels of the keys' image
    """

    name: str
    queries: str
    keys: str
    weights: Weights = field(default_factory=lambda: NO_WEIGHTS)
    edges: NDArray[np.int64] | None = None
    places: NDArray[np.float32] | None = None
    kind: str = "attention"
    """`attention`; `rollout`, attention multiplied through the layers; `flow`, the maximum flow through them; or
    `attribution`, what moved the output (gradient × input, integrated gradients): its weights may be negative, and it is
    never drawn first where there is attention."""
    layer: int | None = None
    "The number of its layer, from 1; else looks between the same axes are layers in their order."
    chosen: int | None = None
    "The query that is shown first where a drawing shows one at a time; no file keeps it."

    @property
    def heads(self) -> int:
        return len(self.weights) if self.places is None else 1


@dataclass(frozen=True)
class Scene:
    """One input with one output: its axes by name, and the looks between them."""

    title: str
    axes: Mapping[str, Axis]
    looks: Sequence[Look]
    notes: Mapping[str, str | float] = field(default_factory=dict)

    def shape(self, look: Look) -> tuple[int, int]:
        """How many queries and keys the look is between."""
        return len(self.axes[look.queries].labels), len(self.axes[look.keys].labels)


@dataclass(frozen=True)
class Trace:
    """The scenes of one system, in the order of its inputs (n-best hypotheses follow each other)."""

    system: str
    scenes: Sequence[Scene]


def check_head(look: Look, head: int | None) -> None:
    """Raises UsageError unless the look has this head."""
    if head is not None and not 0 <= head < look.heads:
        known = "only head 0" if look.heads == 1 else f"heads 0 to {look.heads - 1}"
        raise UsageError(f"look {quoted(look.name)} has {known}, got head {head}")


def matrix(scene: Scene, look: Look, head: int | None = None) -> NDArray[np.float64]:
    """The weights of a head, or the mean of all heads, as (queries, keys); parallel edges are added up."""
    check_head(look, head)
    if look.places is not None:
        raise UsageError(f"look {quoted(look.name)} is a path of glimpses: it has places, but no weights")
    values = look.weights.mean(axis=0, dtype=np.float64) if head is None else look.weights[head].astype(np.float64)
    if look.edges is None:
        return np.asarray(values)
    shape = scene.shape(look)
    if shape[0] * shape[1] > LARGEST_MATRIX:
        size = f"{shape[0]:,} × {shape[1]:,}"
        raise UsageError(f"look {quoted(look.name)}: {size} places are too many for a drawing; keep a part of the graph")
    cells = np.zeros(shape)
    np.add.at(cells, (look.edges[1], look.edges[0]), values)
    return cells


def check_trace(trace: Trace) -> None:
    """Raises DataError unless there is a scene and every scene is valid."""
    _text(trace.system, "the system")
    if not trace.scenes:
        raise DataError("a trace needs at least one scene, got none")
    for number, scene in enumerate(trace.scenes, 1):
        try:
            check(scene)
        except DataError as error:
            raise DataError(f"scene {number}: {error}") from None


def check(scene: Scene) -> None:
    """Raises DataError unless the scene has looks, and each fits two axes that exist."""
    _text(scene.title, "the title")
    for name, axis in scene.axes.items():
        _check_axis(name, axis)
    for key, note in scene.notes.items():
        _check_note(key, note)
    if not scene.looks:
        raise DataError("a scene needs at least one look, got none")
    for look in scene.looks:
        _check_look(look, scene)
    names = [look.name for look in scene.looks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"two looks are named {quoted(twice)}; names must differ")


def _check_axis(name: str, axis: Axis) -> None:
    _text(name, "an axis's name")
    owner, count = f"axis {quoted(name)}", len(axis.labels)
    _text(axis.kind, f"the kind of {owner}")
    if isinstance(axis.labels, str):
        raise DataError(f"{owner}: expected a list of labels, got one text; write list(text) for its letters")
    for index, label in enumerate(axis.labels):
        _text(label, f"{owner}: label {index}")
    if axis.images is not None:
        _check_pixels(f"{owner}: expected images", axis.images, 3, "(places, height, width)")
        if len(axis.images) != count:
            raise DataError(f"{owner}: expected {count} images, one per label, got {len(axis.images)}")
    if axis.grid is not None:
        _check_grid(owner, axis.grid, count)
    if axis.probabilities is not None:
        _check_probabilities(f"{owner}: expected probabilities", axis.probabilities, count)
    _check_numbers(owner, "unknown", axis.unknown, count)
    _check_numbers(owner, "marked", axis.marked, count)
    if axis.classes is not None:
        if isinstance(axis.classes, str) or len(axis.classes) != count:
            got = "one text" if isinstance(axis.classes, str) else len(axis.classes)
            raise DataError(f"{owner}: expected {count} classes, one per label, got {got}")
        for index, name in enumerate(axis.classes):
            _text(name, f"{owner}: class {index}")
    if axis.image is not None:
        _check_pixels(f"{owner}: expected an image", axis.image, 2, "(height, width)")
        if axis.images is not None or (count > 0 and axis.grid is None):
            got = "images of the places too" if axis.images is not None else "labels without a grid"
            raise DataError(f"{owner}: expected one image with a grid over it (or with no labels), got {got}")


def _check_probabilities(expected: str, probabilities: Any, places: int) -> None:
    _check_finite(expected, probabilities)
    if probabilities.shape != (places,):
        raise DataError(f"{expected} of shape ({places},), one per label, got {probabilities.shape}")
    if probabilities.size and (probabilities.min() < 0 or probabilities.max() > 1):
        wrong = next(value for value in probabilities.tolist() if not 0 <= value <= 1)
        raise DataError(f"{expected} from 0 to 1, got {wrong:g}; logarithms need exp")


def _check_numbers(owner: str, what: str, given: object, places: int) -> None:
    """Numbers of places, each once, ascending."""
    numbers: list[Any] = list(given) if isinstance(given, Sequence) else [None]
    whole = all(type(number) is int and 0 <= number < places for number in numbers)
    if not whole or numbers != sorted(set(numbers)):
        expected = f"the numbers of {what} places, ascending, each from 0 to {places - 1}"
        raise DataError(f"{owner}: expected {expected}, got {quoted(given)}")


def _check_pixels(expected: str, pixels: object, dimensions: int, shape: str) -> None:
    _check_array(f"{expected} as", pixels, np.uint8)
    assert isinstance(pixels, np.ndarray)
    if pixels.ndim - dimensions not in (0, 1) or pixels.shape[dimensions:] not in ((), (3,)) or 0 in pixels.shape:
        raise DataError(f"{expected} of shape {shape} or {shape[:-1]}, 3), got {pixels.shape}")


def _check_array(expected: str, array: object, dtype: type[np.generic]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        got = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise DataError(f"{expected} a {np.dtype(dtype).name} array, got {got}")


def _check_grid(owner: str, grid: object, places: int) -> None:
    sizes = grid if isinstance(grid, tuple) else ()
    if len(sizes) != 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise DataError(f"{owner}: expected a grid of (rows, columns), whole numbers above 0, got {quoted(grid)}")
    if sizes[0] * sizes[1] != places:
        got = f"{sizes[0]} × {sizes[1]} places"
        raise DataError(f"{owner}: expected a grid of {places} places, one per label, got {got}")


def _check_note(key: str, note: object) -> None:
    _text(key, "a note's name")
    if isinstance(note, bool) or not isinstance(note, str | int | float):
        raise DataError(f"note {quoted(key)}: expected a text or a number, got {type(note).__name__}")
    if not isinstance(note, str) and not math.isfinite(note):
        raise DataError(f"note {quoted(key)}: expected a finite number, got {note}; write it as text")


def _check_look(look: Look, scene: Scene) -> None:
    _text(look.name, "a look's name")
    owner = f"look {quoted(look.name)}"
    if look.kind not in KINDS:
        raise DataError(f"{owner}: expected a kind of {', '.join(KINDS)}, got {quoted(look.kind)}")
    if look.layer is not None and (type(look.layer) is not int or look.layer < 1):
        raise DataError(f"{owner}: expected a layer from 1, got {quoted(look.layer)}")
    for name in (look.queries, look.keys):
        if name not in scene.axes:
            known = ", ".join(map(quoted, scene.axes)) or "none"
            raise DataError(f"{owner}: no axis is named {quoted(name)}; axes: {known}")
    if look.places is not None:
        if look.edges is not None or np.size(look.weights):
            raise DataError(f"{owner}: expected either places or weights, got both")
        _check_places(owner, look.places, scene, look)
        return
    expected = _expected_shape(owner, look, scene)
    _check_finite(f"{owner}: expected weights", look.weights)
    if look.weights.shape[1:] != expected or 0 in look.weights.shape:
        names = ["queries", "keys"] if look.edges is None else ["edges"]
        shape = ", ".join(f"{max(1, size)} {name}" for size, name in zip(expected, names, strict=True))
        raise DataError(f"{owner}: expected weights of shape (at least 1 head, {shape}), got {look.weights.shape}")


def _expected_shape(owner: str, look: Look, scene: Scene) -> tuple[int, ...]:
    """The shape of the weights of a head, after the edges, if there are any, were checked."""
    shape = scene.shape(look)
    if look.edges is None:
        return shape
    _check_array(f"{owner}: expected edges as", look.edges, np.int64)
    if look.edges.ndim != 2 or len(look.edges) != 2 or look.edges.size == 0:
        raise DataError(f"{owner}: expected edges of shape (2, at least 1 edge), got {look.edges.shape}")
    if look.edges.min() < 0 or (look.edges >= np.array([[shape[1]], [shape[0]]])).any():
        raise DataError(f"{owner}: expected edges from {shape[1]} keys (row 0) to {shape[0]} queries (row 1), got others")
    return (look.edges.shape[1],)


def _check_places(owner: str, places: Any, scene: Scene, look: Look) -> None:
    if scene.axes[look.keys].whole_image() is None:
        raise DataError(f"{owner}: expected an image at axis {quoted(look.keys)}, which its places are in, got none")
    _check_finite(f"{owner}: expected places", places)
    steps = len(scene.axes[look.queries].labels)
    if places.ndim not in (2, 3) or places.shape[0] != steps or places.shape[-1] != 4 or 0 in places.shape:
        shape = f"({max(1, steps)} steps, 4) or ({max(1, steps)} steps, scales, 4)"
        raise DataError(f"{owner}: expected places of shape {shape}, got {places.shape}")
    if (places[..., 2:] <= 0).any():
        raise DataError(f"{owner}: expected places with heights and widths above 0, got {places[..., 2:].min():g}")


def _check_finite(expected: str, array: Any) -> None:
    _check_array(f"{expected} as", array, np.float32)
    if not np.isfinite(array).all():
        raise DataError(f"{expected.replace('expected ', 'expected finite ')}, got NaN or infinity")


def _text(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise DataError(f"{what}: expected text, got {type(value).__name__}")


def quoted(name: object) -> str:
    """A name for a message: safe to print, short, in quotes."""
    return f"'{fit(str(name), 60)}'"
