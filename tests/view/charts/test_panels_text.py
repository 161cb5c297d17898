"""The chart in the terminal: each curve where its numbers are, told apart by color or by letters."""

import pytest

from saccade.view.charts.panels_svg import run_color
from saccade.view.charts.panels_text import panels_text, rgb
from saccade.view.output import screen
from saccade.view.output.display_text import columns

from .panels_made import two_runs


def test_without_color_letters_tell_runs_apart() -> None:
    lines = panels_text(two_runs(), color=False, width=70).splitlines()
    assert lines[:2] == ["a runs/a (A: validation)", "b runs/<b> (B: validation)"]
    assert any("A" in line for line in lines[3:])
    first = lines[lines.index(next(line for line in lines if "loss" in line)) :][1:13]
    assert any("a" in line for line in first)
    assert any("b" in line for line in first)
    assert "×" in first[-1]
    assert lines[-1] == "× skipped: gradient not finite"
    assert all(columns(line) <= 70 for line in lines)


def test_heights_are_where_the_numbers_are() -> None:
    lines = panels_text(two_runs(), color=False, width=70).splitlines()
    start = next(number for number, line in enumerate(lines) if "exact match" in line) + 1
    drawn = [number for number, line in enumerate(lines[start : start + 12]) if any("⠁" <= letter <= "⣿" for letter in line)]
    assert (drawn[0], drawn[-1]) == (0, 11)
    left = next(line for line in lines[start + 11 :])
    right = next(line for line in lines[start:])
    assert len(left.rstrip()) < len(right.rstrip())  # it rises


def test_with_color_each_run_has_its_own() -> None:
    drawn = panels_text(two_runs(), color=True, width=70)
    for number in (0, 1):
        red, green, blue = rgb(run_color(number))
        assert f"\x1b[38;2;{red};{green};{blue}m" in drawn


def test_ascii_does_with_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "speaks_unicode", lambda: False)
    drawn = panels_text(two_runs(), color=False, width=60)
    assert drawn.isascii()
    assert "*" in drawn
