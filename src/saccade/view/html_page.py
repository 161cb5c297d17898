"""A trace as one self-contained page: looks, heads and rows to select, with nothing loaded from anywhere."""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from saccade.errors import UsageError
from saccade.view.drawings import drawing_of, heatmap
from saccade.view.drawings.figure import find_look
from saccade.view.output import colors
from saccade.view.output.display_text import fit
from saccade.view.trace import LARGEST_MATRIX, Axis, Look, Scene, Trace, check_head, check_trace

FINE = 250_000  # cells of a head up to which 16 bits a cell are spent; above, 8 keep the page small
MOST = 100_000_000  # cells of a page that a browser still opens
LONGEST = 200  # columns of a label
SCRIPTS = ("matrix.js", "heatmap.js", "pieces.js")  # those of the drawings follow, then the page itself


def html(trace: Trace, look: str | None = None, head: int | None = None) -> str:
    """The page; `look` and `head` are what it shows first (the first look and the mean of its heads unless given)."""
    check_trace(trace)
    check_head(find_look(trace.scenes[0], look), head)
    cells = sum(each.weights.size for scene in trace.scenes for each in scene.looks)
    if cells > MOST:
        raise UsageError(f"a page holds up to {MOST:,} weights, got {cells:,}; keep fewer scenes, looks or heads")
    style, script = _part("viewer.css"), "\n".join(['"use strict";', *map(_part, _scripts(trace))])
    parts = {
        "policy": escape(_policy(script, style)),
        "title": escape(f"{fit(trace.system, 80)}: where it looked" if trace.system else "where it looked"),
        "style": style,
        "script": script,
        "trace": embedded({**_page(trace), "first": {"look": None if look is None else _short(look), "head": head}}),
    }
    # One pass: a label that says {{script}} stays a label.
    return re.sub(r"{{(\w+)}}", lambda found: parts[found[1]], _part("index.html"))


def _scripts(trace: Trace) -> list[str]:
    """The files of the page; of the drawings, only those that are used."""
    needed = {drawing_of(scene, look).name for scene in trace.scenes for look in scene.looks} - {heatmap.DRAWING.name}
    return [*SCRIPTS, *(f"{name}.js" for name in sorted(needed)), "viewer.js"]


def _part(name: str) -> str:
    return (files("saccade.view") / "page" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Nothing may run or load but our own script and style, known by their hashes."""
    ours = f"script-src {_hash(script)}; style-src {_hash(style)}"
    return f"default-src 'none'; {ours}; img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embedded(value: Any) -> str:
    """JSON that is safe inside a script element: no letter in it can end the element or a line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    unsafe = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
    return text.translate(unsafe)


def _page(trace: Trace) -> dict[str, Any]:
    images: dict[str, int] = {}
    scenes = [_scene(scene, images) for scene in trace.scenes]
    anchors = colors.ANCHORS.astype(int).tolist()
    return {"system": _short(trace.system), "anchors": anchors, "scenes": scenes, "images": list(images)}


def _scene(scene: Scene, images: dict[str, int]) -> dict[str, Any]:
    notes = [[_short(key), _short(note) if isinstance(note, str) else note] for key, note in scene.notes.items()]
    return {
        "title": _short(scene.title),
        "notes": notes,
        # Axes are known by number: two names may look the same once control characters are shown as escapes.
        "axes": {str(index): _axis(name, axis) for index, (name, axis) in enumerate(scene.axes.items())},
        "looks": [{**_look(scene, look), **_drawing(scene, look, images)} for look in scene.looks],
    }


def _short(text: str) -> str:
    return fit(text, LONGEST)


def _axis(name: str, axis: Axis) -> dict[str, Any]:
    return {"name": _short(name), "kind": _short(axis.kind), "labels": [_short(label) for label in axis.labels]}


def _drawing(scene: Scene, look: Look, images: dict[str, int]) -> dict[str, Any]:
    """How the page draws the look; every image is stored once, and known by its number."""
    drawing = drawing_of(scene, look)
    needs = dict(drawing.page(scene, look))
    for index, image in enumerate(needs.get("images", [])):
        needs["images"][index] = None if image is None else images.setdefault(image, len(images))
    return {"drawing": drawing.name, **needs}


def _look(scene: Scene, look: Look) -> dict[str, Any]:
    """The look's names and axes, and its weights, if it has any; a path of glimpses is a matrix without columns."""
    axes, shape = list(scene.axes), scene.shape(look)
    named = {"name": _short(look.name), "queries": str(axes.index(look.queries)), "keys": str(axes.index(look.keys))}
    if look.places is not None:
        return {**named, "shape": [shape[0], 0], "bits": 8, "low": 0, "high": 0, "weights": [""]}
    if look.edges is None:
        return {**named, "shape": shape, **_packed(look.weights, float(look.weights.min()), shape)}
    if shape[0] * shape[1] > LARGEST_MATRIX:
        size = f"{shape[0]:,} × {shape[1]:,}"
        raise UsageError(f"a page holds matrices of up to {LARGEST_MATRIX:,} cells, got {size}; keep a part of the graph")
    cells, inverse = np.unique(look.edges[1] * shape[1] + look.edges[0], return_inverse=True)
    weights = np.stack([np.bincount(inverse, head, len(cells)) for head in look.weights])
    listed = _packed(weights, min(0.0, float(weights.min())), shape)
    return {**named, "shape": shape, **listed, "cells": base64.b64encode(cells.astype("<u4").tobytes()).decode()}


def _packed(weights: np.ndarray[Any, Any], low: float, shape: tuple[int, int]) -> dict[str, Any]:
    """The weights of all heads in whole numbers of 8 or 16 bits between the smallest and the largest."""
    high, bits = max(low, float(weights.max())), 16 if shape[0] * shape[1] <= FINE else 8
    half = high / 2 - low / 2
    heads = []
    for head in weights:
        unit = (head.astype(np.float64) / 2 - low / 2) / half if half > 0 else np.zeros(head.shape)
        whole = (unit * (2**bits - 1)).round().astype("<u2" if bits == 16 else np.uint8)
        heads.append(base64.b64encode(whole.tobytes()).decode())
    return {"bits": bits, "low": low, "high": high, "weights": heads}
