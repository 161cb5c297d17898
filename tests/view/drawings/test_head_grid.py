"""Grids of heads: a panel for each measure, the largest framed, on scales that can be compared."""

import re
from typing import Any

import numpy as np

from saccade.view import render
from saccade.view.drawings.head_grid import DRAWING, drawn, every, grids, on_page
from saccade.view.head_measures import summed
from saccade.view.trace import Look, Scene

from ..traces import large, layered, plain


def test_every_measure_has_a_panel_and_names_its_largest_head() -> None:
    scene = layered()
    drawing = render.svg(scene, drawing="head_grid")
    for name in ("previous", "same", "next", "first", "separator", "entropy", "distance"):
        assert f">{name}</text>" in drawing
    assert ">most 1.000 in 2.1</text>" in drawing
    one = drawn(summed([scene]), "title", measure="next")
    assert one.count("most ") == 1


def test_shares_have_one_scale() -> None:
    (grid,) = grids(summed([layered()]))
    assert grid.most("previous") == grid.most("next") == 1.0
    assert grid.most("entropy") == np.nanmax(grid.values["entropy"]) > 1
    assert grid.largest("previous") == (2, 1)
    assert grid.values["previous"].shape == (3, 2)


def test_layers_may_have_different_numbers_of_heads() -> None:
    scene = layered()
    fewer = Look("self-attention, layer 4", "input", "input", scene.looks[0].weights[:1])
    (grid,) = grids(summed([Scene("t", scene.axes, [*scene.looks, fewer])]))
    assert np.isnan(grid.values["same"][3]).tolist() == [False, True]
    assert "<svg" in drawn(summed([Scene("t", scene.axes, [*scene.looks, fewer])]), "t")


def test_the_terminal_has_a_line_for_each_head() -> None:
    lines = render.terminal(layered(), drawing="head_grid", color=False, width=100).splitlines()
    assert [line.split()[0] for line in lines[-6:]] == ["1.0", "1.1", "2.0", "2.1", "3.0", "3.1"]
    assert len(every(summed([layered()]))) == 6


def test_the_page_knows_which_look_a_cell_opens() -> None:
    stacks: Any = on_page(layered())["stacks"]
    assert stacks[0]["looks"] == [0, 1, 2]
    assert stacks[0]["values"]["previous"][1][1] == 1.0
    several: Any = on_page(plain())["stacks"]
    assert [(one["name"], one["looks"]) for one in several] == [("cross", [0]), ("self", [1])]


def test_it_is_for_several_heads_within_a_text() -> None:
    assert DRAWING.fits(layered(), layered().looks[0])
    for scene in (plain(), large(4)):
        assert not DRAWING.fits(scene, scene.looks[0])


def test_many_layers_stay_readable() -> None:
    """Not every number stands beside a grid of 48 layers of 25 heads."""
    weights = np.full((25, 5, 5), 0.2, np.float32)
    axes = layered().axes
    looks = [Look(f"a, layer {number}", "input", "input", weights) for number in range(1, 49)]
    drawing = drawn(summed([Scene("t", {"input": axes["input"]}, looks)]), "t", measure="same")
    assert re.findall(r'text-anchor="end">(\d+)<', drawing)[:3] == ["1", "5", "9"]
    assert float(re.findall(r'height="([\d.]+)"', drawing)[0]) < 620
