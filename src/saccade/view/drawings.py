"""Which drawing a look takes: the one list that the terminal, SVG, PNG and the page ask.

A drawing says which looks it fits and how it is made; the first that fits is taken, and the heat map fits every look. A new
one is an entry here, and a file of its name in `page`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.view import bars, documents, gallery, neighborhood, overlay, running
from saccade.view import svg as vector
from saccade.view import terminal as characters
from saccade.view.images import address
from saccade.view.picture import AXES, Picture, one_head
from saccade.view.running import Sentence
from saccade.view.screen import Screen
from saccade.view.trace import Look, Scene

MATRIX = "matrix"  # what the page always knows
UNTITLED = "where it looked"
SMALL = 160  # pixels of the longer side of a picture in a gallery on the page


def _pixels(drawing: "Drawing", shown: Picture, scale: int) -> bytes:
    from saccade.view import pixels  # Pillow takes a moment to load, and only pictures of pixels need it

    return pixels.png(drawing.svg(shown), scale)


def _cells(_: "Drawing", shown: Picture, scale: int) -> bytes:
    from saccade.view import png

    return png.heatmap(shown, scale)


@dataclass(frozen=True)
class Drawing:
    """One way to draw a look: whether it fits, its text, its picture, and what the page needs beside the weights."""

    name: str
    fits: Callable[[Scene, Look], bool]
    terminal: Callable[[Picture, Screen], str]
    svg: Callable[[Picture], str]
    page: Callable[[Scene, Look], Mapping[str, Any]] = lambda scene, look: {}
    "Under `pictures` a list of data addresses, of which each is kept once."
    sides: str = "{} looked at {}"
    pixels: Callable[["Drawing", Picture, int], bytes] = _pixels

    def png(self, shown: Picture, scale: int) -> bytes:
        return self.pixels(self, shown, scale)


def drawing_of(scene: Scene, look: Look) -> Drawing:
    """The drawing that this look takes."""
    return next(drawing for drawing in DRAWINGS if drawing.fits(scene, look))


def _one_looks_at(kind: str) -> Callable[[Scene, Look], bool]:
    """Looks of a single query at things of this kind."""
    return lambda scene, look: look.weights.shape[1] == 1 and scene.sides[look.keys].kind == kind


def _one_sees(scene: Scene, look: Look) -> bool:
    return look.weights.shape[1] == 1 and scene.sides[look.keys].pictures is not None


def _row(shown: Picture) -> list[float]:
    row: list[float] = shown.weights[0].tolist()
    return row


def _title(shown: Picture) -> str:
    return shown.title or UNTITLED


# Words


def _text(shown: Picture) -> list[Sentence]:
    return [Sentence(shown.names, _row(shown))]


def _is_document(scene: Scene, look: Look) -> bool:
    kinds = scene.sides[look.queries].kind, scene.sides[look.keys].kind
    return kinds == ("sentences", "words") and documents.owners(look) is not None


def _document_page(scene: Scene, look: Look) -> dict[str, Any]:
    whose, above = documents.owners(look), documents.weighed(scene, look)
    assert whose is not None
    names = [other.name for other in scene.looks]
    return {"sentences": whose.tolist(), "above": None if above is None else names.index(above.name)}


# Pictures


def _names(shown: Picture) -> list[str]:
    """A name for each place, its number where it has none."""
    labeled = zip(shown.names, shown.keys.labels, strict=True)
    return [name if label else str(place) for place, (name, label) in enumerate(labeled)]


def _listed(what: str) -> Callable[[Picture, Screen], str]:
    """The heaviest as bars, in their own order."""

    def terminal(shown: Picture, screen: Screen) -> str:
        names, weights = _names(shown), _row(shown)
        places = bars.kept(weights)
        listed = bars.terminal([names[place] for place in places], [weights[place] for place in places], screen)
        more = (screen.fit(line, screen.width) for line in bars.left_out(len(weights), len(places), what))
        return "\n".join([listed, *more])

    return terminal


def _gallery(shown: Picture) -> str:
    assert shown.keys.pictures is not None
    return gallery.svg(shown.keys.pictures, shown.keys.labels, _row(shown), _title(shown), shown.notes)


def _gallery_page(scene: Scene, look: Look) -> dict[str, Any]:
    """The pictures that some head, or the mean of all, shows; the others stay out of the page."""
    pictures = scene.sides[look.keys].pictures
    assert pictures is not None
    heads = [None, *range(len(look.weights))]
    seen = {place for head in heads for place in bars.kept(one_head(look, head)[0][0].tolist())}
    shown = [address(picture, SMALL) if place in seen else None for place, picture in enumerate(pictures)]
    return {"most": bars.MOST, "crisp": pictures.shape[2] <= gallery.SIDE, "pictures": shown}


def _overlay(shown: Picture) -> str:
    pictures, grid = shown.keys.pictures, shown.keys.grid
    assert pictures is not None
    assert grid is not None
    return overlay.svg(pictures, grid, shown.weights[0], _title(shown), shown.notes)


def _overlay_page(scene: Scene, look: Look) -> dict[str, Any]:
    pictures, grid = scene.sides[look.keys].pictures, scene.sides[look.keys].grid
    assert pictures is not None
    assert grid is not None
    picture = overlay.whole(pictures, grid)
    return {
        "grid": list(grid),
        "cover": overlay.COVER,
        "crisp": picture.shape[1] <= overlay.SIDE,
        "pictures": [address(picture)],
    }


def _tiles(shown: Picture, screen: Screen) -> str:
    assert shown.keys.grid is not None
    return characters.heatmap(shown.weights[0].reshape(shown.keys.grid), color=screen.color, width=screen.width)


# Matrices


def _heatmap(shown: Picture, screen: Screen) -> str:
    return characters.heatmap(shown.weights, rows=shown.rows, columns=shown.columns, color=screen.color, width=screen.width)


def _heatmap_svg(shown: Picture) -> str:
    return vector.heatmap(shown.weights, rows=shown.rows, columns=shown.columns, title=_title(shown), notes=shown.notes)


DRAWINGS = (
    Drawing(
        name="text",
        fits=_is_document,
        terminal=lambda shown, screen: running.terminal(documents.sentences(shown), screen),
        svg=lambda shown: running.svg(documents.sentences(shown), _title(shown), shown.notes),
        page=_document_page,
    ),
    Drawing(
        name="overlay",
        fits=lambda scene, look: _one_sees(scene, look) and scene.sides[look.keys].grid is not None,
        terminal=_tiles,
        svg=_overlay,
        page=_overlay_page,
    ),
    Drawing(name="gallery", fits=_one_sees, terminal=_listed("pictures"), svg=_gallery, page=_gallery_page),
    Drawing(
        name="text",
        fits=_one_looks_at("words"),
        terminal=lambda shown, screen: running.terminal(_text(shown), screen),
        svg=lambda shown: running.svg(_text(shown), _title(shown), shown.notes),
    ),
    Drawing(
        name="neighborhood",
        fits=_one_looks_at("neighbors"),
        terminal=lambda shown, screen: neighborhood.terminal(shown.names, _row(shown), screen),
        svg=lambda shown: neighborhood.svg(shown.names, _row(shown), _title(shown), shown.notes),
        page=lambda scene, look: {"most": neighborhood.MOST},
    ),
    Drawing(
        name="bars",
        fits=_one_looks_at("instances"),
        terminal=_listed("instances"),
        svg=lambda shown: bars.svg(_names(shown), _row(shown), _title(shown), shown.notes, "instances"),
        page=lambda scene, look: {"most": bars.MOST},
    ),
    Drawing(
        name=MATRIX,
        fits=lambda scene, look: True,
        terminal=_heatmap,
        svg=_heatmap_svg,
        sides=AXES,
        pixels=_cells,
    ),
)
