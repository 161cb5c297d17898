"""All looks and heads of a scene as small heat maps on one scale, a row for each look (Vig 2019, the model view)."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from saccade.view.drawings.figure import Drawing, Figure, is_flat, spread
from saccade.view.drawings.lines import padded
from saccade.view.output import colors, display_text
from saccade.view.output.scales import Floats, LinearScale, bins, pool
from saccade.view.output.screen import Screen, half_blocks
from saccade.view.output.svg import FAINT, cells, document, element, text
from saccade.view.output.svg_layout import CENTERED, SMALL, heading
from saccade.view.trace import Look, Scene, matrix

WIDE, LARGEST, SMALLEST, APART = 900.0, 96.0, 28.0, 8.0  # of the drawing; a heat map's longer side; between two
FINEST = 32  # cells along the longer side of a small heat map
COLUMNS = 14  # of one in the terminal
LEGEND = "a row for each look, a column for each head; all of a kind (attention, rollout …) on one scale from 0"


def maps(scene: Scene) -> list[tuple[Look, list[Floats]]]:
    """The looks that have weights, each with the matrices of its heads, pooled."""
    return [
        (look, [_pooled(matrix(scene, look, head), look, FINEST) for head in range(look.heads)])
        for look in sorted(scene.looks, key=lambda look: look.kind == "attribution")
        if look.places is None
    ]


def _pooled(values: Floats, look: Look, finest: int) -> Floats:
    rows, columns = (bins(count, finest) for count in values.shape)
    return pool(values, rows, columns, signed=look.kind == "attribution")


def _largest(rows: list[tuple[Look, list[Floats]]]) -> dict[str, float]:
    """The largest weight of each kind of look: what is full color."""
    kinds = {look.kind for look, _ in rows}
    return {
        kind: max(float(np.abs(each).max()) for look, own in rows if look.kind == kind for each in own) or 1.0
        for kind in kinds
    }


def _unit(values: Floats, look: Look, most: float) -> Floats:
    return LinearScale(-most if look.kind == "attribution" else 0.0, most)(values)


def _anchors(look: Look) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(colors.SIGNED if look.kind == "attribution" else colors.ANCHORS, dtype=np.float64)


def svg(figure: Figure) -> str:
    """Small multiples; under the name of a look, that all its heads are nearly uniform, if they are."""
    rows = maps(figure.scene)
    heads, most = max(len(own) for _, own in rows), _largest(rows)
    side = min(LARGEST, max(SMALLEST, (WIDE - 40) / heads - APART))
    notes = [_summary(figure.scene), LEGEND]
    parts, y = heading(figure.title, notes), 62.0 + 18 * len(notes)
    if heads > 1:
        names = [str(head) for head in range(heads)]
        parts += [text(name, 20 + head * (side + APART) + side / 2, y, CENTERED) for head, name in enumerate(names)]
        y += 8
    for look, own in rows:
        parts.append(text(f"{look.name}{_remark(figure.scene, look)}", 20, y + 13, {**SMALL, "font-size": 12}, longest=120))
        shape = figure.scene.shape(look)
        wide, high = (max(4.0, side * size / max(shape)) for size in (shape[1], shape[0]))
        for head, values in enumerate(own):
            x, unit = 20 + head * (side + APART), _unit(values, look, most[look.kind])
            parts.append(element("rect", {"x": x - 1, "y": y + 19, "width": wide + 2, "height": high + 2, "fill": FAINT}))
            parts.append(cells(unit, x, y + 20, wide, high, _anchors(look)))
        y += high + 20 + APART
    lines = (7 * display_text.columns(display_text.fit(line, 110)) + 40 for line in (figure.title, *notes))
    return document(max([360.0, 40 + heads * (side + APART), *lines]), y + 14, figure.title, *parts)


def _remark(scene: Scene, look: Look) -> str:
    """What is special about a look, behind its name."""
    flat = ", nearly uniform" if is_flat(scene, look) else ""
    return flat if look.kind == "attention" or look.name.startswith(look.kind) else f" ({look.kind}){flat}"


def _summary(scene: Scene) -> str:
    """How many looks and heads there are, and which look is the most focused."""
    rows = [look for look in scene.looks if look.places is None]
    spreads = {look.name: value for look in rows if (value := spread(scene, look)) is not None}
    focused = f"; most focused: {min(spreads, key=lambda name: spreads[name])}" if len(spreads) > 1 else ""
    heads = sum(look.heads for look in rows if look.kind == "attention")
    return f"{len(rows)} look{'s' * (len(rows) > 1)}, {heads} head{'s' * (heads > 1)}{focused}"


def terminal(figure: Figure, screen: Screen) -> str:
    """The same as small blocks, as many side by side as fit."""
    rows = maps(figure.scene)
    most, fitting = _largest(rows), max(1, (screen.width + 1) // (COLUMNS + 1))
    lines = [screen.fit(_summary(figure.scene), screen.width)]
    for look, own in rows:
        lines.append(screen.fit(f"{look.name}{_remark(figure.scene, look)}", screen.width))
        blocks = [list(_block(values, look, most[look.kind], screen)) for values in own]
        for start in range(0, len(own), fitting):
            here = range(start, min(start + fitting, len(own)))
            lines += [" ".join(padded(f"head {head}", COLUMNS) for head in here)] if len(own) > 1 else []
            lines += [" ".join(line) for line in zip_longest(*(blocks[head] for head in here))]
    return "\n".join(line.rstrip(" ") for line in lines)


def _block(values: Floats, look: Look, most: float, screen: Screen) -> Iterator[str]:
    """One small heat map of as many columns as each has: a color is half a character high, a shade a whole one."""
    rows, columns = values.shape
    high = max(1, round(min(1.0, rows / columns) * COLUMNS / 2))
    wide = min(columns, COLUMNS)
    colored = screen.color and not screen.ascii_only
    small = pool(values, bins(rows, 2 * high if colored else high), bins(columns, wide), signed=look.kind == "attribution")
    unit = _unit(small, look, most)
    if colored:
        even = np.concatenate([unit, unit[-1:]]) if len(unit) % 2 else unit
        yield from (line + " " * (COLUMNS - wide) for line in half_blocks(colors.ramp(even, _anchors(look))))
        return
    shades = screen.glyphs.shades
    strength = np.abs(2 * unit - 1) if look.kind == "attribution" else unit
    for row in np.minimum(strength * len(shades), len(shades) - 1).astype(int).tolist():
        yield "".join(shades[level] for level in row) + " " * (COLUMNS - wide)


def _fits(scene: Scene, look: Look) -> bool:
    return look.places is None and sum(each.heads for each in scene.looks if each.places is None) > 1


DRAWING = Drawing(name="overview", fits=_fits, terminal=terminal, svg=svg)
