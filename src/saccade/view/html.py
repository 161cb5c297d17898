"""A trace as one self-contained page: looks, heads and rows to choose, with nothing loaded from anywhere."""

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from saccade.errors import UsageError
from saccade.view import colors
from saccade.view.drawings import MATRIX, drawing_of
from saccade.view.labels import fit
from saccade.view.picture import find_look
from saccade.view.trace import Look, Scene, Side, Trace, check_trace

FINE = 250_000  # cells of a head up to which 16 bits a cell are spent; above, 8 keep the page small
MOST = 100_000_000  # cells of a page that a browser still opens
LONGEST = 200  # columns of a label; a reader of one place does not read more
SCRIPTS = ("matrix.js", "map.js", "pieces.js")  # those of the drawings follow, then the page itself
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 2rem; text-align: center }} svg {{ max-width: 100%; height: auto }}</style>
</head>
<body>
{drawing}</body>
</html>
"""


def html(trace: Trace, look: str | None = None, head: int | None = None) -> str:
    """The page; `look` and `head` choose what it shows first (the first look and the mean of its heads unless given)."""
    check_trace(trace)
    _check_first(trace, look, head)
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


def framed(drawing: str) -> str:
    """A page that shows one SVG drawing under its own title."""
    found = re.search(r"<title>(.*?)</title>", drawing)
    return FRAME.format(title=found[1] if found else "saccade", drawing=drawing)


def _check_first(trace: Trace, look: str | None, head: int | None) -> None:
    chosen = find_look(trace.scenes[0], look)
    if head is not None and not 0 <= head < len(chosen.weights):
        raise UsageError(f"expected a head from 0 to {len(chosen.weights) - 1}, got head {head}")


def _scripts(trace: Trace) -> list[str]:
    """The files of the page; of the drawings, those that are needed."""
    needed = {drawing_of(scene, look).name for scene in trace.scenes for look in scene.looks} - {MATRIX}
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
    pictures: dict[str, int] = {}
    scenes = [_scene(scene, pictures) for scene in trace.scenes]
    anchors = colors.ANCHORS.astype(int).tolist()
    return {"system": _short(trace.system), "anchors": anchors, "scenes": scenes, "pictures": list(pictures)}


def _scene(scene: Scene, pictures: dict[str, int]) -> dict[str, Any]:
    notes = [[_short(key), _short(note) if isinstance(note, str) else note] for key, note in scene.notes.items()]
    return {
        "title": _short(scene.title),
        "notes": notes,
        # Sides are known by number: two names may look the same once they are made visible.
        "sides": {str(index): _side(name, side) for index, (name, side) in enumerate(scene.sides.items())},
        "looks": [{**_look(look, list(scene.sides)), **_drawing(scene, look, pictures)} for look in scene.looks],
    }


def _short(text: str) -> str:
    return fit(text, LONGEST)


def _side(name: str, side: Side) -> dict[str, Any]:
    return {"name": _short(name), "kind": _short(side.kind), "labels": [_short(label) for label in side.labels]}


def _drawing(scene: Scene, look: Look, pictures: dict[str, int]) -> dict[str, Any]:
    """How the page draws the look; every picture is put among the others once, and known by its number there."""
    drawing = drawing_of(scene, look)
    needs = dict(drawing.page(scene, look))
    for index, picture in enumerate(needs.get("pictures", [])):
        needs["pictures"][index] = None if picture is None else pictures.setdefault(picture, len(pictures))
    return {"drawing": drawing.name, **needs}


def _look(look: Look, sides: list[str]) -> dict[str, Any]:
    """The weights in whole numbers of 8 or 16 bits between the look's smallest and its largest."""
    low, high = float(look.weights.min()), float(look.weights.max())
    bits = 16 if look.weights[0].size <= FINE else 8
    return {
        "name": _short(look.name),
        "queries": str(sides.index(look.queries)),
        "keys": str(sides.index(look.keys)),
        "shape": look.weights.shape[1:],
        "bits": bits,
        "low": low,
        "high": high,
        "weights": [_packed(head, low, high, bits) for head in look.weights],
    }


def _packed(weights: np.ndarray[Any, Any], low: float, high: float, bits: int) -> str:
    half = high / 2 - low / 2
    unit = (weights.astype(np.float64) / 2 - low / 2) / half if half > 0 else np.zeros(weights.shape)
    whole = (unit * (2**bits - 1)).round().astype("<u2" if bits == 16 else np.uint8)
    return base64.b64encode(whole.tobytes()).decode()
