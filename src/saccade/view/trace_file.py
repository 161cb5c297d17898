"""A trace as one file: safetensors, whose metadata holds our header as one JSON text (docs/trace.md)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as packed

from saccade.errors import DataError
from saccade.view.files import write
from saccade.view.trace import Look, Scene, Side, Trace, check_trace, quoted

Array = np.ndarray[Any, Any]

KEY, FORMAT, VERSION = "saccade", "saccade-trace", 1


def save(trace: Trace, path: str | Path) -> None:
    """Writes the trace, all of it or nothing."""
    check_trace(trace)
    write(path, encode(trace))


def encode(trace: Trace) -> bytes:
    """The bytes of a trace file; equal traces give equal bytes."""
    arrays: dict[str, Array] = {
        f"{number}.{index}": np.ascontiguousarray(look.weights)
        for number, scene in enumerate(trace.scenes)
        for index, look in enumerate(scene.looks)
    }
    pictures = _pictures(trace)
    arrays |= {name: np.ascontiguousarray(array) for name, array in pictures.values()}
    names = {key: name for key, (name, _) in pictures.items()}
    scenes = [_scene_header(number, scene, names) for number, scene in enumerate(trace.scenes)]
    header = {"format": FORMAT, "version": VERSION, "system": trace.system, "scenes": scenes}
    # ASCII escapes: a header that is not valid UTF-8 (half a surrogate pair in a label) could not be written.
    return packed(arrays, metadata={KEY: json.dumps(header, separators=(",", ":"))})


def _pictures(trace: Trace) -> dict[int, tuple[str, Array]]:
    """Every array of pictures and its name, by its id: scenes that show the same pictures keep them once."""
    found: dict[int, tuple[str, Array]] = {}
    for side in (side for scene in trace.scenes for side in scene.sides.values()):
        if side.pictures is not None and id(side.pictures) not in found:
            found[id(side.pictures)] = f"pictures.{len(found)}", side.pictures
    return found


def _scene_header(number: int, scene: Scene, pictures: dict[int, str]) -> dict[str, Any]:
    looks = [
        {"name": look.name, "queries": look.queries, "keys": look.keys, "weights": f"{number}.{index}"}
        for index, look in enumerate(scene.looks)
    ]
    sides = {name: _side_header(side, pictures) for name, side in scene.sides.items()}
    return {"title": scene.title, "notes": dict(scene.notes), "sides": sides, "looks": looks}


def _side_header(side: Side, pictures: dict[int, str]) -> dict[str, Any]:
    header: dict[str, Any] = {"kind": side.kind, "labels": list(side.labels)}
    if side.pictures is not None:
        header["pictures"] = pictures[id(side.pictures)]
    if side.grid is not None:
        header["grid"] = list(side.grid)
    return header


def load(path: str | Path) -> Trace:
    """Reads a trace; a file that is damaged, foreign or does not fit itself is a DataError that names it."""
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
            arrays = {name: opened.get_tensor(name) for name in _wanted(header, set(opened.keys()))}
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


def _wanted(header: dict[str, Any], stored: set[str]) -> list[str]:
    """The names of the arrays that the header speaks of; all of them must be there."""
    looks = [look for scene in header["scenes"] for look in _get(scene, "looks", list, "a scene")]
    sides = [side for scene in header["scenes"] for side in _get(scene, "sides", dict, "a scene").values()]
    names = [_get(look, "weights", str, "a look") for look in looks]
    names += [_get(side, "pictures", str, "a side") for side in sides if isinstance(side, dict) and "pictures" in side]
    for name in names:
        if name not in stored:
            raise DataError(f"array {quoted(name)} is missing; write the file again")
    return names


def _scene(entry: dict[str, Any], arrays: dict[str, Any]) -> Scene:
    sides = _get(entry, "sides", dict, "a scene")
    return Scene(
        title=_get(entry, "title", str, "a scene"),
        sides={name: _side(name, side, arrays) for name, side in sides.items()},
        looks=[_look(look, arrays) for look in entry["looks"]],
        notes=_get(entry, "notes", dict, "a scene"),
    )


def _side(name: str, entry: Any, arrays: dict[str, Any]) -> Side:
    owner = f"side {quoted(name)}"
    kind, labels = _get(entry, "kind", str, owner), _get(entry, "labels", list, owner)
    grid = tuple(_get(entry, "grid", list, owner)) if "grid" in entry else None
    return Side(kind, labels, arrays[entry["pictures"]] if "pictures" in entry else None, grid)


def _look(entry: dict[str, Any], arrays: dict[str, Any]) -> Look:
    name, queries, keys = (_get(entry, key, str, "a look") for key in ("name", "queries", "keys"))
    return Look(name, queries, keys, arrays[entry["weights"]])


def _get(table: object, key: str, kind: type, owner: str) -> Any:
    """A value of a JSON object, of the type that it must have."""
    if not isinstance(table, dict):
        raise DataError(f"{owner} must be a JSON object, got {type(table).__name__}")
    if not isinstance(table.get(key), kind):
        got = type(table[key]).__name__ if key in table else "nothing"
        raise DataError(f"{owner}: expected {key!r} as {kind.__name__}, got {got}")
    return table[key]
