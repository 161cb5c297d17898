"""One bar for each place: a list in the terminal, a bar chart as SVG."""

from collections.abc import Callable, Sequence

from saccade.view.drawings.figure import Drawing, Figure, one_query_at
from saccade.view.output import colors, display_text
from saccade.view.output.scales import LinearScale
from saccade.view.output.screen import Screen
from saccade.view.output.svg import FAINT, Attributes, document, element, segments, text
from saccade.view.output.svg_layout import CENTERED, LONGEST_NAME, SMALL, Box, heading, numbers_left

MOST = 60  # places that are shown; of more, the heaviest
WIDE, TALL = 760.0, 240.0


def kept(weights: Sequence[float], most: int = MOST) -> list[int]:
    """The heaviest places, in their own order."""
    return sorted(sorted(range(len(weights)), key=lambda place: -weights[place])[:most])


def shares(weights: Sequence[float]) -> list[float]:
    """The length of each bar as a share of the longest; a weight that is not above 0 has none."""
    most = max([*weights, 0.0]) or 1.0
    return [max(weight, 0.0) / most for weight in weights]


def left_out(count: int, shown: int, what: str) -> list[str]:
    """The line that says how many places are not shown, if any."""
    return [f"{count - shown} more {what}, none heavier than these, are left out"] if count > shown else []


def written(weight: float) -> str:
    """A weight as text: three decimals, or an exponent where these would be 0 or too many."""
    return f"{weight:.3f}" if weight == 0 or 1e-3 <= abs(weight) < 1e4 else f"{weight:.1e}"


def terminal(names: Sequence[str], weights: Sequence[float], screen: Screen) -> str:
    """A line for each: its name, its weight, and a bar."""
    shown = [screen.fit(name, screen.width // 3) for name in names]
    numbers = [written(weight) for weight in weights]
    width, digits = max(map(display_text.columns, shown)), max(map(len, numbers))
    room, full = max(4, screen.width - width - digits - 5), screen.glyphs.shades[-1]
    return "\n".join(
        f"{' ' * (width - display_text.columns(name))}{name}  {number:>{digits}}  {full * round(room * share)}".rstrip()
        for name, number, share in zip(shown, numbers, shares(weights), strict=True)
    )


def svg(
    names: Sequence[str], weights: Sequence[float], title: str, notes: Sequence[str], what: str, *, signed: bool = False
) -> str:
    """Bars side by side in their own order, up from 0 (down, where a weight is below), their names under them."""
    places = kept(weights)
    notes = [*notes, *left_out(len(names), len(places), what)]
    low, high = min(0.0, *weights), max([*weights, 0.0])
    box = Box(70, 74 + 18 * len(notes), WIDE - 90, TALL)
    up = LinearScale(low, high if high > low else 1.0, box.bottom, box.y)
    step = min(box.width / len(places), 48.0)
    lying = segments([(box.x, y, box.right, y) for y, _ in up.marks()], {"stroke": FAINT})
    parts = [*heading(title, notes), lying, numbers_left(up, box.x - 8)]
    heaviest = max(places, key=lambda place: weights[place])
    for number, place in enumerate(places):
        x, top, zero = box.x + number * step, float(up(weights[place])), float(up(0.0))
        bar: Attributes = {
            "x": x + step * 0.12,
            "y": min(top, zero),
            "width": step * 0.76,
            "height": max(abs(zero - top), 0.5),
        }
        fill = colors.WORD if not signed else colors.ABOVE if weights[place] > 0 else colors.BELOW
        parts.append(element("rect", {**bar, "fill": colors.hexadecimal(fill)}))
        parts.append(_name(names[place], x + step / 2 + 4, box.bottom + 8))
        if place == heaviest:
            parts.append(text(written(weights[place]), x + step / 2, top - 5, CENTERED))
    longest = max(display_text.columns(display_text.fit(names[place], LONGEST_NAME)) for place in places)
    return document(WIDE, box.bottom + 24 + 6.6 * longest, title, *parts)


def _name(name: str, x: float, y: float) -> str:
    """A name under its bar, read from below, so that long ones do not touch."""
    turn: Attributes = {"transform": f"rotate(-90 {x:.2f} {y:.2f})", "text-anchor": "end"}
    return text(name, x, y, {**SMALL, **turn}, longest=LONGEST_NAME)


def listed(kind: str) -> Callable[[Figure, Screen], str]:
    """The terminal's form: the heaviest places of this kind as bars, in their own order."""

    def draw(figure: Figure, screen: Screen) -> str:
        names, weights = figure.names(figure.keys, numbered=True), figure.row
        places = kept(weights)
        lines = terminal([names[place] for place in places], [weights[place] for place in places], screen)
        more = (screen.fit(line, screen.width) for line in left_out(len(weights), len(places), kind))
        return "\n".join([lines, *more])

    return draw


def _svg(figure: Figure) -> str:
    return svg(
        figure.names(figure.keys, numbered=True), figure.row, figure.title, figure.notes, "instances", signed=figure.signed
    )


DRAWING = Drawing(
    name="bars",
    fits=one_query_at("instances"),
    terminal=listed("instances"),
    svg=_svg,
    page=lambda scene, look: {"most": MOST},
)
