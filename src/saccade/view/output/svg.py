"""SVG in small pieces: elements, text that is safe in XML, polylines, axes, and a matrix of cells as few paths."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from saccade.view.output import colors
from saccade.view.output.display_text import fit
from saccade.view.output.scales import Floats

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Verdana, sans-serif"
PAPER, INK, QUIET, FAINT = "#fbfbfd", "#1b1f2a", "#596070", "#e3e6ec"
LEVELS = 97  # distinct colors of a heat map: finer than the eye separates, few enough that cells share paths

DOTTED = {"text-decoration": "underline dotted"}  # a token that is unknown to the tokenizer

Attributes = Mapping[str, str | float]


def element(name: str, attributes: Attributes, *children: str) -> str:
    """One element with its attributes; children are elements already."""
    written = "".join(f" {key}={quoteattr(_written(value))}" for key, value in attributes.items())
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def _written(value: str | float) -> str:
    """Numbers with at most two decimals, without the zeros that say nothing."""
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(content: str, x: float, y: float, attributes: Attributes | None = None, *, longest: int = 80) -> str:
    """A line of text, made safe and cut to `longest` columns."""
    return element("text", {"x": x, "y": y, **(attributes or {})}, escape(fit(content, longest)))


def document(width: float, height: float, title: str, *children: str) -> str:
    """A whole file on its own paper, so that it reads the same on a light page and on a dark one."""
    frame: Attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {_written(width)} {_written(height)}",
        "width": width,
        "height": height,
        "role": "img",
        "font-family": FONT,
        "font-size": 12,
        "fill": INK,
    }
    paper = element("rect", {"width": width, "height": height, "rx": 10, "fill": PAPER})
    heading = f"<title>{escape(fit(title, 200))}</title>"
    return "\n".join([element("svg", frame, "\n", heading, "\n", "\n".join([paper, *children]), "\n"), ""])


def group(attributes: Attributes, *children: str) -> str:
    """Children that share attributes, a line each."""
    return element("g", attributes, *children)


def polyline(x: Floats, y: Floats, attributes: Attributes) -> str:
    """A line through the places; where one is not a number, the line is interrupted."""
    pen, steps = "M", []
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        if not np.isfinite([across, down]).all():
            pen = "M"
            continue
        steps.append(f"{pen}{_written(across)} {_written(down)}")
        pen = "L"
    return element("path", {"d": "".join(steps), "fill": "none", "stroke-linejoin": "round", **attributes})


def segments(ends: Iterable[tuple[float, float, float, float]], attributes: Attributes) -> str:
    """Separate straight lines (x1, y1, x2, y2) in one path; those with an end that is not a number are left out."""
    known = (line for line in ends if np.isfinite(line).all())
    steps = ("M{} {}L{} {}".format(*map(_written, line)) for line in known)
    return element("path", {"d": "".join(steps), "fill": "none", **attributes})


def circle(x: float, y: float, radius: float, attributes: Attributes) -> str:
    """A circle, or nothing where its place is not a number."""
    if not np.isfinite([x, y]).all():
        return ""
    return element("circle", {"cx": x, "cy": y, "r": radius, **attributes})


def cells(unit: Floats, x: float, y: float, width: float, height: float, anchors: NDArray[Any] = colors.ANCHORS) -> str:
    """A matrix of numbers between 0 and 1 as colored cells filling a rectangle: one path for each color."""
    rows, columns = unit.shape
    steps: dict[float, list[str]] = {}
    for row, levels in enumerate((np.clip(unit, 0, 1) * (LEVELS - 1)).round().tolist()):
        column = 0
        for level, run in groupby(levels, key=lambda value: -1.0 if np.isnan(value) else value):
            size = len(list(run))
            steps.setdefault(level, []).append(f"M{column} {row}h{size}v1h-{size}z")
            column += size
    paths = (element("path", {"d": "".join(steps[level]), "fill": _fill(level, anchors)}) for level in sorted(steps))
    place = f"translate({_written(x)} {_written(y)}) scale({width / columns:.5f} {height / rows:.5f})"
    return group({"transform": place, "shape-rendering": "crispEdges"}, *paths)


def _fill(level: float, anchors: NDArray[Any]) -> str:
    return colors.hexadecimal(colors.ramp(np.nan if level < 0 else level / (LEVELS - 1), anchors))
