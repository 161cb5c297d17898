"""Where one place of a picture looked in that picture: the place, and the picture under its weights (Zhang et al. 2019)."""

from typing import Any

from saccade.errors import UsageError
from saccade.view.drawings import heatmap, overlay
from saccade.view.drawings.figure import Drawing, Figure, image_and_grid, place_of
from saccade.view.output.embedded_images import address
from saccade.view.output.screen import Screen
from saccade.view.trace import Look, Scene, quoted


def chosen(scene: Scene, look: Look) -> int:
    """The place that is drawn: the one that was chosen, else the middle."""
    _, (rows, columns) = image_and_grid(scene, look)
    return rows // 2 * columns + columns // 2 if look.chosen is None else look.chosen


def fits(scene: Scene, look: Look) -> bool:
    """Whether the cells of a picture look at each other."""
    keys = scene.axes[look.keys]
    return look.queries == look.keys and look.places is None and keys.grid is not None and keys.whole_image() is not None


def choose(scene: Scene, look: Look, row: int, column: int) -> int:
    """The number of the place in this row and column."""
    if not fits(scene, look):
        raise UsageError(f"pixel: the queries of look {quoted(look.name)} are no places of a picture; leave it out")
    _, (rows, columns) = image_and_grid(scene, look)
    if not (0 <= row < rows and 0 <= column < columns):
        raise UsageError(f"pixel: expected a row and a column from 0,0 to {rows - 1},{columns - 1}, got {row},{column}")
    return row * columns + column


def _named(figure: Figure) -> tuple[int, list[str]]:
    """The place, and the lines above with it."""
    place = chosen(figure.scene, figure.look)
    return place, [*figure.notes, f"from the place {place_of(figure.keys, place)}, which is framed"]


def svg(figure: Figure) -> str:
    """The plain picture at the left, the colored one at the right, the place framed in both."""
    (picture, grid), (place, notes) = image_and_grid(figure.scene, figure.look), _named(figure)
    weights = figure.weights[place]
    return overlay.svg(picture, grid, weights, figure.title, notes, signed=figure.signed, framed=place)


def terminal(figure: Figure, screen: Screen) -> str:
    """A heat map of the grid; the line above says from where."""
    (_, grid), (_, notes) = image_and_grid(figure.scene, figure.look), _named(figure)
    weights = figure.weights[chosen(figure.scene, figure.look)].reshape(grid)
    drawn = heatmap.terminal(weights, color=screen.color, width=screen.width, signed=figure.signed)
    return f"{screen.fit(notes[-1].removesuffix(', which is framed'), screen.width)}\n{drawn}"


def _page(scene: Scene, look: Look) -> dict[str, Any]:
    picture, grid = image_and_grid(scene, look)
    crisp = picture.shape[1] <= overlay.SIDE
    images = [address(picture)]
    return {"grid": list(grid), "cover": overlay.COVER, "crisp": crisp, "images": images, "chosen": chosen(scene, look)}


DRAWING = Drawing(name="place_map", fits=fits, terminal=terminal, svg=svg, page=_page)
