"""Colors: what is looked at more is lighter, from one end of the ramp to the other, and what is no number is gray."""

import numpy as np

from saccade.view.output.colors import (
    ANCHORS,
    DISTINCT,
    MISSING,
    PAPER,
    SIGNED,
    WORD,
    class_colors,
    hexadecimal,
    lightness,
    ramp,
    tint,
)


def test_more_is_lighter() -> None:
    colors = ramp(np.linspace(0, 1, 101))
    assert (colors[0].tolist(), colors[-1].tolist()) == (ANCHORS[0].tolist(), ANCHORS[-1].tolist())
    assert (np.diff(lightness(colors)) > 0).all()
    assert (ramp([-3.0, 2.0]) == ramp([0.0, 1.0])).all()
    assert ramp([0.5, np.nan])[1].tolist() == list(MISSING)


def test_a_tint_goes_from_paper_to_its_color() -> None:
    assert tint(0.0).tolist() == list(PAPER)
    assert tint(1.0).tolist() == list(WORD)
    assert tint(0.5).tolist() == [round((a + b) / 2) for a, b in zip(PAPER, WORD, strict=True)]


def test_a_color_is_written_red_first() -> None:
    assert hexadecimal((255, 16, 1)) == "#ff1001"


def test_below_and_above_0_darken_away_from_the_middle() -> None:
    light = lightness(ramp(np.linspace(0, 1, 101), SIGNED))
    assert (np.diff(light[:51]) > 0).all()
    assert (np.diff(light[50:]) < 0).all()


def test_classes_have_colors_by_name_and_the_last_of_many_share_gray() -> None:
    assert class_colors(["b", "a", "b"]) == {"a": DISTINCT[0], "b": DISTINCT[1]}
    many = class_colors([f"{number:02}" for number in range(11)])
    assert [*many.values()][8:] == [hexadecimal(MISSING)] * 3
