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
from saccade.view import render
from saccade.view.drawings import arcs, drawing_of, head_grid, heatmap, image_cells, lines, overview, scan_path
from saccade.view.drawings.figure import KINDS, find_look, is_flat, spread
from saccade.view.output import colors
from saccade.view.output.display_text import fit, percent
from saccade.view.trace import LARGEST_MATRIX, Axis, Look, Scene, Trace, check_head, check_trace

FINE = 250_000  # cells of a head up to which 16 bits a cell are spent; above, 8 keep the page small
MOST = 100_000_000  # cells of a page that a browser still opens
LONGEST = 200  # columns of a label
SCRIPTS = ("matrix.js", "heatmap.js", "pieces.js")  # those of the drawings follow, then the page itself
BUILT_ON = {"scan_path": {"glimpse_path"}, "image_cells": {"image_steps"}}  # drawings that use those of others
LONGEST_FIRST = 600_000  # characters of the drawing that stands there until the script draws; a longer one is left out


Opening = tuple[int, Look, str]  # the scene and the look of it that a page shows first, and why


def html(
    trace: Trace,
    look: str | None = None,
    head: int | None = None,
    drawing: str | None = None,
    *,
    start: Opening | None = None,
    linked: bool = False,
) -> str:
    """The page; `look`, `head` and `drawing` are what it shows first.

    Unless given: the mean of the heads of the most focused of the looks that are like the first (`opening`).
    `start` opens elsewhere. A `linked` page tells the page around it what is selected, and selects what it is told.
    """
    check_trace(trace)
    cells = sum(each.weights.size for scene in trace.scenes for each in scene.looks)
    if cells > MOST:
        raise UsageError(f"a page holds up to {MOST:,} weights, got {cells:,}; keep fewer scenes, looks or heads")
    if start is None:
        start = opening(trace) if look is None else (0, find_look(trace.scenes[0], look), "")
    number, opened, why = start
    check_head(opened, head)
    view = None if drawing is None else drawing_of(trace.scenes[number], opened, drawing).name
    first = {"scene": number, "look": None if look is None and not why else _short(opened.name)}
    style, script = _part("viewer.css"), "\n".join(['"use strict";', *map(_part, _scripts(trace))])
    parts = {
        "policy": escape(_policy(script, style)),
        "title": escape(f"{fit(trace.system, 80)}: where it looked" if trace.system else "where it looked"),
        "style": style,
        "script": script,
        "system": escape(_short(trace.system)),
        "drawing": drawing_of(trace.scenes[number], opened, view).name,
        "first": _first(trace.scenes[number], opened, head, view),
        "trace": embedded({**_page(trace), "linked": linked, "first": {**first, "head": head, "view": view, "why": why}}),
    }
    # One pass: a label that says {{script}} stays a label.
    return re.sub(r"{{(\w+)}}", lambda match: parts[match[1]], _part("index.html"))


def framed(page: str, tall: int) -> str:
    """A page in a frame of its own, for a notebook: its script and style reach nothing else."""
    style = f"width: 100%; height: {tall}px; border: 0"
    frame = f'<iframe title="where it looked" sandbox="allow-scripts allow-downloads" style="{style}"'
    return f'{frame} srcdoc="{escape(page)}"></iframe>'


def opening(trace: Trace) -> Opening:
    """The scene and look to open on, and why: of the looks between the same axes as the first, the most focused.

    Other hypotheses of an input, which follow the best one, are left out.
    """
    first = find_look(trace.scenes[0], None)
    alike, seen = [], []
    for number, scene in enumerate(trace.scenes):
        read = [list(scene.axes[look.keys].labels) for look in scene.looks if look.keys == first.keys][:1]
        if read not in seen:
            seen.append(read)
            alike += [(number, look) for look in scene.looks if _like(look, first)]
    known = [(spread(trace.scenes[number], look), number, look) for number, look in alike]
    spreads = [(value, number, look) for value, number, look in known if value is not None]
    if len(spreads) < 2:
        return 0, first, ""
    _, number, look = min(spreads, key=lambda one: one[0])
    layers = len({look.name for _, _, look in spreads})
    scenes = len({number for _, number, _ in spreads})
    of = " and ".join([f"{layers} layers"] * (layers > 1) + [f"{scenes} inputs"] * (scenes > 1))
    return number, look, f"opened on the most focused of {of}"


