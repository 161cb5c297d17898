"""All looks and heads, small: each in its row, all on one scale, attributions last and in colors of their own."""

import dataclasses
import re

import numpy as np

from saccade.view import render
from saccade.view.drawings import overview
from saccade.view.output.colors import hexadecimal, ramp
from saccade.view.trace import Axis, Look, Scene

from ..traces import bag, large, marked, plain

CELLS = re.compile(r'<g transform="translate.*?</g>', re.DOTALL)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_every_head_of_every_look_is_there() -> None:
    assert len(CELLS.findall(render.svg(plain(), drawing="overview"))) == 3
    drawing = render.svg(marked(), drawing="overview")
    assert len(CELLS.findall(drawing)) == 4
    assert (
        drawing.index(">cross-attention<") < drawing.index(">rollout<") < drawing.index(">gradient × input (attribution)<")
    )
    assert "3 looks, 2 heads; most focused: rollout" in drawing


def test_heads_are_on_one_scale() -> None:
    first, second, _ = CELLS.findall(render.svg(plain(), drawing="overview"))
    assert hexadecimal(ramp(1.0)) in first
    assert hexadecimal(ramp(1.0)) not in second
    assert hexadecimal(ramp(0.5)) in second


def test_a_flat_look_says_so() -> None:
    axes = {"q": Axis("words", list("abc"))}
    flat, sharp = np.full((1, 3, 3), 1 / 3, np.float32), np.eye(3, dtype=np.float32)[None]
    scene = Scene("t", axes, [Look("one", "q", "q", flat), Look("two", "q", "q", sharp)])
    assert "one, nearly uniform" in render.svg(scene, drawing="overview")
    assert "two, nearly" not in render.svg(scene, drawing="overview")


def test_a_large_look_is_pooled_and_keeps_its_line() -> None:
    scene = large(300)
    two = dataclasses.replace(scene, looks=[*scene.looks, dataclasses.replace(scene.looks[0], name="layer 1")])
    assert len(render.svg(two, drawing="overview")) < 60_000
    ((_, (pooled,)), _) = overview.maps(two)
    assert pooled.shape == (32, 32)
    assert pooled.diagonal().min() > 0.03 > 1e-6 > pooled[0, -1]


def test_the_terminal_shows_small_maps_side_by_side() -> None:
    lines = render.terminal(plain(), drawing="overview", color=False, width=60).splitlines()
    at = lines.index("cross")
    assert lines[at + 1].split() == ["head", "0", "head", "1"]
    assert [line[:4] for line in lines[at + 2 : at + 5]] == ["█   ", " █  ", "  █ "]
    assert lines[at + 5] == "self"
    for shown in (plain(), marked(), bag(12, (3, 4)), large(100)):
        if overview.DRAWING.fits(shown, shown.looks[0]):
            for line in render.terminal(shown, drawing="overview", color=True, width=40).splitlines():
                assert len(ANSI.sub("", line)) <= 40


def test_one_head_alone_needs_no_overview() -> None:
    assert not overview.DRAWING.fits(large(4), large(4).looks[0])
