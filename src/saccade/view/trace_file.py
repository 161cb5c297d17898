"""A trace as one file: safetensors, whose metadata holds our header as one JSON text (docs/trace.md); also as plain JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as packed

from saccade.errors import DataError
from saccade.view.output.embedded_images import address
from saccade.view.output.saving import write
from saccade.view.trace import Axis, Look, Scene, Trace, check_trace, quoted

Array = np.ndarray[Any, Any]
Keep = Callable[[str, Array], Any]

KEY, FORMAT, VERSION = "saccade", "saccade-trace", 2
OF_AXIS, OF_LOOK = (
    ("images", "image", "probabilities"),
    ("weights", "edges", "places"),
)  # arrays, by the names of their fields

LISTS_OF_AXIS = ("grid", "unknown", "marked", "classes")


def save(trace: Trace, path: str | Path) -> None:
    """Writes the trace, all of it or nothing."""
    check_trace(trace)
    write(path, encode(trace))


def encode(trace: Trace) -> bytes:
    """The bytes of a trace file; equal traces give equal bytes. An array that is shared is stored once."""
    arrays: dict[str, Array] = {}
    names: dict[int, str] = {}

    def keep(field: str, array: Array) -> str:
        if id(array) not in names:
            names[id(array)] = f"{field}.{sum(name.startswith(f'{field}.') for name in arrays)}"
            arrays[names[id(array)]] = np.ascontiguousarray(array)
        return names[id(array)]

    header = json.dumps(_header(trace, keep), separators=(",", ":"))
    # ASCII escapes: a header that is not valid UTF-8 (half a surrogate pair in a label) could not be written.
    return packed(arrays, metadata={KEY: header})


def encode_json(trace: Trace) -> bytes:
    """The same header as a JSON file to read elsewhere: numbers as nested lists, images as data addresses of PNG files."""

    def keep(field: str, array: Array) -> Any:
        if field == "images":
            return [keep("image", image) for image in array]
        return address(array, max(array.shape)) if field == "image" else array.tolist()

    return json.dumps(_header(trace, keep), separators=(",", ":")).encode()


def _header(trace: Trace, keep: Keep) -> dict[str, Any]:
    scenes = [
        {
            "title": scene.title,
            "notes": dict(scene.notes),
            "axes": {name: _axis_header(axis, keep) for name, axis in scene.axes.items()},
            "looks": [_look_header(look, keep) for look in scene.looks],
        }
        for scene in trace.scenes
    ]
    return {"format": FORMAT, "version": VERSION, "system": trace.system, "scenes": scenes}


def _axis_header(axis: Axis, keep: Keep) -> dict[str, Any]:
    lists = {field: getattr(axis, field) for field in LISTS_OF_AXIS}
    listed = {field: list(value) for field, value in lists.items() if value}
    return {"kind": axis.kind, "labels": list(axis.labels), **listed, **_kept(axis, OF_AXIS, keep)}


def _look_header(look: Look, keep: Keep) -> dict[str, Any]:
    kind: dict[str, Any] = {} if look.kind == "attention" else {"kind": look.kind}
    kind |= {} if look.layer is None else {"layer": look.layer}
    return {"name": look.name, **kind, "queries": look.queries, "keys": look.keys, **_kept(look, OF_LOOK, keep)}


def _kept(owner: Axis | Look, fields: tuple[str, ...], keep: Keep) -> dict[str, Any]:
    """What stands in the header for the arrays of an axis or a look."""
    arrays = {field: getattr(owner, field) for field in fields}
    return {field: keep(field, array) for field, array in arrays.items() if array is not None and array.size}


def load(path: str | Path) -> Trace:
    """Reads a trace; a file that is damaged, foreign or inconsistent is a DataError that names it."""
    try:
        trace = _read(Path(path))
        check_trace(trace)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return trace


def _read(path: Path) -> Trace:
    if not path.is_file():
        raise DataError("is a directory, expected a trace file" if path.is_dir() else "no such file")
    try:
        with safe_open(path, framework="np") as opened:
            header = _parsed((opened.metadata() or {}).get(KEY))
            arrays = {name: opened.get_tensor(name) for name in _array_names(header, set(opened.keys()))}
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})") from None
    except (SafetensorError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"damaged, or not a safetensors file ({reason}); write it again") from None
    scenes = [_scene(entry, arrays) for entry in header["scenes"]]
    return Trace(system=_get(header, "system", str, "the header"), scenes=scenes)


def _parsed(text: str | None) -> dict[str, Any]:
    """The header, as far as it must be known before anything else is read."""
    if text is None:
        raise DataError("a safetensors file, but not a trace: its metadata has no key 'saccade'")
    try:
        header = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise DataError("the header under 'saccade' is not JSON") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"the header is not one of a trace: expected format {FORMAT!r}")
    version = header.get("version")
    if version != VERSION or isinstance(version, bool):
        raise DataError(f"a trace of version {quoted(version)}, expected {VERSION}; use the saccade that wrote it")
    _get(header, "scenes", list, "the header")
    return header


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _array_names(header: dict[str, Any], stored: set[str]) -> list[str]:
    """The names of the arrays that the header refers to; all of them must be there."""
    names = []
    for scene in header["scenes"]:
        looks, axes = _get(scene, "looks", list, "a scene"), _get(scene, "axes", dict, "a scene")
        owners = [("a look", OF_LOOK, look) for look in looks] + [("an axis", OF_AXIS, axis) for axis in axes.values()]
        for owner, fields, entry in owners:
            if not isinstance(entry, dict):
                raise DataError(f"{owner} must be a JSON object, got {type(entry).__name__}")
            names += [_get(entry, field, str, owner) for field in fields if field in entry]
    for name in names:
        if name not in stored:
            raise DataError(f"array {quoted(name)} is missing; write the file again")
    return names


def _scene(entry: dict[str, Any], arrays: dict[str, Any]) -> Scene:
    return Scene(
        title=_get(entry, "title", str, "a scene"),
        axes={name: _axis(name, axis, arrays) for name, axis in entry["axes"].items()},
        looks=[_look(look, arrays) for look in entry["looks"]],
        notes=_get(entry, "notes", dict, "a scene"),
    )


def _axis(name: str, entry: dict[str, Any], arrays: dict[str, Any]) -> Axis:
    owner = f"axis {quoted(name)}"
    kind, labels = _get(entry, "kind", str, owner), _get(entry, "labels", list, owner)
    lists: dict[str, Any] = {field: _get(entry, field, list, owner) for field in LISTS_OF_AXIS if field in entry}
    if "grid" in lists:
        lists["grid"] = tuple(lists["grid"])
    return Axis(kind, labels, **lists, **{field: arrays[entry[field]] for field in OF_AXIS if field in entry})


def _look(entry: dict[str, Any], arrays: dict[str, Any]) -> Look:
    name, queries, keys = (_get(entry, key, str, "a look") for key in ("name", "queries", "keys"))
    kinds: dict[str, type] = {"kind": str, "layer": int}
    given: dict[str, Any] = {key: _get(entry, key, of, "a look") for key, of in kinds.items() if key in entry}
    return Look(name, queries, keys, **given, **{field: arrays[entry[field]] for field in OF_LOOK if field in entry})


def _get(table: object, key: str, kind: type, owner: str) -> Any:
    """A value of a JSON object, of the type that it must have."""
    if not isinstance(table, dict):
        raise DataError(f"{owner} must be a JSON object, got {type(table).__name__}")
    if not isinstance(table.get(key), kind):
        got = type(table[key]).__name__ if key in table else "nothing"
        raise DataError(f"{owner}: expected {key!r} as {kind.__name__}, got {got}")
    return table[key]
