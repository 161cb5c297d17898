"""Pictures that were looked at, each in a frame as thick and as strong as its weight (Ilse et al. 2018, figure 5)."""

from collections.abc import Sequence

from saccade.view.bars import kept, left_out, shares, told
from saccade.view.colors import WORD, hexadecimal, tint
from saccade.view.elements import FAINT, INK, document, element, text
from saccade.view.images import Pixels, image
from saccade.view.panels import CENTERED, heading

WIDE, SIDE, APART, THICKEST = 760.0, 72.0, 16.0, 6.0  # the picture's width; a small picture's longer side; air; a frame


def svg(pictures: Pixels, names: Sequence[str], weights: Sequence[float], title: str, notes: Sequence[str] = ()) -> str:
    """The pictures in rows, in their own order, the weight under each, and its name if it has one.

    Shapes: pictures (places, height, width) or (places, height, width, 3)
    """
    places, strength = kept(weights), shares(weights)
    notes = [*notes, *left_out(len(weights), len(places), "pictures"), f"frame: the most is {told(max(weights))}"]
    wide, high = sizes(*pictures.shape[1:3])
    across, down = max(wide, 56.0) + APART, high + 2 * THICKEST + (34 if any(names) else 20) + APART / 2
    columns, top = int((WIDE - 40) / across), 68.0 + 18 * len(notes)
    parts = heading(title, notes)
    for number, place in enumerate(places):
        x, y = 20 + number % columns * across + (across - wide) / 2, top + number // columns * down
        parts += _framed(strength[place], x, y, wide, high)
        parts.append(image(pictures[place], x, y, wide, high))
        below = y + high + THICKEST + 13
        parts.append(text(told(weights[place]), x + wide / 2, below, {**CENTERED, "fill": INK}))
        if names[place]:
            parts.append(text(names[place], x + wide / 2, below + 14, CENTERED, longest=int(across / 6.6)))
    rows = -(-len(places) // columns)
    return document(WIDE, top + rows * down + 8, title, *parts)


def sizes(height: int, width: int, side: float = SIDE) -> tuple[float, float]:
    """Width and height that a picture is shown in: as large as the side allows, but no line thinner than a pixel."""
    factor = side / max(height, width)
    return max(width * factor, 1.0), max(height * factor, 1.0)


def _framed(share: float, x: float, y: float, width: float, height: float) -> list[str]:
    """The frame, as rectangles under the picture; a faint line is always there, so that white pictures end somewhere."""
    frames = [(1.0, FAINT), *([(max(THICKEST * share, 1.0), hexadecimal(tint(share, WORD)))] * (share > 0))]
    return [
        element("rect", {"x": x - air, "y": y - air, "width": width + 2 * air, "height": height + 2 * air, "fill": fill})
        for air, fill in frames
    ]
