"""Bars: as long as their weights, with the numbers beside them."""

import re

import numpy as np
import pytest

from saccade.view.drawings import bars
from saccade.view.output.screen import this_screen

NUMBERS = [0.0, 0.12345, 0.9996, 1.0, 0.00049, 1e-12, -0.25, 12.3456, 123456.0]
TOLD = ["0.000", "0.123", "1.000", "1.000", "4.9e-04", "1.0e-12", "-0.250", "12.346", "1.2e+05"]


def test_bars_tell_their_weights() -> None:
    assert [bars.written(number) for number in NUMBERS] == TOLD
    names = [f"n{place}" for place in range(len(NUMBERS))]
    screen = this_screen(False, 90)
    lines = bars.terminal(names, NUMBERS, screen).splitlines()
    assert [line.split()[:2] for line in lines] == [list(pair) for pair in zip(names, TOLD, strict=True)]


def test_bars_are_as_long_as_their_weights() -> None:
    numbers = np.random.default_rng(0).random(8).tolist()
    names = [f"n{place}" for place in range(8)]
    screen = this_screen(False, 200)
    full = screen.glyphs.shades[-1]
    sizes = [line.count(full) for line in bars.terminal(names, numbers, screen).splitlines()]
    room = 200 - 2 - 5 - 5
    assert sizes == [round(room * number / max(numbers)) for number in numbers]
    drawn = bars.svg(names, numbers, "t", [], "things")
    tall = [float(re.findall(r' height="([\d.]+)"', rect)[0]) for rect in re.findall(r"<rect [^>]*>", drawn)[-8:]]
    assert tall == pytest.approx([max(tall) * number / max(numbers) for number in numbers], abs=0.02)
    assert f">{max(numbers):.3f}<" in drawn
