"""A path of glimpses: every box where it belongs, numbered in order, with what was in it."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.view import render
from saccade.view.drawings.glimpse_path import boxes, centers, glimpse, seen
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
    image = next(place for place, line in enumerate(colored) if "▀" in line)
    assert "".join(colored[image : image + 16]).replace("▀", "") == "1234"  # 32 pixels
    assert colored[image + 16].split() == ["1", "2", "3", "4"]  # and what each saw
    assert [line.replace("▀", "x").split() for line in colored[image + 17 : image + 23]] == [["x" * 12] * 4] * 6


def test_the_terminal_shows_all_scales_of_each_glimpse() -> None:
    colored = [ANSI.sub("", line) for line in render.terminal(glimpses(3), color=True, width=80).splitlines()]
    (row,) = [place for place, line in enumerate(colored) if line.split() == ["1", "2"]]
    assert colored[row + 1].split() == ["▀" * 12] * 6  # two steps, three scales each
    assert colored[row + 7].split() == ["3", "4"]
    for width in (16, 30):
        assert (
            max(len(ANSI.sub("", line)) for line in render.terminal(glimpses(3), color=True, width=width).splitlines())
            <= width
        )


def test_a_wide_window_is_as_coarse_as_the_model_saw_it() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    fine, coarse = seen(picture, np.array([[6.0, 6.0, 4.0, 4.0], [4.0, 4.0, 8.0, 8.0]]))
    assert np.array_equal(fine[:, :, 0], picture[6:10, 6:10])
    assert coarse.shape == (4, 4, 3)
    assert coarse[1, 2, 0] == round(picture[6:8, 8:10].mean())
    odd = seen(picture, np.array([[6.0, 6.0, 3.0, 3.0], [4.0, 4.0, 8.0, 8.0]]))[1]
    assert odd.shape == (8, 8, 3)  # which does not come out even


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
