"""A story as a table: every weight in its place, what is known to matter marked, and nothing else than the weights told."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.view.drawings import drawing_of
from saccade.view.drawings.figure import Figure
from saccade.view.drawings.statement_table import HOPS, MOST, kept, svg, terminal
from saccade.view.output.screen import ASCII, UNICODE, Screen
from saccade.view.trace import Axis, Look, Scene

TOLD = ["John is here.", "Mary went home.", "John left."]
WEIGHTS = [[0.7, 0.1, 0.2], [0.004, 0.006, 0.99]]


def figure(
    told: list[str] | None = None, weights: list[list[float]] | None = None, marked: tuple[int, ...] = (0, 2)
) -> Figure:
    told, values = told or TOLD, np.array(weights or WEIGHTS, np.float32)
    hops = [f"hop {number}" for number in range(1, len(values) + 1)]
    axes = {"input": Axis("statements", told, marked=marked), "hops": Axis("hops", hops)}
    look = Look("statements", "hops", "input", values[None])
    return Figure(Scene("home: where?", axes, [look]), look)


def test_stories_are_drawn_so_unless_hops_are_many() -> None:
    one = figure()
    assert drawing_of(one.scene, one.look).name == "statement_table"
    many = figure(weights=[[0.2, 0.3, 0.5]] * (HOPS + 1))
    assert drawing_of(many.scene, many.look).name == "heatmap"


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_each_line_has_its_mark_its_statement_and_its_weights(glyphs: object) -> None:
    lines = terminal(figure(), Screen(glyphs, False, 80)).splitlines()  # type: ignore[arg-type]
    point = "*" if glyphs is ASCII else "●"
    assert lines[0].split() == ["hop", "1", "hop", "2"]
    assert [line[0] for line in lines[1:4]] == [point, " ", point]
    assert [re.findall(r"\d\.\d\d", line) for line in lines[1:4]] == [["0.70"], ["0.10", "0.01"], ["0.20", "0.99"]]
    assert lines[4] == f"{point} a supporting fact"
    assert "supporting" not in terminal(figure(marked=()), Screen(UNICODE, False, 80))


def test_lines_keep_the_width_and_colors_change_no_text() -> None:
    long = figure([f"{text} {'x' * 90}" for text in TOLD])
    assert max(map(len, terminal(long, Screen(UNICODE, False, 60)).splitlines())) <= 60
    colored = re.sub(r"\x1b\[[\d;]*m", "", terminal(figure(), Screen(UNICODE, True, 80)))
    assert [re.findall(r"\d\.\d\d", line) for line in colored.splitlines()[1:3]] == [["0.70"], ["0.10", "0.01"]]


def test_the_picture_has_a_cell_for_each_weight() -> None:
    root = ElementTree.fromstring(svg(figure()))
    texts = [part.text for part in root.iter() if part.text]
    assert [text for text in texts if text in TOLD] == TOLD
    assert sorted(text for text in texts if re.fullmatch(r"\d\.\d\d", text)) == ["0.01", "0.10", "0.20", "0.70", "0.99"]
    assert len([part for part in root.iter() if part.tag.endswith("circle")]) == 3  # two facts, and what a mark means


def test_of_long_stories_the_heaviest_and_the_marked_are_kept() -> None:
    count = MOST + 20
    weights = np.linspace(0.001, 1, count)[None].tolist()
    one = figure([f"s{number}" for number in range(count)], weights, (0,))
    places = kept(one)
    assert places == [0, *range(count - MOST + 1, count)]
    assert f"{count - MOST} more statements" in terminal(one, Screen(UNICODE, False, 80))
