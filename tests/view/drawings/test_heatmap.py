"""Terminal pictures: what is drawn, what fits, and what a hostile label cannot do."""

import io
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from saccade.view.charts.curve import curve
from saccade.view.drawings import heatmap
from saccade.view.output import display_text, scales
from saccade.view.output.colors import ANCHORS, lightness, ramp

ANSI = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = ["\x1b[31mred", "a\nb", "a\rb", "\u202egpj.exe", "\ud800", "\x00", "\u2028", "\x9b2J", "\ufffe"]


def body(drawing: str) -> list[str]:
    """The rows of cells, without frame and display_text."""
    return [line.split("│")[1] for line in drawing.splitlines() if "│" in line]


def columns(line: str) -> int:
    return display_text.columns(ANSI.sub("", line))


def test_shades_follow_the_weights() -> None:
    drawing = heatmap.terminal([[0.0, 0.25, 0.5], [0.75, 1.0, np.nan]], color=False, width=40)
    assert body(drawing) == ["  ░░▒▒", "▓▓██? "]
    assert drawing.splitlines()[-1].startswith("min 0 ")
    assert drawing.splitlines()[-1].endswith("max 1")


def test_color_is_truecolor_background_and_always_reset() -> None:
    drawing = heatmap.terminal([[0.0, 1.0]], color=True, width=40)
    low, high = ramp([0.0, 1.0]).tolist()
    for red, green, blue in (low, high):
        assert f"\x1b[48;2;{red};{green};{blue}m  \x1b[0m" in drawing
    assert ANSI.sub("", drawing).count("\x1b") == 0


def test_names_stand_over_their_columns_and_before_their_rows() -> None:
    lines = heatmap.terminal(np.eye(2), rows=["un", "deux"], columns=["a", "bc"], color=False, width=40).splitlines()
    assert lines[:2] == [" " * 8 + "b", " " * 6 + "a c"]
    assert lines[3:5] == ["  un │██  │", "deux │  ██│"]


def test_numbers_are_a_ruler() -> None:
    first, *_ = heatmap.terminal(np.eye(21), columns=np.linspace(0, 2, 21), color=False, width=60).splitlines()
    assert first.split() == ["0.0", "0.5", "1.0", "1.5", "2.0"]


@pytest.mark.parametrize("named", [True, False])
def test_a_wide_matrix_is_pooled_by_its_largest_cell(named: bool) -> None:
    weights = np.zeros((30, 500))
    weights[7, 301] = 1.0
    drawing = heatmap.terminal(weights, rows=[f"row {i}" for i in range(30)] if named else None, color=False, width=80)
    assert max(map(columns, drawing.splitlines())) <= 80
    assert sum(row.count("██") for row in body(drawing)) == 1
    assert (len(body(drawing)) == 30) == named
    assert "30×500 drawn as" in drawing


@pytest.mark.parametrize("label", HOSTILE)
@pytest.mark.parametrize("color", [True, False])
def test_hostile_labels_are_shown_as_escapes(label: str, color: bool) -> None:
    drawing = heatmap.terminal([[0.5]], rows=[label], columns=[label], color=color, width=60)
    plain = ANSI.sub("", drawing) if color else drawing
    assert all(unicodedata.category(letter) not in display_text.HIDDEN for letter in plain.replace("\n", ""))
    assert display_text.visible(label) in plain
    assert "\\" in display_text.visible(label)


@given(text=st.text(max_size=40), width=st.integers(16, 100))
def test_any_label_stays_on_its_line_and_in_its_width(text: str, width: int) -> None:
    drawing = heatmap.terminal([[0.1, 0.9]], rows=[text], columns=[text, "b"], color=False, width=width)
    assert all(columns(line) <= width for line in drawing.split("\n"))
    assert all(
        unicodedata.category(letter) not in display_text.HIDDEN
        for letter in set(drawing) - {"\n", display_text.LEFT_TO_RIGHT, *display_text.JOINERS}
    )


@given(
    weights=arrays.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 60))),
    color=st.booleans(),
    width=st.integers(16, 100),
)
def test_any_matrix_can_be_drawn(weights: scales.Floats, color: bool, width: int) -> None:
    drawing = heatmap.terminal(weights, color=color, width=width)
    assert all(columns(line) <= width for line in drawing.splitlines())


def test_long_labels_are_cut() -> None:
    assert display_text.fit("attention", 5) == "atte…"
    assert display_text.fit("漢字漢字", 5) == "漢字…"
    assert display_text.fit("e\u0301" * 3, 3) == "e\u0301" * 3
    assert display_text.columns(display_text.fit("e" + "\u0301" * 10_000, 5)) <= 5
    assert display_text.fit("néon", 10, ascii_only=True) == "n\\xe9on"


@pytest.mark.parametrize("bad", [[1.0, 2.0], np.zeros((0, 3)), np.zeros((2, 2, 2))])
def test_what_is_not_a_matrix_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match=r"expected a matrix .* got shape"):
        heatmap.terminal(bad)  # type: ignore[arg-type]


def test_labels_must_match_and_the_width_must_do() -> None:
    with pytest.raises(ValueError, match="expected 2 column labels, one per column, got 3"):
        heatmap.terminal(np.eye(2), columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="at least 16 columns, got 3"):
        heatmap.terminal(np.eye(2), width=3)


class Terminal(io.StringIO):
    """A standard output that is a terminal, of an encoding."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "value", "colored"),
    [("TERM", "xterm", True), ("NO_COLOR", "", True), ("NO_COLOR", "1", False), ("TERM", "dumb", False)],
)
def test_color_asks_the_terminal(monkeypatch: pytest.MonkeyPatch, name: str, value: str, colored: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert ("\x1b" in heatmap.terminal(np.eye(2))) == colored


def test_without_unicode_everything_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Terminal()
    output.encoding = "ascii"
    monkeypatch.setattr(sys, "stdout", output)
    assert heatmap.terminal(np.eye(300), rows=["é…" * 40] * 300, color=False, width=40).isascii()
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
def test_any_curve_can_be_drawn(numbers: scales.Floats, width: int, color: bool) -> None:
    drawing = curve(*numbers, width=width, height=8, color=color)
    assert all(columns(line) <= width for line in drawing.splitlines())


def test_curve_refuses_sequences_of_two_lengths() -> None:
    with pytest.raises(ValueError, match="expected x and y of one length, got shapes"):
        curve([1, 2], [1], [0], [0])


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(2, 20))
def test_ticks_are_few_and_inside(one: float, other: float, count: int) -> None:
    low, high = sorted((one, other))
    found = scales.ticks(low, high, count)
    assert len(found) <= count + 1
    slack = 0.005 * (high - low) + 1e-9 * max(abs(low), abs(high))
    assert np.all((found >= low - slack) & (found <= high + slack))
    assert len(found) > 1 or high - low < 1e-290


def test_ramp_grows_lighter_all_the_way() -> None:
    assert np.all(np.diff(lightness(ramp(np.linspace(0, 1, 200)))) >= -0.002)
    assert np.all(np.diff(lightness(ANCHORS)) > 0)
    assert ramp(np.nan).tolist() == [150, 150, 150]


def test_view_needs_no_torch() -> None:
    check = "import sys, saccade.view; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_legend_tells_the_smallest_and_the_largest_number() -> None:
    line = heatmap.terminal([[0.125, 0.5], [0.25, 0.8765]], color=False, width=60).splitlines()[-1]
    assert line.startswith("min 0.12 ")
    assert line.endswith(" max 0.88")
    assert heatmap.terminal([[0.3, 0.3]], color=False, width=60).splitlines()[-1] == "every number is 0.3"