def _like(look: Look, first: Look) -> bool:
    return (look.queries, look.keys, look.kind) == (first.queries, first.keys, first.kind)


def _first(scene: Scene, look: Look, head: int | None, drawing: str | None) -> str:
    """The drawing that is seen before the script runs, and where scripts may not run."""
    drawn = render.svg(scene, look.name, head, drawing)
    return drawn if len(drawn) <= LONGEST_FIRST else ""


def _scripts(trace: Trace) -> list[str]:
    """The files of the page; of the drawings, only those that are used."""
    needed = {name for scene in trace.scenes for look in scene.looks for name in _views(scene, look)} - {
        heatmap.DRAWING.name
    }
    for name, others in BUILT_ON.items():
        needed |= others if name in needed else set()
    return [*SCRIPTS, *(f"{name}.js" for name in sorted(needed)), "viewer.js"]


def _views(scene: Scene, look: Look) -> list[str]:
    """The names of the drawings between which the reader can switch: the look's own first."""
    others = [heatmap.DRAWING, overview.DRAWING, *([lines.DRAWING] if scene.shape(look)[0] > 1 else []), head_grid.DRAWING]
    others = [image_cells.DRAWING, scan_path.DRAWING, *others, arcs.DRAWING]
    return list(dict.fromkeys([drawing_of(scene, look).name, *(each.name for each in others if each.fits(scene, look))]))


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
    ramps = {"anchors": colors.ANCHORS.astype(int).tolist(), "signed": colors.SIGNED.tolist()}
    return {"system": _short(trace.system), **ramps, "scenes": scenes, "images": list(images)}


def _scene(scene: Scene, images: dict[str, int]) -> dict[str, Any]:
    classes = [_short(name) for axis in scene.axes.values() for name in axis.classes or ()]
    notes = [[_short(key), _short(note) if isinstance(note, str) else note] for key, note in scene.notes.items()]
    return {
        "title": _short(scene.title),
        "notes": notes,
        **({"palette": colors.class_colors(classes)} if classes else {}),
        # Axes are known by number: two names may look the same once control characters are shown as escapes.
        "axes": {str(index): _axis(name, axis) for index, (name, axis) in enumerate(scene.axes.items())},
        "looks": [{**_look(scene, look), **_drawing(scene, look, images)} for look in scene.looks],
        **({"heads": head_grid.on_page(scene)} if any(head_grid.DRAWING.fits(scene, look) for look in scene.looks) else {}),
    }


def _short(text: str) -> str:
    return fit(text, LONGEST)


def _axis(name: str, axis: Axis) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if axis.probabilities is not None:
        more["percents"] = [percent(each) for each in axis.probabilities.tolist()]
        more["probabilities"] = axis.probabilities.astype(np.float64).round(4).tolist()
    if axis.unknown:
        more["unknown"] = list(axis.unknown)
    if axis.marked:
        more["marked"] = list(axis.marked)
    if axis.classes is not None:
        more["classes"] = [_short(name) for name in axis.classes]
    return {"name": _short(name), "kind": _short(axis.kind), "labels": [_short(label) for label in axis.labels], **more}


def _drawing(scene: Scene, look: Look, images: dict[str, int]) -> dict[str, Any]:
    """How the page draws the look; every image is stored once, and known by its number."""
    drawing = drawing_of(scene, look)
    needs = dict(drawing.page(scene, look))
    for index, image in enumerate(needs.get("images", [])):
        needs["images"][index] = None if image is None else images.setdefault(image, len(images))
    flat = [is_flat(scene, look, head) for head in (None, *range(look.heads))] if look.places is None else []
    kind = {} if look.kind == "attention" else {"kind": look.kind, "remark": KINDS[look.kind]}
    return {"drawing": drawing.name, "views": _views(scene, look), **kind, **({"flat": flat} if any(flat) else {}), **needs}


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
    half, most = high / 2 - low / 2, 2**bits - 1
    # Of common ranges float32 is fine enough; of others, halves in float64 do not overflow.
    wide = np.float32 if 1e-30 < half < 1e30 else np.float64
    heads = []
    for head in weights:
        unit = (head.astype(wide) / 2 - wide(low / 2)) * wide(most / half) if half > 0 else np.zeros(head.shape)
        whole = np.rint(unit).astype("<u2" if bits == 16 else np.uint8)
        heads.append(base64.b64encode(whole.tobytes()).decode())
    return {"bits": bits, "low": low, "high": high, "weights": heads}
