"""The path of the heaviest cell from word to word over an image: numbered dots, joined, and what is in each cell.

What eyes do when they read a picture: the largest weight of each word is where the model's attention rested.
"""

from dataclasses import replace

import numpy as np

from saccade.view.drawings import glimpse_path, image_steps
from saccade.view.drawings.figure import Drawing, Figure, image_and_grid
from saccade.view.output.scales import Floats
from saccade.view.output.screen import Screen
from saccade.view.trace import Look, Scene


def boxes(weights: Floats, grid: tuple[int, int], height: int, width: int) -> Floats:
    """The heaviest cell of each word in pixels: row, column, height, width. Shapes: (words, places) -> (words, 4)"""
    rows, columns = np.divmod(weights.argmax(1), grid[1])
    tall, wide = height / grid[0], width / grid[1]
    return np.stack([rows * tall, columns * wide, np.full(len(rows), tall), np.full(len(rows), wide)], 1)


def path(figure: Figure) -> Figure:
    """The same scene with a look at these cells, one after the other."""
    picture, grid = image_and_grid(figure.scene, figure.look)
    places = boxes(figure.weights[: image_steps.MOST], grid, picture.shape[0], picture.shape[1])
    axis = replace(figure.queries, labels=figure.queries.labels[: len(places)], probabilities=None, unknown=())
    scene = replace(figure.scene, axes={**figure.scene.axes, figure.look.queries: axis})
    return replace(figure, scene=scene, look=replace(figure.look, places=places.astype(np.float32)), head=None)


def svg(figure: Figure) -> str:
    """The image with the path, and the heaviest cell of each word beside it."""
    return glimpse_path.svg(path(figure))


def terminal(figure: Figure, screen: Screen) -> str:
    """A line for each word with the rows and columns of its heaviest cell; above them the image with numbers."""
    return glimpse_path.terminal(path(figure), screen)


def _fits(scene: Scene, look: Look) -> bool:
    return image_steps.fits(scene, look) and scene.shape(look)[0] > 1


DRAWING = Drawing(name="scan_path", fits=_fits, terminal=terminal, svg=svg, page=image_steps.page)
