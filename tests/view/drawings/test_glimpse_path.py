"""A path of glimpses: every box where it belongs, numbered in order, with what was in it."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.view import render
from saccade.view.drawings.glimpse_path import boxes, centers, glimpse
from saccade.view.output.colors import MISSING
from saccade.view.trace import Axis, Look, Scene

from ..traces import glimpses

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_scales_are_ordered_from_the_smallest() -> None:
    look = glimpses(3).looks[0]
    assert look.places is not None
    turned = Look("l", "glimpses", "image", places=look.places[:, ::-1])
    for found in (boxes(look), boxes(turned)):
        assert found.shape == (4, 3, 4)
        assert found[:, :, 2].tolist() == [[8, 16, 32]] * 4
        assert centers(found).tolist() == [[3 + 6 * step] * 2 for step in range(4)]
    assert boxes(glimpses().looks[0]).shape == (4, 1, 4)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_glimpse_is_the_part_of_the_image_in_its_box(channels: tuple[int, ...]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (10, 12, *channels), dtype=np.uint8)
    colored = picture if channels else picture[:, :, None].repeat(3, axis=2)
    assert np.array_equal(glimpse(picture, np.array([2.0, 5.0, 3.0, 4.0])), colored[2:5, 5:9])
    outside = glimpse(picture, np.array([-1.0, 10.0, 3.0, 4.0]))
    assert np.array_equal(outside[1:, :2], colored[0:2, 10:12])
    assert (outside[0] == MISSING).all()
    assert (outside[:, 2:] == MISSING).all()
    assert max(glimpse(picture, np.array([-1e30, 0.0, 1e38, 1e-3])).shape) <= 96


def test_steps_are_numbered_on_their_boxes() -> None:
    root = ElementTree.fromstring(render.svg(glimpses()))
    circles = [each for each in root if each.tag.endswith("circle")][::-1]
    frames = [each for each in root if each.tag.endswith("rect") and each.get("fill") == "none"][1::2]
    texts = [each for each in root if each.tag.endswith("text") and each.get("font-weight") == "700"][::-1]
    assert (len(circles), len(frames)) == (4, 4)
    assert [each.text for each in texts] == ["1", "2", "3", "4"]
    picture = next(each for each in root if each.tag.endswith("image"))
    left, pixel = float(picture.attrib["x"]), float(picture.attrib["width"]) / 28
    for step, (frame, circle) in enumerate(zip(frames, circles, strict=True)):
        assert float(circle.attrib["cx"]) == pytest.approx(left + (3 + 6 * step) * pixel, abs=0.02)
        if step:  # the first reaches out of the image
            assert float(frame.attrib["x"]) == pytest.approx(left + (6 * step - 1) * pixel, abs=0.02)
            assert float(frame.attrib["width"]) == pytest.approx(8 * pixel, abs=0.02)
    nested = ElementTree.fromstring(render.svg(glimpses(3)))
    assert len([each for each in nested if each.tag.endswith("rect") and each.get("fill") == "none"]) == 4 * 3 * 2
    assert len([each for each in nested if each.tag.endswith("image")]) == 1 + 4 * 3


def test_the_terminal_lists_the_steps() -> None:
    lines = render.terminal(glimpses(), color=False, width=60).splitlines()
    assert lines[-4:] == [
        "1  rows -1–7, columns -1–7",
        "2  rows 5–13, columns 5–13",
        "3  rows 11–19, columns 11–19",
        "4  rows 17–25, columns 17–25",
    ]
    assert render.terminal(glimpses(3), color=False, width=60).endswith(", 3 scales")
    colored = [ANSI.sub("", line) for line in render.terminal(glimpses(), color=True, width=60).splitlines()]
    blocks = [line for line in colored if "▀" in line]
    assert len(blocks) == 14 + 2  # 32 pixels
    assert "".join(blocks).replace("▀", "") == "1234"


@pytest.mark.parametrize("places", [[-1e30, 1e30, 1e30, 1e-30], [3e38, 3e38, 3e38, 3e38], [0, 0, 1e-30, 1e-30]])
@pytest.mark.parametrize("shape", [(1, 1), (3, 500), (500, 3, 3)])
def test_any_places_can_be_drawn(places: list[float], shape: tuple[int, ...]) -> None:
    axes = {"steps": Axis("steps", ["a", ""]), "image": Axis("pixels", [], image=np.zeros(shape, dtype=np.uint8))}
    scene = Scene("t", axes, [Look("l", "steps", "image", places=np.array([places] * 2, dtype=np.float32))])
    drawing = render.svg(scene)
    assert not {"nan", "inf"} & set(re.findall(r"nan|inf", drawing.split("base64")[0]))
    assert render.png(scene, scale=1).startswith(b"\x89PNG")
    for color in (True, False):
        render.terminal(scene, color=color, width=30)
