"""Each cell of one brightness, to the pixel where the next begins."""

import numpy as np

from saccade.view import render
from saccade.view.drawings.figure import Figure
from saccade.view.drawings.image_steps import lit_images, shares

from ..traces import caption


def test_a_cell_is_bright_to_its_edge_and_no_further() -> None:
    weights = np.zeros(24)
    weights[8], weights[0] = 0.5, 0.25
    found = shares(weights, (4, 6), 40, 60, exact=True)
    assert (found[10:20, 20:30] == 1).all()
    assert (found[:10, :10] == 0.5).all()
    assert np.isclose(found.sum(), 150)


def test_pictures_that_cells_do_not_divide_are_covered_whole() -> None:
    found = shares(np.arange(1.0, 7), (2, 3), 5, 7, exact=True)
    assert found.shape == (5, 7)
    assert len(np.unique(found)) == 6


def test_it_is_drawn_when_it_is_named() -> None:
    scene = caption()
    smooth, exact = (render.svg(scene, drawing=name) for name in (None, "image_cells"))
    assert smooth != exact
    assert exact.count("<image") == smooth.count("<image")
    one, other = (list(lit_images(Figure(scene, scene.looks[0]), 40, 60, exact=each)) for each in (False, True))
    assert np.array_equal(one[0], other[0])
    assert not np.array_equal(one[1], other[1])
    assert render.terminal(scene, color=True, drawing="image_cells") != render.terminal(scene, color=True)
