"""Images, each in a frame as thick and as strong as its weight (Ilse et al. 2018, figure 5)."""

from collections.abc import Sequence
from typing import Any

from saccade.view.drawings.bars import MOST, kept, left_out, listed, shares, written
from saccade.view.drawings.figure import Drawing, Figure, has_one_query
from saccade.view.output.colors import WORD, hexadecimal, tint
from saccade.view.output.embedded_images import Pixels, address, image, sizes
from saccade.view.output.svg import FAINT, INK, document, element, text
from saccade.view.output.svg_layout import CENTERED, heading
from saccade.view.trace import Look, Scene, matrix

WIDE, SIDE, APART, THICKEST = 760.0, 72.0, 16.0, 6.0  # of the drawing; an image's longer side; between images; a frame

SMALL = 160  # pixels of the longer side of an image on the page


def svg(images: Pixels, names: Sequence[str], weights: Sequence[float], title: str, notes: Sequence[str] = ()) -> str:
    """The images in rows, in their own order, the weight under each, and its name if it has one.

    Shapes: images (places, height, width) or (places, height, width, 3)
    """
    places, strength = kept(weights), shares(weights)
    notes = [*notes, *left_out(len(weights), len(places), "images"), f"the thickest frame is {written(max(weights))}"]
    wide, high = sizes(images[0], SIDE)
    across, down = max(wide, 56.0) + APART, high + 2 * THICKEST + (34 if any(names) else 20) + APART / 2
    columns, top = int((WIDE - 40) / across), 68.0 + 18 * len(notes)
    parts = heading(title, notes)
    for number, place in enumerate(places):
        x, y = 20 + number % columns * across + (across - wide) / 2, top + number // columns * down
        parts += _framed(strength[place], x, y, wide, high)
        parts.append(image(images[place], x, y, wide, high))
        below = y + high + THICKEST + 13
        parts.append(text(written(weights[place]), x + wide / 2, below, {**CENTERED, "fill": INK}))
        if names[place]:
            parts.append(text(names[place], x + wide / 2, below + 14, CENTERED, longest=int(across / 6.6)))
    rows = -(-len(places) // columns)
    return document(WIDE, top + rows * down + 8, title, *parts)


def _framed(share: float, x: float, y: float, width: float, height: float) -> list[str]:
    """The frame, as rectangles under the image; a faint line is always there, so that a white image has an edge."""
    frames = [(1.0, FAINT), *([(max(THICKEST * share, 1.0), hexadecimal(tint(share, WORD)))] * (share > 0))]
    return [
        element("rect", {"x": x - air, "y": y - air, "width": width + 2 * air, "height": height + 2 * air, "fill": fill})
        for air, fill in frames
    ]


def _svg(figure: Figure) -> str:
    assert figure.keys.images is not None
    return svg(figure.keys.images, figure.keys.labels, figure.row, figure.title, figure.notes)


def _page(scene: Scene, look: Look) -> dict[str, Any]:
    """The images that some head, or the mean of all, shows; the others stay out of the page."""
    images = scene.axes[look.keys].images
    assert images is not None
    seen = {place for head in (None, *range(look.heads)) for place in kept(matrix(scene, look, head)[0].tolist())}
    shown = [address(image, SMALL) if place in seen else None for place, image in enumerate(images)]
    return {"most": MOST, "crisp": images.shape[2] <= SIDE, "images": shown}


DRAWING = Drawing(
    name="gallery",
    fits=lambda scene, look: (
        has_one_query(scene, look) and scene.axes[look.keys].images is not None and look.kind != "attribution"
    ),
    terminal=listed("images"),
    svg=_svg,
    page=_page,
)
