"""Traces in memory: what fits together, what is refused in one line, and the matrix of a look."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.errors import DataError, UsageError
from saccade.view.trace import NO_WEIGHTS, Axis, Look, Scene, check, matrix
from saccade.view.trace_file import save

from .traces import bag, caption, edges, glimpses, marked, plain, trace


def test_memory_is_checked_like_files(tmp_path: Path) -> None:
    scene = plain()
    doubles: Any = np.zeros((3, 4))
    wrong = dataclasses.replace(scene, looks=[dataclasses.replace(scene.looks[0], weights=doubles)])
    with pytest.raises(DataError, match="look 'cross': expected weights as a float32 array, got float64"):
        check(wrong)
    with pytest.raises(DataError, match="scene 1: look 'cross'"):
        save(trace(wrong), tmp_path / "a.trace")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="write list"):
        check(dataclasses.replace(scene, axes={"source": Axis("characters", "abcd"), "written": scene.axes["written"]}))
    with pytest.raises(DataError, match="finite number, got inf"):
        check(dataclasses.replace(scene, notes={"score": float("inf")}))


def changed(scene: Scene, **fields: Any) -> Scene:
    """The scene with its first look changed."""
    return dataclasses.replace(scene, looks=[dataclasses.replace(scene.looks[0], **fields)])


FLOATS = np.zeros((4, 4), dtype=np.float32)
WRONG: dict[str, tuple[Scene, str]] = {
    "nothing": (changed(plain(), weights=NO_WEIGHTS), "3 queries, 4 keys), got (0, 0, 0)"),
    "weights and places": (changed(plain(), places=FLOATS), "either places or weights, got both"),
    "edges and places": (changed(edges(), weights=NO_WEIGHTS, places=FLOATS), "either places or weights, got both"),
    "edges of floats": (changed(edges(), edges=np.zeros((2, 10))), "edges as a int64 array, got float64"),
    "edges in columns": (
        changed(edges(), edges=np.zeros((10, 2), np.int64)),
        "(2, at least 1 edge), got (10, 2)",
    ),
    "an edge to nowhere": (changed(edges(), edges=np.full((2, 10), 5)), "from 5 keys (row 0) to 5 queries (row 1)"),
    "an edge from nowhere": (changed(edges(), edges=np.full((2, 10), -1)), "from 5 keys (row 0) to 5 queries (row 1)"),
    "weights of other edges": (
        changed(edges(), edges=np.zeros((2, 9), np.int64)),
        "1 head, 9 edges), got (2, 10)",
    ),
    "places without an image": (changed(plain(), weights=NO_WEIGHTS, places=FLOATS), "expected an image at axis 'source'"),
    "places of other steps": (changed(glimpses(), places=FLOATS[:3]), "(4 steps, 4) or (4 steps, scales, 4), got (3, 4)"),
    "places without size": (changed(glimpses(), places=FLOATS), "heights and widths above 0, got 0"),
    "places in doubles": (changed(glimpses(), places=np.ones((4, 4))), "places as a float32 array, got float64"),
    "places at infinity": (changed(glimpses(), places=FLOATS + np.inf), "expected finite places"),
}


@pytest.mark.parametrize("name", WRONG)
def test_looks_that_do_not_fit_are_refused(name: str) -> None:
    scene, said = WRONG[name]
    with pytest.raises(DataError) as caught:
        check(scene)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"image": np.zeros((4, 4), np.float32)}, "image as a uint8 array, got float32"),
        ({"image": np.zeros((4, 4, 2), np.uint8)}, "(height, width) or (height, width, 3), got (4, 4, 2)"),
        ({"grid": None}, "one image with a grid over it (or with no labels), got labels without a grid"),
        ({"images": np.zeros((24, 2, 2), np.uint8)}, "got images of the places too"),
    ],
)
def test_images_that_do_not_fit_are_refused(fields: dict[str, Any], said: str) -> None:
    scene = caption()
    wrong = dataclasses.replace(scene.axes["image"], **fields)
    with pytest.raises(DataError) as caught:
        check(dataclasses.replace(scene, axes={**scene.axes, "image": wrong}))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"probabilities": np.zeros(4)}, "probabilities as a float32 array, got float64"),
        ({"probabilities": np.zeros(3, np.float32)}, "probabilities of shape (4,), one per label, got (3,)"),
        ({"probabilities": np.array([0, 1, -0.5, 1], np.float32)}, "from 0 to 1, got -0.5; logarithms need exp"),
        ({"probabilities": np.array([0, 1, np.nan, 1], np.float32)}, "finite probabilities, got NaN"),
        ({"unknown": [4]}, "each from 0 to 3, got '[4]'"),
        ({"unknown": [-1]}, "each from 0 to 3, got '[-1]'"),
        ({"unknown": [2, 1]}, "ascending"),
        ({"unknown": [1, 1]}, "ascending"),
        ({"unknown": [True]}, "the numbers of unknown places"),
        ({"unknown": "1"}, "the numbers of unknown places"),
        ({"classes": ["a"]}, "expected 4 classes, one per label, got 1"),
        ({"classes": "abcd"}, "expected 4 classes, one per label, got one text"),
        ({"classes": ["a", "b", 3, "d"]}, "class 2: expected text, got int"),
    ],
)
def test_what_is_said_of_places_must_fit_them(fields: dict[str, Any], said: str) -> None:
    scene = plain()
    wrong = dataclasses.replace(scene.axes["source"], **fields)
    with pytest.raises(DataError) as caught:
        check(dataclasses.replace(scene, axes={**scene.axes, "source": wrong}))
    assert said in str(caught.value)


def test_every_form_of_a_look_is_accepted() -> None:
    for scene in (plain(), edges(), caption(), glimpses(), glimpses(3), bag(6, (2, 3)), marked()):
        check(scene)


def test_edges_become_a_matrix() -> None:
    scene = edges()
    found = matrix(scene, scene.looks[0], 0)
    for node in range(5):
        assert found[node, node] == 0.25
        assert found[node, (node - 1) % 5] == 0.75
    assert found.sum() == 5
    assert matrix(scene, scene.looks[0])[0, 4] == 0.625
    twice = Look("l", "nodes", "nodes", np.ones((1, 2), np.float32), np.array([[1, 1], [0, 0]]))
    assert matrix(scene, twice)[0, 1] == 2.0  # parallel edges add up


def test_what_has_no_matrix_says_so() -> None:
    with pytest.raises(UsageError, match="it has places, but no weights"):
        matrix(glimpses(), glimpses().looks[0])
    many = {"nodes": Axis("nodes", ["n"] * 10_000)}
    with pytest.raises(UsageError, match="10,000 × 10,000 places are too many"):
        matrix(dataclasses.replace(edges(), axes=many), edges().looks[0])


@pytest.mark.parametrize("channels", [(), (3,)])
def test_tiles_come_back_to_their_image(channels: tuple[int, ...]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (6, 20, *channels), dtype=np.uint8)
    tiles = np.stack([picture[y : y + 3, x : x + 5] for y in (0, 3) for x in (0, 5, 10, 15)])
    found = Axis("tiles", [""] * 8, tiles, (2, 4)).whole_image()
    assert found is not None
    assert np.array_equal(found, picture)
