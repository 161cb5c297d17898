"""Places of a picture that look at each other: one of them is chosen, framed, and its weights are painted."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.errors import UsageError
from saccade.view import Shown, render
from saccade.view.drawings import drawing_of
from saccade.view.drawings.place_map import chosen

from ..traces import places, plain, trace


def test_the_middle_is_drawn_unless_another_is_chosen() -> None:
    shown = Shown(trace(places()))
    scene = shown.scenes[0]
    assert drawing_of(scene, scene.looks[0]).name == "place_map"
    assert chosen(scene, scene.looks[0]) == 1 * 4 + 2
    other = shown.of_pixel(2, 0).scenes[0]
    assert chosen(other, other.looks[0]) == 2 * 4
    assert other.looks[1:] == scene.looks[1:]  # which are of no places


def test_the_place_has_a_frame_and_its_own_weights() -> None:
    root = ElementTree.fromstring(render.svg(Shown(trace(places())).of_pixel(2, 1).scenes[0]))
    pictures = [each for each in root if each.tag.endswith("image")]
    frames = [each for each in root if each.tag.endswith("rect") and each.get("fill") == "none"]
    assert len(frames) == 2 * 2  # dark and light, in both pictures
    for picture, frame in ((pictures[0], frames[0]), (pictures[1], frames[2])):
        left, top, wide, high = (float(picture.attrib[key]) for key in ("x", "y", "width", "height"))
        assert float(frame.attrib["x"]) == pytest.approx(left + wide / 4, abs=0.02)
        assert float(frame.attrib["y"]) == pytest.approx(top + 2 * high / 3, abs=0.02)
        assert float(frame.attrib["width"]) == pytest.approx(wide / 4, abs=0.02)
    assert any("from the place 2, 1" in (each.text or "") for each in root)
    weights = places().looks[0].weights[0, 9]
    assert any(each.text == f"{weights.max():.3g}" for each in root)


def test_the_terminal_says_from_where() -> None:
    drawn = render.terminal(Shown(trace(places())).of_pixel(0, 3).scenes[0], color=False, width=60)
    assert "from the place 0, 3\n" in drawn
    rows = [line for line in drawn.splitlines() if re.match(r"\s*\d │", line)]
    assert len(rows) == 3
    assert "█" in rows[0]


def test_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="pixel: expected a row and a column from 0,0 to 2,3, got 3,0"):
        Shown(trace(places())).of_pixel(3, 0)
    with pytest.raises(UsageError, match="pixel: the queries of look 'cross' are no places of a picture"):
        Shown(trace(plain())).of_pixel(0, 0)
    assert np.isclose(places().looks[0].weights.sum(-1), 1).all()
