"""An image once for each written word, bright where the weights of the word are (Xu et al. 2015, figures 2 and 3)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from saccade.view.drawings.bars import written
from saccade.view.drawings.figure import Drawing, Figure, has_one_query, image_and_grid
from saccade.view.drawings.lines import padded, table
from saccade.view.output.embedded_images import Pixels, address, image, resized, sizes, smoothed
from saccade.view.output.scales import Floats
from saccade.view.output.screen import Screen, half_blocks
from saccade.view.output.svg import FAINT, document, element, text
from saccade.view.output.svg_layout import CENTERED, heading
from saccade.view.trace import Look, Scene, matrix

MOST = 60  # words that are drawn
WIDE, SIDE, APART, WORD = 760.0, 128.0, 16.0, 24.0  # of the drawing; an image's longer side; between images; a word's line
FINER = 2  # pixels of an image for each that is shown
DARK, COVER = (24, 16, 44), 0.76  # what hides a place of weight 0, and how much of it
LIGHT, SHINE = (255, 214, 90), 0.5  # what shines on a place of weight 1, and how strongly on a black image
HALF = 96.0  # the mean of an image on which nothing shines any more, because it is seen to be bright
COLUMNS = 18  # of an image in the terminal
MEANING = "brightness: the weight, divided by the largest of its image, which is under it"
OF_ONE = "brightness: the weight, divided by the largest of all; the largest of an image is under it"


def scale_of(weights: Floats) -> float:
    """What all rows are divided by where they are parts of one distribution; 0: each by its largest."""
    return float(weights.max()) if len(weights) > 1 and weights.sum() < 1 + 1e-3 else 0.0


def shares(
    weights: Floats, grid: tuple[int, int], height: int, width: int, *, exact: bool = False, scale: float = 0.0
) -> Floats:
    """Weights as shares of the largest, or of `scale`, interpolated to pixels; `exact`: the same in all of a cell.

    Shapes: (places) -> (height, width)
    """
    above = np.clip(weights, 0.0, None).reshape(grid)
    above = above / (scale or above.max() or 1.0)
    if exact:
        rows, columns = (np.arange(size) * count // size for size, count in zip((height, width), grid, strict=True))
        return np.asarray(above[np.ix_(rows, columns)])
    return np.clip(smoothed(above, height, width), 0.0, 1.0)


def shine(picture: Pixels) -> float:
    """How strongly light shines where the weight is: a dark image could not be brighter than its surroundings else."""
    return SHINE * max(0.0, 1.0 - float(picture.mean()) / HALF)


def lit(picture: Pixels, share: Floats, light: float = 0.0) -> Pixels:
    """The image, darkened where the share is small, under light where it is large.

    Shapes: picture (height, width, 3), share (height, width)
    """
    cover, shining = COVER * (1.0 - share)[:, :, None], light * share[:, :, None]
    shaded = picture * (1.0 - cover) + np.array(DARK) * cover
    return np.asarray((shaded * (1.0 - shining) + np.array(LIGHT) * shining).round(), dtype=np.uint8)


def lit_images(figure: Figure, height: int, width: int, *, exact: bool = False) -> Iterator[Pixels]:
    """The plain image, then that of each word. Shapes: (height, width, 3) each"""
    picture, grid = image_and_grid(figure.scene, figure.look)
    plain = resized(picture, height, width)
    yield plain
    scale, light = scale_of(figure.weights), shine(picture)
    for weights in figure.weights[:MOST]:
        yield lit(plain, shares(weights, grid, height, width, exact=exact, scale=scale), light)


def svg(figure: Figure, *, exact: bool = False) -> str:
    """Small multiples: the plain image, then one image for each word, the word above and its largest weight below."""
    picture, _ = image_and_grid(figure.scene, figure.look)
    wide, high = sizes(picture, SIDE)
    words, most = ["", *figure.written_names()[:MOST]], ["", *map(written, figure.weights.max(axis=1).tolist())]
    notes = [*figure.notes, *_left_out(figure), OF_ONE if scale_of(figure.weights) else MEANING]
    columns, top = int((WIDE - 40 + APART) / (SIDE + APART)), 56.0 + 18 * len(notes)
    down = WORD + high + 16 + APART
    parts = heading(figure.title, notes)
    for number, pixels in enumerate(lit_images(figure, *_fine(picture, wide, high), exact=exact)):
        x = 20 + number % columns * (SIDE + APART) + (SIDE - wide) / 2
        y, middle = top + number // columns * down + WORD, x + wide / 2
        parts.append(text(words[number], middle, y - 8, {"font-size": 14, "text-anchor": "middle"}, longest=int(SIDE / 8)))
        parts.append(element("rect", {"x": x - 1, "y": y - 1, "width": wide + 2, "height": high + 2, "fill": FAINT}))
        parts.append(image(pixels, x, y, wide, high))
        parts.append(text(most[number], middle, y + high + 15, CENTERED))
    return document(WIDE, top + -(-len(words) // columns) * down + 4, figure.title, *parts)


def _fine(picture: Pixels, wide: float, high: float) -> tuple[int, int]:
    """Height and width in pixels of an image shown at this size; a small one is enlarged by a whole number."""
    height, width = picture.shape[:2]
    factor = -(-FINER * SIDE // max(height, width))
    return (int(height * factor), int(width * factor)) if factor > 1 else (round(FINER * high), round(FINER * wide))


def _left_out(figure: Figure) -> list[str]:
    more = len(figure.queries.labels) - MOST
    return [f"{more} more words are left out"] if more > 0 else []


def terminal(figure: Figure, screen: Screen, *, exact: bool = False) -> str:
    """Small images with their words, side by side; without color, a table of the heaviest cells of each."""
    shown = _images(figure, screen, exact) if screen.color and not screen.ascii_only else _table(figure, screen)
    return "\n".join([*(line.rstrip() for line in shown), *(screen.fit(line, screen.width) for line in _left_out(figure))])


def _images(figure: Figure, screen: Screen, exact: bool) -> Iterator[str]:
    picture, _ = image_and_grid(figure.scene, figure.look)
    across, down = (round(size) for size in sizes(picture, min(COLUMNS, screen.width)))
    words = ["", *figure.written_names()[:MOST]]
    drawn = [half_blocks(pixels) for pixels in lit_images(figure, down + down % 2, across, exact=exact)]
    fitting = max(1, (screen.width + 2) // (across + 2))
    for start in range(0, len(words), fitting):
        here = slice(start, start + fitting)
        yield "  ".join(padded(screen.fit(word, across), across) for word in words[here])
        yield from ("  ".join(lines) for lines in zip(*drawn[here], strict=True))


def _table(figure: Figure, screen: Screen) -> Iterator[str]:
    yield screen.fit("heaviest cells", screen.width)
    yield from table(figure, screen, MOST)


def fits(scene: Scene, look: Look) -> bool:
    """Whether places are the cells of a grid over one image, and queries what was written."""
    keys = scene.axes[look.keys]
    tiles = keys.image is None and has_one_query(scene, look)  # these are an overlay
    return (
        look.kind != "attribution"
        and look.places is None
        and keys.grid is not None
        and keys.whole_image() is not None
        and not tiles
    )


def page(scene: Scene, look: Look) -> dict[str, Any]:
    """What the page needs: the image and its grid."""
    picture, grid = image_and_grid(scene, look)
    crisp = picture.shape[1] <= 2 * SIDE
    size = [picture.shape[0], picture.shape[1]]
    return {
        "scale": scale_of(matrix(scene, look)),
        "grid": list(grid),
        "size": size,
        "dark": DARK,
        "cover": COVER,
        "light": LIGHT,
        "shine": shine(picture),
        "crisp": crisp,
        "most": MOST,
        "images": [address(picture)],
    }


DRAWING = Drawing(name="image_steps", fits=fits, terminal=terminal, svg=svg, page=page)
