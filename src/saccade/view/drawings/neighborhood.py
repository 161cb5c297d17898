"""A node among its neighbors: lines as thick as the weights, the node itself in the middle (Veličković et al. 2018)."""

import math
from collections.abc import Sequence

from saccade.view.drawings import bars
from saccade.view.drawings.figure import Drawing, Figure, one_query_at
from saccade.view.output import colors
from saccade.view.output.display_text import columns
from saccade.view.output.screen import Screen
from saccade.view.output.svg import INK, PAPER, QUIET, circle, document, element, segments, text
from saccade.view.output.svg_layout import SMALL, class_legend, heading

MOST = 40  # neighbors that are drawn, the heaviest first
RADIUS, THICKEST = 170.0, 10.0


def terminal(names: Sequence[str], weights: Sequence[float], screen: Screen) -> str:
    """A line for the node itself and for each neighbor, the heaviest first, with bars."""
    order = [0, *sorted(range(1, len(names)), key=lambda place: -weights[place])][: MOST + 1]
    shown = [names[place] if place else f"{names[0]}, itself" for place in order]
    listed = bars.terminal(shown, [weights[place] for place in order], screen)
    return "\n".join([listed, *bars.left_out(len(names), len(order), "neighbors")])


def svg(
    names: Sequence[str],
    weights: Sequence[float],
    title: str,
    notes: Sequence[str] = (),
    classes: Sequence[str] | None = None,
) -> str:
    """The first name is the node's own, with the weight that it gave itself; the others stand around it, by class."""
    palette = colors.class_colors(classes or ())
    fills = [palette[name] for name in classes] if classes else [QUIET] * len(names)
    order = sorted(range(1, len(names)), key=lambda place: -weights[place])[:MOST]
    notes = [*notes, *bars.left_out(len(names) - 1, len(order), "neighbors")]
    wide, top = 760.0, 60.0 + 18 * len(notes)
    x, y = wide / 2, top + RADIUS + 40
    most = max([*weights, 1e-12])
    lines, places = [], []
    for place, (right, down) in zip(order, ring(len(order)), strict=True):
        end, share = (x + RADIUS * right, y + RADIUS * down), weights[place] / most
        stroke = colors.hexadecimal(colors.ramp(0.85 * (1 - share)))
        lines.append(segments([(x, y, *end)], {"stroke": stroke, "stroke-width": 0.5 + THICKEST * share}))
        places += _neighbor(names[place], weights[place], *end, 1 if right > 0 else -1, fills[place])
    half, within = 8 + 4.0 * max(columns(names[0]), 12), {"text-anchor": "middle", "fill": PAPER}
    middle = [
        element(
            "rect",
            {"x": x - half, "y": y - 21, "width": 2 * half, "height": 42, "rx": 8, "fill": fills[0] if classes else INK},
        ),
        text(names[0], x, y - 3, {**within, "font-weight": 600}),
        text(f"itself {weights[0]:.3f}", x, y + 13, {**SMALL, **within}),
    ]
    legend, bottom = class_legend(palette, y + RADIUS + 56, wide - 20)
    return document(wide, bottom + (20 if palette else 4), title, *heading(title, notes), *lines, *places, *middle, *legend)


def ring(count: int) -> list[tuple[float, float]]:
    """Places on a circle around 0, clockwise from the top: as many right as left, and names beside them never touch."""
    right = (count + 1) // 2
    down = [2 * (number + 0.5) / right - 1 for number in range(right)]
    up = [1 - 2 * (number + 0.5) / (count - right) for number in range(count - right)]
    return [(side * math.sqrt(1 - y * y), y) for side, half in ((1, down), (-1, up)) for y in half]


def _neighbor(name: str, weight: float, x: float, y: float, side: int, fill: str) -> list[str]:
    """A dot with its name and weight, written away from the middle."""
    beside = {"text-anchor": "start" if side > 0 else "end", "font-size": 11}
    return [circle(x, y, 6, {"fill": fill}), text(f"{name} {weight:.3f}", x + 12 * side, y + 4, beside, longest=36)]


def _names(figure: Figure) -> list[str]:
    return figure.names(figure.keys)


def _listed(figure: Figure) -> list[str]:
    """The neighbors' names with their classes."""
    names, classes = _names(figure), figure.keys.classes
    return names if classes is None else [f"{name} ({own})" for name, own in zip(names, classes, strict=True)]


DRAWING = Drawing(
    name="neighborhood",
    fits=lambda scene, look: one_query_at("neighbors")(scene, look) and look.kind != "attribution",
    terminal=lambda figure, screen: terminal(_listed(figure), figure.row, screen),
    svg=lambda figure: svg(_names(figure), figure.row, figure.title, figure.notes, figure.keys.classes),
    page=lambda scene, look: {"most": MOST},
)
