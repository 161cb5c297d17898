"""Heat maps in the terminal and as SVG: what is drawn, what fits, and that labels are only text."""

import io
import re
import subprocess
import sys
import unicodedata
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from saccade.view.drawings import heatmap
from saccade.view.output import display_text, scales
from saccade.view.output.colors import SIGNED, hexadecimal, ramp
from saccade.view.output.svg_layout import Marks

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


def test_view_needs_no_torch() -> None:
    check = "import sys, saccade.view; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_legend_tells_the_smallest_and_the_largest_number() -> None:
    line = heatmap.terminal([[0.125, 0.5], [0.25, 0.8765]], color=False, width=60).splitlines()[-1]
    assert line.startswith("0 ")
    assert line.endswith(" max 0.88, min 0.12")
    line = heatmap.terminal([[0.001, 0.5], [0.25, 0.8765]], color=False, width=60).splitlines()[-1]
    assert line.startswith("min 0.001 ")
    assert line.endswith(" max 0.88")
    assert heatmap.terminal([[0.3, 0.3]], color=False, width=60).splitlines()[-1] == "every number is 0.3"


def test_a_nearly_uniform_map_looks_uniform() -> None:
    """Colors begin at 0: weights that differ by little have colors that differ by little."""
    flat = 0.2 + 0.001 * np.arange(25.0).reshape(5, 5) / 25
    shades = {cell for line in heatmap.terminal(flat, color=False, width=60).splitlines()[2:-2] for cell in line[3:13]}
    assert shades == {"█"}
    fills = re.findall(r'fill="#(\w{6})"', heatmap.svg(flat).partition("crispEdges")[2].partition("</g>")[0])
    channels = [[int(fill[place : place + 2], 16) for place in (0, 2, 4)] for fill in fills]
    assert channels
    assert np.ptp(channels, axis=0).max() < 5


NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{NAMESPACE}text")]


def all_numbers_are_finite(picture: str) -> bool:
    values = (value for element in ElementTree.fromstring(picture).iter() for value in element.attrib.values())
    return not any("nan" in value or "inf" in value for value in values)


def test_heatmap_has_its_labels_title_and_extreme_colors() -> None:
    picture = heatmap.svg([[0, 0.5], [0.2, 1]], rows=["un", "deux"], columns=["a", "b"], title="Looks")
    assert {"un", "deux", "a", "b", "Looks"} <= set(texts(picture))
    assert hexadecimal(ramp(0.0)) in picture
    assert hexadecimal(ramp(1.0)) in picture


def test_hostile_labels_are_text() -> None:
    labels = ["</text><script>alert(1)</script>", "&lt; ]]> \x1b[0m", "\ud800\x00", "\u202egpj"]
    picture = heatmap.svg(np.eye(4), rows=labels, columns=labels, title='"><script/>' + "".join(labels))
    assert {element.tag for element in ElementTree.fromstring(picture).iter()} <= {
        NAMESPACE + name for name in ("svg", "title", "rect", "g", "path", "text")
    }
    assert "&lt; ]]> \\x1b[0m" in texts(picture)
    assert "\\ud800\\x00" in texts(picture)
    assert "\\u202egpj" in texts(picture)


def test_cells_of_one_color_share_one_path() -> None:
    paths = ElementTree.fromstring(heatmap.svg(np.eye(40))).findall(f".//{NAMESPACE}path")
    assert [path.get("d", "").count("M") for path in paths[:2]] == [78, 40]


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 8))), st.text(max_size=30))
def test_any_matrix_and_label_give_well_formed_xml(weights: scales.Floats, label: str) -> None:
    assert all_numbers_are_finite(heatmap.svg(weights, rows=[label] * len(weights), title=label))


def test_signed_weights_have_0_in_the_middle() -> None:
    values = [[-1.0, 0.0, 0.5]]
    plain = heatmap.terminal(values, color=False, width=40, signed=True)
    assert body(plain) == ["█-  ▒▒"]
    assert "min -1" in plain
    assert "max 1" in plain
    fills = re.findall(r'fill="(#\w+)"', heatmap.svg(values, signed=True).split("<g ")[1])
    assert fills[:3] == [hexadecimal(ramp(level, SIGNED)) for level in (0.0, 0.5, 0.75)]
    wide = np.zeros((1, 300))
    wide[0, 7], wide[0, 200] = -1.0, 0.25
    assert "█-" in heatmap.terminal(wide, color=False, width=40, signed=True)  # pooling keeps what is far below 0


def test_short_names_of_columns_are_read_from_left_to_right() -> None:
    upright, standing = (heatmap.svg(np.eye(3), columns=names) for names in (["ab", "cde", "f"], ["a" * 15] * 3))
    assert "rotate" not in upright
    assert standing.count("rotate(-90") == 3
    assert heatmap.svg(np.eye(30), columns=["abc"] * 30).count("rotate(-90") == 30  # 30 columns have no room


def test_places_are_marked() -> None:
    marks = Marks({1}, {0}, ["97%", "3%"], ["#111111", "#222222"], [], {"one": "#111111", "two": "#222222"})
    root = ElementTree.fromstring(heatmap.svg(np.eye(2), rows=["a", "b"], columns=["c", "d"], marks=marks))
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert [each.text for each in texts if "text-decoration" in each.attrib] == ["b", "c"]
    assert {"97%", "3%", "one", "two"} <= {each.text for each in texts}
    strips = [each.attrib["fill"] for each in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert strips == ["#111111", "#222222"]
    lines = heatmap.terminal(np.eye(2), rows=["a", "b"], beside=["97%", "3%"], color=False, width=40).splitlines()
    assert [line[-4:] for line in lines if "│" in line] == [" 97%", "  3%"]


def test_the_paper_is_as_wide_as_the_title() -> None:
    widths = []
    for title in ("short", "w" * 60, "w" * 200):
        drawing = heatmap.svg([[0.5, 0.5]], title=title)
        widths.append(float(ElementTree.fromstring(drawing).attrib["width"]))
    assert widths[0] < 300
    assert widths[1] > 60 * 9
    assert 80 * 9 < widths[2] < 1000  # what is longer than 80 columns is cut
