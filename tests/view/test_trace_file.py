"""Trace files: what is saved comes back, and what is damaged, foreign or does not fit is refused in one line."""

import dataclasses
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed

from saccade.errors import DataError
from saccade.view.trace import Axis, Look, Scene, Trace
from saccade.view.trace_file import encode, load, save

from .traces import bag, caption, edges, glimpses, hostile, layered, marked, plain, trace

Header = dict[str, Any]


def header(content: bytes) -> Header:
    (length,) = struct.unpack("<Q", content[:8])
    table = json.loads(content[8 : 8 + length])
    return json.loads(table["__metadata__"]["saccade"])  # type: ignore[no-any-return]


def numbered() -> Scene:
    """The last layers alone."""
    scene = layered()
    return dataclasses.replace(scene, looks=[dataclasses.replace(look, layer=n) for n, look in enumerate(scene.looks, 10)])


@pytest.mark.parametrize("scene", [plain(), hostile(), caption(), edges(), glimpses(), glimpses(3), marked(), numbered()])
def test_what_is_saved_comes_back(scene: Scene, tmp_path: Path) -> None:
    save(Trace("dates", [scene, plain("second")]), tmp_path / "a.trace")
    back = load(tmp_path / "a.trace")
    assert (back.system, back.scenes[1].title) == ("dates", "second")
    found = back.scenes[0]
    assert (found.title, found.notes) == (scene.title, scene.notes)
    assert {name: (side.kind, list(side.labels)) for name, side in found.axes.items()} == {
        name: (side.kind, list(side.labels)) for name, side in scene.axes.items()
    }
    for name, side in scene.axes.items():
        stored, given = found.axes[name].probabilities, side.probabilities
        assert (found.axes[name].unknown, found.axes[name].classes) == (side.unknown, side.classes)
        assert (None if stored is None else stored.tolist()) == (None if given is None else given.tolist())
    for one, other in zip(found.looks, scene.looks, strict=True):
        assert (one.name, one.kind, one.queries, one.keys) == (other.name, other.kind, other.queries, other.keys)
        assert one.layer == other.layer
        for field in ("weights", "edges", "places"):
            stored, given = getattr(one, field), getattr(other, field)
            assert (stored is None) == (given is None)
            assert given is None or (stored.dtype == given.dtype and np.array_equal(stored, given))


def test_images_and_grids_come_back_and_are_kept_once(tmp_path: Path) -> None:
    scene = bag(6, (2, 3))
    images = scene.axes["bag"].images
    assert images is not None
    save(trace(scene, dataclasses.replace(scene, title="second"), bag(4), plain()), tmp_path / "a.trace")
    back = load(tmp_path / "a.trace").scenes
    for found in back[:2]:
        axis = found.axes["bag"]
        assert axis.images is not None
        assert np.array_equal(axis.images, images)
        assert axis.grid == (2, 3)
    assert back[2].axes["bag"].grid is None
    assert back[3].axes["source"].images is None
    stored = unpacked((tmp_path / "a.trace").read_bytes())
    assert sorted(name for name in stored if name.startswith("images")) == ["images.0", "images.1"]
    assert "images" not in json.dumps(header(encode(trace())))  # a file without them is what it always was


def test_arrays_in_any_memory_order_are_saved_right(tmp_path: Path) -> None:
    weights = np.arange(12, dtype=np.float32).reshape(1, 4, 3).transpose(0, 2, 1)
    axes = {"rows": Axis("words", list("abc")), "columns": Axis("words", list("wxyz"))}
    save(trace(Scene("t", axes, [Look("l", "rows", "columns", weights)])), tmp_path / "a.trace")
    assert np.array_equal(load(tmp_path / "a.trace").scenes[0].looks[0].weights, weights)


def test_the_file_is_what_its_description_says() -> None:
    content = encode(trace())
    assert header(content)["scenes"][0]["looks"][0] == {
        "name": "cross",
        "queries": "written",
        "keys": "source",
        "weights": "weights.0",
    }
    assert {name: array.dtype for name, array in unpacked(content).items()} == {
        "weights.0": np.float32,
        "weights.1": np.float32,
    }
    assert content == encode(trace())


def rewritten(change: Callable[[Header, dict[str, Any]], None], *scenes: Scene) -> bytes:
    """The file of a good trace, with its header or its arrays changed."""
    content = encode(trace(*scenes))
    told, arrays = header(content), unpacked(content)
    change(told, arrays)
    return packed(arrays, metadata={"saccade": json.dumps(told)})


def put(*path: str | int, value: Any) -> Callable[[Header, dict[str, Any]], None]:
    def change(told: Any, _: dict[str, Any]) -> None:
        for key in path[:-1]:
            told = told[key]
        told[path[-1]] = value

    return change


def array(value: Any) -> Callable[[Header, dict[str, Any]], None]:
    return lambda _, arrays: arrays.update({"weights.0": value})


def pictured(change: Callable[[Header, dict[str, Any]], None]) -> bytes:
    return rewritten(change, bag(6, (2, 3)))


