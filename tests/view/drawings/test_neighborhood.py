"""A node among its neighbors: all of them named with their weights, the heavier the thicker."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.view import Shown
from saccade.view.drawings.neighborhood import MOST, svg, terminal
from saccade.view.output.colors import class_colors
from saccade.view.output.screen import UNICODE, Screen
from saccade.view.trace import Axis, Look, Scene, Trace


def test_every_neighbor_is_there_the_heavier_the_thicker() -> None:
    drawing = svg(["me", "a", "b", "c"], [0.1, 0.2, 0.6, 0.1], "title", ["note"])
    for name in ("me", "itself 0.100", "a 0.200", "b 0.600", "c 0.100", "title", "note"):
        assert f">{name}</text>" in drawing
    widths = [float(width) for width in re.findall(r'stroke-width="([\d.]+)"', drawing)]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3


def test_of_many_the_heaviest_are_drawn() -> None:
    count = MOST + 7
    drawing = svg(["me", *(f"n{i}" for i in range(count))], [0.0, *(i / count for i in range(count))], "t")
    assert "7 more neighbors, none heavier than these, are left out" in drawing
    assert ">n6 " not in drawing
    assert f">n{count - 1} " in drawing


def test_in_the_terminal_they_are_listed_with_bars() -> None:
    lines = terminal(["me", "a", "b"], [0.15, 0.3, 0.6], Screen(UNICODE, False, 40)).splitlines()
    assert [line.split()[0] for line in lines] == ["me,", "b", "a"]
    bars = [line.count("█") for line in lines]
    assert bars == [round(bars[1] / 4), bars[1], round(bars[1] / 2)]
    many = terminal(["me"] + ["n"] * (MOST + 3), [0.0] * (MOST + 4), Screen(UNICODE, False, 40))
    assert many.endswith("3 more neighbors, none heavier than these, are left out")


def test_a_node_without_neighbors_stands_alone() -> None:
    assert ">itself 1.000</text>" in svg(["me"], [1.0], "t")


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_a_node_s_look_becomes_such_a_picture(suffix: str, tmp_path: Path) -> None:
    axes = {"node": Axis("node", ["7"]), "neighbors": Axis("neighbors", ["7 (a)", "9 (b)"])}
    scene = Scene("7: a", axes, [Look("layer 1", "node", "neighbors", np.array([[[0.3, 0.7]]], dtype=np.float32))])
    (path,) = Shown(Trace("gat", [scene])).save(tmp_path / f"look.{suffix}")
    assert path.stat().st_size > 500
    if suffix == "svg":
        assert "itself 0.300" in path.read_text()
    if suffix == "png":
        assert Image.open(io.BytesIO(path.read_bytes())).size[0] == 2 * 760


def test_neighbors_tell_their_weights() -> None:
    numbers = [0.1234, 0.3456, 0.0501, 0.4809]
    names = ["own", "one", "two", "three"]
    drawn = re.sub(r"<[^>]*>", "|", svg(names, numbers, "t"))
    assert "itself 0.123" in drawn
    for name, number in zip(names[1:], numbers[1:], strict=True):
        assert f"{name} {number:.3f}" in drawn
    listed = terminal(names, numbers, Screen(UNICODE, False, 90)).splitlines()
    told = {words[-2]: words[-1] for line in listed if len(words := re.findall(r"[\w.]+", line)) >= 2}
    assert {name: told[name] for name in names[1:]} == {"one": "0.346", "two": "0.050", "three": "0.481"}


def test_classes_have_colors_and_a_legend() -> None:
    drawing = svg(["me", "a", "b", "c"], [0.1, 0.2, 0.6, 0.1], "t", classes=["2", "art", "2", "art"])
    palette = class_colors(["2", "art"])
    fills = re.findall(r'<circle [^>]*?fill="(#\w+)"', drawing)
    assert sorted(fills) == sorted([palette["2"], palette["art"], palette["art"], palette["2"], palette["art"]])
    assert ">class 2</text>" in drawing
    assert ">art</text>" in drawing
