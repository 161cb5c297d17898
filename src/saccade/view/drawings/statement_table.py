"""A story as a table: a row for each statement, a column of weights for each hop (Sukhbaatar et al. 2015, figure 2).

Statements from which the answer is known to follow are marked.
"""

from collections.abc import Sequence

from saccade.view.drawings.bars import left_out
from saccade.view.drawings.figure import Drawing, Figure
from saccade.view.output import colors, display_text
from saccade.view.output.screen import Screen, painted
from saccade.view.output.svg import FAINT, INK, Attributes, circle, document, element, text
from saccade.view.output.svg_layout import CENTERED, SMALL, heading
from saccade.view.trace import Look, Scene

HOPS = 8  # columns beyond which the heat map is easier to read
MOST = 60  # statements that are shown; of more, those with the largest weights
LONGEST, ROW, COLUMN = 64, 22.0, 62.0  # columns of a statement's text; pixels of a row, of a column of weights
SUPPORTING = "● a supporting fact"


def kept(figure: Figure, most: int = MOST) -> list[int]:
    """The statements with the largest weights, and all that are marked, in their own order."""
    marked, largest = {*figure.keys.marked}, figure.weights.max(axis=0)
    order = sorted(range(len(largest)), key=lambda place: (place not in marked, -largest[place]))
    return sorted(order[:most])


def cell(weight: float) -> str:
    """A weight in two decimals; what rounds to 0 is left out, as in the paper."""
    return f"{weight:.2f}" if abs(weight) >= 0.005 else ""


def terminal(figure: Figure, screen: Screen) -> str:
    """A line for each statement: a mark, its text, and its weights, on a color or with a shade before them."""
    places, names, hops = kept(figure), figure.names(figure.keys), figure.names(figure.queries)
    point, shades = ("*" if screen.ascii_only else "●"), screen.glyphs.shades
    wide = max(6, *map(display_text.columns, hops))
    room = max(
        8, min(screen.width - 2 - len(hops) * (wide + 2), max(display_text.columns(names[place]) for place in places))
    )
    lines = [" ".join([" " * (2 + room), *(f" {hop:>{wide}}" for hop in hops)])]
    most = float(figure.weights.max()) or 1.0
    for place in places:
        name = screen.fit(names[place], room)
        line = f"{point if place in figure.keys.marked else ' '} {name}{' ' * (room - display_text.columns(name))}"
        for weight in figure.weights[:, place].tolist():
            line += f" {_shaded(weight, max(weight, 0.0) / most, wide, shades, color=screen.color)}"
        lines.append(line.rstrip())
    meaning = [SUPPORTING.replace("●", point)] if figure.keys.marked else []
    return "\n".join([*lines, *left_out(len(names), len(places), "statements"), *meaning])


def _shaded(weight: float, share: float, wide: int, shades: str, *, color: bool) -> str:
    number = f"{cell(weight):>{wide}} "
    if color:
        return painted(number, colors.tint(share), background=True) if cell(weight) else number
    return number[:-1] + shades[round(share * (len(shades) - 1))]


def svg(figure: Figure) -> str:
    """The same as a picture: cells colored by their weights."""
    places, names, hops = kept(figure), figure.names(figure.keys), figure.names(figure.queries)
    notes = [*figure.notes, *left_out(len(names), len(places), "statements")]
    shown = [display_text.fit(names[place], LONGEST) for place in places]
    left, top = 36.0, 82.0 + 18 * len(notes)
    across = left + 6.9 * max(display_text.columns(name) for name in shown) + 16
    most = float(figure.weights.max()) or 1.0
    parts = heading(figure.title, notes)
    for number, hop in enumerate(hops):
        parts.append(text(hop, across + (number + 0.5) * COLUMN, top - 10, CENTERED, longest=9))
    for row, (place, name) in enumerate(zip(places, shown, strict=True)):
        y = top + row * ROW
        parts.append(
            element("rect", {"x": 20, "y": y, "width": across + len(hops) * COLUMN - 20, "height": 1, "fill": FAINT})
        )
        if place in figure.keys.marked:
            parts.append(circle(26, y + ROW / 2, 4, {"fill": colors.hexadecimal(colors.SENTENCE)}))
        parts.append(text(name, left, y + 15, {"font-size": 12, "fill": INK}))
        parts += _cells(figure.weights[:, place].tolist(), most, across, y)
    bottom = top + len(places) * ROW
    if figure.keys.marked:
        parts.append(circle(26, bottom + 18, 4, {"fill": colors.hexadecimal(colors.SENTENCE)}))
        parts.append(text(SUPPORTING.removeprefix("● "), left, bottom + 22, SMALL))
    return document(max(across + len(hops) * COLUMN + 20, 360.0), bottom + 40, figure.title, *parts)


def _cells(weights: Sequence[float], most: float, x: float, y: float) -> list[str]:
    parts = []
    for number, weight in enumerate(weights):
        place: Attributes = {"x": x + number * COLUMN + 2, "y": y + 2, "width": COLUMN - 4, "height": ROW - 3, "rx": 3}
        share = max(weight, 0.0) / most
        parts.append(element("rect", {**place, "fill": colors.hexadecimal(colors.tint(share))}))
        if cell(weight):
            middle = x + (number + 0.5) * COLUMN
            parts.append(text(cell(weight), middle, y + 15, {**CENTERED, "fill": INK}))
    return parts


def _fits(scene: Scene, look: Look) -> bool:
    return look.places is None and scene.axes[look.keys].kind == "statements" and scene.shape(look)[0] <= HOPS


DRAWING = Drawing(name="statement_table", fits=_fits, terminal=terminal, svg=svg, page=lambda scene, look: {"most": MOST})
