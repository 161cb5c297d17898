"""A node among its neighbors: lines as thick as the weights, the node itself in the middle (Veličković et al. 2018)."""

import math
from collections.abc import Sequence

from saccade.view import bars, colors
from saccade.view.elements import INK, PAPER, QUIET, circle, document, element, segments, text
from saccade.view.labels import columns
from saccade.view.panels import SMALL, heading
from saccade.view.screen import Screen

MOST = 40  # neighbors that are drawn, the heaviest first
RADIUS, THICKEST = 170.0, 14.0


def terminal(names: Sequence[str], weights: Sequence[float], screen: Screen) -> str:
    """A line for the node itself and for each neighbor, the heaviest first, with bars."""
    order = [0, *sorted(range(1, len(names)), key=lambda place: -weights[place])][: MOST + 1]
    shown = [names[place] if place else f"{names[0]}, itself" for place in order]
    listed = bars.terminal(shown, [weights[place] for place in order], screen)
    return "\n".join([listed, *bars.left_out(len(names), len(order), "neighbors")])


def svg(names: Sequence[str], weights: Sequence[float], title: str, notes: Sequence[str] = ()) -> str:
    """The first name is the node's own, with the weight that it gave itself; the others stand around it."""
    order = sorted(range(1, len(names)), key=lambda place: -weights[place])[:MOST]
    notes = [*notes, *bars.left_out(len(names) - 1, len(order), "neighbors")]
    wide, top = 760.0, 60.0 + 18 * len(notes)
    x, y = wide / 2, top + RADIUS + 40
    most = max([*weights, 1e-12])
    lines, places = [], []
    for number, place in enumerate(order):
        angle = 2 * math.pi * number / max(len(order), 1) - math.pi / 2
        across, down = x + RADIUS * math.cos(angle), y + RADIUS * math.sin(angle)
        share = weights[place] / most
        stroke = colors.hexadecimal(colors.ramp(0.85 * (1 - share)))
        lines.append(segments([(x, y, across, down)], {"stroke": stroke, "stroke-width": 0.5 + THICKEST * share}))
        places += _neighbor(names[place], weights[place], across, down, angle)
    half = 4.0 * max(columns(names[0]), 12)
    paper = element("rect", {"x": x - half, "y": y + 20, "width": 2 * half, "height": 36, "fill": PAPER})
    middle = [
        paper,
        circle(x, y, 16, {"fill": INK}),
        text(names[0], x, y + 34, {"text-anchor": "middle", "font-weight": 600}),
    ]
    middle.append(text(f"itself {weights[0]:.3f}", x, y + 50, {**SMALL, "text-anchor": "middle"}))
    return document(wide, y + RADIUS + 60, title, *heading(title, notes), *lines, *places, *middle)


def _neighbor(name: str, weight: float, x: float, y: float, angle: float) -> list[str]:
    """A dot with its name and weight, written away from the middle."""
    side = math.cos(angle)
    anchor = "start" if side > 0.2 else "end" if side < -0.2 else "middle"
    beside = 12 if anchor == "start" else -12 if anchor == "end" else 0
    above = 4 if anchor != "middle" else 20 if math.sin(angle) > 0 else -12
    label = text(f"{name} {weight:.3f}", x + beside, y + above, {"text-anchor": anchor, "font-size": 11}, longest=36)
    return [circle(x, y, 6, {"fill": QUIET}), label]
