"""Tokens joined by lines: as strong as the weights, in colors by sign, with probabilities and marks."""

import dataclasses
import re
from xml.etree import ElementTree

import numpy as np

from saccade.view import render
from saccade.view.drawings import lines
from saccade.view.output import colors
from saccade.view.trace import Axis, Scene

from ..traces import large, marked, plain

SVG = "{http://www.w3.org/2000/svg}"


def strokes(drawing: str) -> list[tuple[float, str, int]]:
    """Width and color of each path, and how many lines are in it."""
    paths = ElementTree.fromstring(drawing).iter(f"{SVG}path")
    return [(float(path.attrib["stroke-width"]), path.attrib["stroke"], path.attrib["d"].count("M")) for path in paths]


def test_the_heavier_the_stronger_and_the_last() -> None:
    found = strokes(render.svg(plain(), head=1, drawing="lines"))
    assert [count for _, _, count in found] == [3, 3]
    assert found[0][0] < found[1][0] == 3.0
    assert found[1][1] == colors.hexadecimal(lines.LOOKED)


def test_the_paper_is_as_wide_as_the_title() -> None:
    widths = []
    for title in ("short", "w" * 60, "w" * 80, "w" * 200):
        drawing = ElementTree.fromstring(render.svg(dataclasses.replace(plain(), title=title), drawing="lines"))
        widths.append(float(drawing.attrib["width"]))
    assert widths[1] > 60 * 9
    assert widths[0] < widths[1] < widths[2] == widths[3]  # what is longer is cut


def test_a_line_goes_from_its_query_to_its_key() -> None:
    drawing = render.svg(plain(), head=1, drawing="lines")
    ends = [tuple(map(float, line)) for line in re.findall(r"M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)", drawing)]
    heavy = [(round((y - ends[0][0]) / lines.LINE), round((to - ends[0][0]) / lines.LINE)) for y, to in ends[3:]]
    assert heavy == [(0, 3), (1, 3), (2, 3)]


def test_an_attribution_has_lines_of_two_colors() -> None:
    drawing = render.svg(marked(), "gradient × input", drawing="lines")
    strongest = strokes(drawing)[-1]
    assert strongest == (3.0, colors.hexadecimal(colors.BELOW), 1)
    assert sum(count for _, _, count in strokes(drawing)) == 5  # 0 has none


def test_tokens_have_their_probability_and_unknown_ones_are_dotted() -> None:
    root = ElementTree.fromstring(render.svg(marked(), drawing="lines"))
    texts = {each.text: each for each in root.iter(f"{SVG}text")}
    assert {"97%", "25%"} <= set(texts)
    assert [name for name, each in texts.items() if "text-decoration" in each.attrib] == ["Qzx"]
    widths = [float(each.attrib["width"]) for each in root.iter(f"{SVG}rect") if each.attrib["fill"] == "#596070"]
    assert np.allclose(widths, [36 * 0.97, 36 * 0.25], atol=0.01)


def test_the_terminal_lists_the_heaviest_keys() -> None:
    shown = render.terminal(marked(), "gradient × input", drawing="lines", color=False, width=80).splitlines()
    assert shown[-2:] == [
        "the   97%  1.000 at Haus   -0.500 at das   0.250 at Qzx?",
        "house 25%  -2.000 at Qzx?   0.500 at Haus   0.000 at das",
    ]


def test_too_many_tokens_are_not_joined() -> None:
    scene = large(lines.MOST + 1)
    assert not lines.DRAWING.fits(scene, scene.looks[0])
    short = Axis("words", scene.axes["text"].labels[: lines.MOST])
    look = dataclasses.replace(scene.looks[0], weights=scene.looks[0].weights[:, :-1, :-1])
    assert lines.DRAWING.fits(Scene("t", {"text": short}, [look]), look)
