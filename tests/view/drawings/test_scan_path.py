"""The path of the heaviest cells: numbered in the order of the words, in pixels of the image."""

import re
from dataclasses import replace

import numpy as np
import pytest

from saccade.errors import UsageError
from saccade.view import render
from saccade.view.drawings.figure import Figure
from saccade.view.drawings.scan_path import boxes, path

from ..traces import caption


def test_the_heaviest_cell_of_each_word_in_pixels() -> None:
    weights = np.array([[0.1, 0.2, 0.7, 0, 0, 0], [0, 0, 0, 0.6, 0.4, 0]])
    assert boxes(weights, (2, 3), 20, 60).tolist() == [[0, 40, 10, 20], [10, 0, 10, 20]]


def test_a_path_goes_from_word_to_word() -> None:
    scene = caption()  # each word looks at the cell under its own number
    found = path(Figure(scene, scene.looks[0]))
    assert found.look.places is not None
    assert found.look.places[:, 1].tolist() == [0, 10, 20, 30]
    drawn = render.svg(scene, drawing="scan_path")
    assert drawn.count("<circle") == 4
    assert list(re.findall(r">(\d)</text>", drawn)) == ["4", "3", "2", "1"]
    assert "dog" in drawn
    assert "rows 0–10, columns 10–20" in render.terminal(scene, drawing="scan_path")


def test_words_that_look_at_the_same_cell_share_a_dot() -> None:
    scene = caption(["a", "dog", "on", "grass", "a"])
    (look,) = scene.looks
    weights = look.weights[:, [0, 1, 0, 1, 0]]
    drawn = render.svg(replace(scene, looks=[replace(look, weights=weights)]), drawing="scan_path")
    assert re.findall(r">([\d …]+)</text>", drawn) == ["2 4", "1 3 5"]
    assert "<circle" not in drawn
    weights = weights[:, [0, 0, 0, 0, 1]]
    assert "1 2 3 …" in render.svg(replace(scene, looks=[replace(look, weights=weights)]), drawing="scan_path")


def test_one_word_makes_no_path() -> None:
    with pytest.raises(UsageError, match="cannot be drawn as scan_path"):
        render.svg(caption(["dog"]), drawing="scan_path")
