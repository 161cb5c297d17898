"""Drawn words: where each pixel comes from, and pictures that depend on nothing but what was drawn."""

import math
from typing import Any

import numpy as np
import pytest
from PIL import ImageFont

from saccade.data import word_pictures
from saccade.data.draws import Draws
from saccade.data.word_pictures import Geometry, geometry, sources, word_picture

FLAT = Geometry(0.0, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
BENT = Geometry(math.radians(120), math.radians(10), 0.1, (0.1, -0.1), (0.05, 0.05, 0.05, 0.05))
SHAPE = (32, 100)


def font() -> Any:
    return ImageFont.load_default(32)


@pytest.mark.parametrize("arc", [2.0, 0.3, 0.0, -0.3, -2.0])
def test_bending_and_straightening_are_each_others_way_back(arc: float) -> None:
    x, y = (side.ravel() for side in np.meshgrid(np.linspace(-50, 50, 9), np.linspace(-15, 15, 5)))
    there = word_pictures._bend(x, y, arc, 100.0)
    np.testing.assert_allclose(word_pictures._straighten(*there, arc, 100.0), (x, y), atol=1e-9)
    length = np.hypot(*np.diff(np.array(word_pictures._bend(np.linspace(-50, 50, 999), np.zeros(999), arc, 100.0)), axis=1))
    assert length.sum() == pytest.approx(100, rel=1e-4)  # a bent line is as long as it was


def test_without_any_change_a_picture_is_the_line_of_letters() -> None:
    rows, columns = sources(FLAT, (16, 200), SHAPE)
    np.testing.assert_allclose(rows, np.broadcast_to(np.linspace(0, 16, 32)[:, None], SHAPE), atol=1e-9)
    np.testing.assert_allclose(columns, np.broadcast_to(np.linspace(0, 200, 100), SHAPE), atol=1e-9)


@pytest.mark.parametrize("side", [1, -1])
def test_an_arc_stands_up_or_hangs_down_and_is_in_the_picture_as_a_whole(side: int) -> None:
    rows, columns = sources(BENT._replace(arc=side * BENT.arc, turn=0.0, slant=0.0, perspective=(0, 0)), (20, 200), SHAPE)
    inside = (rows > 0) & (rows < 20) & (columns > 0) & (columns < 200)
    middle, end = (np.flatnonzero(inside[:, column]).mean() for column in (50, 8))
    assert (middle < end - 8) == (side > 0)
    seen = columns[inside]
    assert seen.min() < 4
    assert seen.max() > 196
    assert not np.concatenate((inside[[0, -1]].ravel(), inside[:, [0, -1]].ravel())).any()


def test_a_picture_depends_on_its_draws_alone() -> None:
    def drawn(*numbers: int) -> bytes:
        picture = word_picture("Hotel", font(), SHAPE, Draws(*numbers), curved=True)
        assert picture.shape == SHAPE
        return bytes(picture)

    assert drawn(0, 1, 5) == drawn(0, 1, 5)
    assert len({drawn(0, 1, 5), drawn(0, 1, 6), drawn(1, 1, 5), drawn(0, 2, 5)}) == 4


def test_words_are_dark_or_light_and_differ_from_their_ground() -> None:
    ranges, brighter = [], []
    for number in range(60):
        picture = word_picture("HHH", font(), SHAPE, Draws(3, number), curved=False).astype(float)
        ranges.append(np.ptp(picture))
        brighter.append(picture[8:24, 40:60].mean() > np.concatenate((picture[:1], picture[-1:])).mean())
    assert min(ranges) > 25
    assert 12 < sum(brighter) < 48


def test_only_curved_lines_are_bent() -> None:
    shapes = [geometry(iter(Draws(0, n).uniform(20).tolist()), curved=curved) for n in range(40) for curved in (False, True)]
    assert all((one.arc == 0) == (place % 2 == 0) for place, one in enumerate(shapes))
    assert {one.arc > 0 for one in shapes[1::2]} == {True, False}
    assert max(abs(one.turn) for one in shapes[::2]) <= math.radians(7)