def drawn(value: Any) -> Callable[[Header, dict[str, Any]], None]:
    return lambda _, arrays: arrays.update({"images.0": value})


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "damaged"),
    "text": (b"a,b,c\n1,2,3\n" * 50, "damaged"),
    "cut in the arrays": (encode(trace())[:-9], "damaged"),
    "cut in the table": (encode(trace())[:60], "damaged"),
    "foreign": (packed({"w": np.zeros(3)}), "not a trace"),
    "header is no JSON": (packed({}, metadata={"saccade": "{"}), "not JSON"),
    "header is a list": (packed({}, metadata={"saccade": "[]"}), "expected format 'saccade-trace'"),
    "deep nesting": (packed({}, metadata={"saccade": "[" * 100_000}), "not JSON"),
    "older": (rewritten(put("version", value=1)), "version '1', expected 2"),
    "no version": (rewritten(put("version", value=True)), "version 'True', expected 2"),
    "no scenes": (rewritten(put("scenes", value=[])), "at least one scene"),
    "scenes are no list": (rewritten(put("scenes", value={})), "expected 'scenes' as list, got dict"),
    "scene is a number": (rewritten(put("scenes", 0, value=3)), "must be a JSON object, got int"),
    "no system": (rewritten(put("system", value=None)), "expected 'system' as str"),
    "no looks": (rewritten(put("scenes", 0, "looks", value=[])), "scene 1: a scene needs at least one look"),
    "array missing": (rewritten(lambda _, arrays: arrays.pop("weights.1")), "array 'weights.1' is missing"),
    "side missing": (
        rewritten(put("scenes", 0, "looks", 0, "keys", value="sauce")),
        "no axis is named 'sauce'; axes: 'source', 'written'",
    ),
    "labels too few": (rewritten(put("scenes", 0, "axes", "source", "labels", value=["a"])), "3 queries, 1 keys"),
    "label is a number": (rewritten(put("scenes", 0, "axes", "source", "labels", 2, value=7)), "label 2: expected text"),
    "note is a list": (rewritten(put("scenes", 0, "notes", "score", value=[1])), "note 'score': expected a text or"),
    "note is not a number": (rewritten(put("scenes", 0, "notes", "score", value=float("nan"))), "not JSON"),
    "two of a name": (rewritten(put("scenes", 0, "looks", 1, "name", value="cross")), "two looks are named 'cross'"),
    "NaN": (rewritten(array(np.full((1, 3, 4), np.nan, np.float32))), "finite weights"),
    "matrix": (rewritten(array(np.zeros((3, 4), np.float32))), r"got (3, 4)"),
    "whole numbers": (rewritten(array(np.zeros((1, 3, 4), np.int32))), "float32 array, got int32"),
    "images missing": (pictured(lambda _, arrays: arrays.pop("images.0")), "array 'images.0' is missing"),
    "images are no name": (pictured(put("scenes", 0, "axes", "bag", "images", value=3)), "expected 'images' as str"),
    "images of floats": (pictured(drawn(np.zeros((6, 4, 5), np.float32))), "uint8 array, got float32"),
    "images of four colors": (
        pictured(drawn(np.zeros((6, 4, 5, 4), np.uint8))),
        "(places, height, width, 3), got (6, 4, 5, 4)",
    ),
    "images of nothing": (pictured(drawn(np.zeros((6, 0, 5), np.uint8))), "got (6, 0, 5)"),
    "images too few": (pictured(drawn(np.zeros((5, 4, 5), np.uint8))), "expected 6 images, one per label, got 5"),
    "grid of others": (
        pictured(put("scenes", 0, "axes", "bag", "grid", value=[3, 3])),
        "grid of 6 places, one per label, got 3",
    ),
    "grid of one side": (
        pictured(put("scenes", 0, "axes", "bag", "grid", value=[6])),
        "expected a grid of (rows, columns)",
    ),
    "grid of words": (
        pictured(put("scenes", 0, "axes", "bag", "grid", value=["2", True])),
        "expected a grid of (rows, columns)",
    ),
    "grid is a number": (pictured(put("scenes", 0, "axes", "bag", "grid", value=6)), "expected 'grid' as list, got int"),
    "unknown is a number": (rewritten(put("scenes", 0, "axes", "source", "unknown", value=1)), "expected 'unknown' as list"),
    "kind is a number": (rewritten(put("scenes", 0, "looks", 0, "kind", value=1)), "expected 'kind' as str, got int"),
    "kind of another house": (rewritten(put("scenes", 0, "looks", 0, "kind", value="saliency")), "got 'saliency'"),
    "no heads": (rewritten(array(np.zeros((0, 3, 4), np.float32))), "at least 1 head"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_file_is_refused_in_one_line_that_names_it(kind: str, tmp_path: Path) -> None:
    content, said = BROKEN[kind]
    path = tmp_path / "bad.trace"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "none.trace")
    with pytest.raises(DataError, match="is a directory"):
        load(tmp_path)


def test_every_byte_of_the_table_may_be_damaged(tmp_path: Path) -> None:
    """Whatever one flipped byte makes of the file: a trace, or a DataError; nothing else."""
    content, path = encode(trace()), tmp_path / "flipped.trace"
    for place in range(0, struct.unpack("<Q", content[:8])[0], 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x11]) + content[place + 1 :])
        try:
            load(path)
        except DataError as error:
            assert str(error).isprintable()  # noqa: PT017 - either outcome is right
