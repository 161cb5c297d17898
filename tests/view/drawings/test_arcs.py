"""Arcs over the words of a text: from each to what it looked at, as strong as the weight, and what is left of 1."""

from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.errors import UsageError
from saccade.view import render
from saccade.view.drawings import arcs, lines
from saccade.view.output import colors
from saccade.view.trace import Axis, Look, Scene

from ..traces import places, plain

SVG = "{http://www.w3.org/2000/svg}"
WEIGHTS = np.array([[[0.0, 0.9, 0.0], [0.0, 0.0, 0.45], [0.02, 0.0, 0.98]]], dtype=np.float32)


def tree(kind: str = "attention") -> Scene:
    return Scene("a b c", {"input": Axis("words", ["a", "b", "c"])}, [Look("heads", "input", "input", WEIGHTS, kind=kind)])


def drawn(scene: Scene) -> list[tuple[str, float, float, float, float]]:
    """Of each arc its color, both ends, its height and how wide its line is."""
    found = []
    for path in ElementTree.fromstring(render.svg(scene, drawing="arcs")).iter(f"{SVG}path"):
        steps = [tuple(map(float, step.split())) for step in path.attrib["d"][1:].split("L")]
        top = steps[0][1] - min(y for _, y in steps)
        found.append((path.attrib["stroke"], steps[0][0], steps[-1][0], top, float(path.attrib["stroke-width"])))
    return found


def words(scene: Scene) -> list[float]:
    root = ElementTree.fromstring(render.svg(scene, drawing="arcs"))
    return [float(each.attrib["x"]) for each in root.iter(f"{SVG}text") if each.text in ("a", "b", "c")]


def test_an_arc_goes_from_a_word_to_what_it_looked_at_and_the_root_stands() -> None:
    a, b, c = words(tree())
    by_ends = {(start, end): (color, high, wide) for color, start, end, high, wide in drawn(tree())}
    loop = (c - arcs.LOOP, c + arcs.LOOP)
    assert set(by_ends) == {(a, b), (b, c), loop, (b, b)}  # 0.02 and a's 0.1 are too weak
    assert by_ends[a, b][1] == pytest.approx(arcs.FLAT * (b - a) / 2, abs=0.1)
    assert by_ends[b, b][1] == pytest.approx(arcs.ROOT, abs=0.1)
    assert by_ends[loop][0] == colors.hexadecimal(lines.LOOKED)
    assert by_ends[loop][2] > by_ends[a, b][2] > by_ends[b, c][2]


def test_a_word_that_looked_at_nothing_has_no_root() -> None:
    weights = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]], dtype=np.float32)
    look = Look("intra-attention", "input", "input", weights)
    assert len(drawn(Scene("a b c", {"input": Axis("words", ["a", "b", "c"])}, [look]))) == 3


def test_an_attribution_has_no_root() -> None:
    assert len(drawn(tree("attribution"))) == 3
    assert {color for color, *_ in drawn(tree("attribution"))} & {colors.hexadecimal(colors.ABOVE)}


def test_only_words_that_look_at_each_other_have_arcs() -> None:
    for scene, name in ((plain(), "cross"), (plain(), "self"), (places(), None)):
        with pytest.raises(UsageError, match="cannot be drawn as arcs"):
            render.svg(scene, name, drawing="arcs")
    assert render.terminal(tree(), drawing="arcs", color=False, width=80).splitlines()[-3].startswith("a  0.900 at b")
