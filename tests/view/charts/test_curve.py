"""A curve through points in the terminal: points, line and axes, in braille or in ASCII."""

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from saccade.view.charts.curve import curve
from saccade.view.output import display_text
from saccade.view.output.scales import Floats

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def columns(line: str) -> int:
    return display_text.columns(ANSI.sub("", line))


def test_without_unicode_everything_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    drawing = curve([0, 1], [0, 1], [0, 0.5], [1, 0.2], color=False, width=40)
    assert drawing.isascii()
    assert drawing.count(".") >= 2
    assert "*" in drawing


def test_curve_shows_points_line_and_axes() -> None:
    lines = curve([1, 2, 3], [1, 3, 2], [0, 4], [0, 4], color=False, width=60, height=10).splitlines()
    assert len(lines) == 12
    assert sum(line.count("•") for line in lines) == 3
    assert any(0x2800 < ord(letter) <= 0x28FF for line in lines for letter in line)
    assert lines[-1].split() == ["0", "1", "2", "3", "4"]
    assert max(map(len, lines)) <= 60


@given(arrays.arrays(np.float64, (4, 7)), st.integers(16, 90), st.booleans())
def test_any_curve_can_be_drawn(numbers: Floats, width: int, color: bool) -> None:
    drawing = curve(*numbers, width=width, height=8, color=color)
    assert all(columns(line) <= width for line in drawing.splitlines())


def test_curve_refuses_sequences_of_two_lengths() -> None:
    with pytest.raises(ValueError, match="expected x and y of one length, got shapes"):
        curve([1, 2], [1], [0], [0])
