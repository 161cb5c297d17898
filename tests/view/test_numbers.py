"""What is shown are the weights, to the digits, levels and colors that each form has: read back here by other means."""

import base64
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.view import html_page, render, trace_file
from saccade.view.drawings import bars, heatmap, neighborhood
from saccade.view.html_page import html as page
from saccade.view.output import colors
from saccade.view.output.screen import this_screen
from saccade.view.trace import Axis, Look, Scene, Trace

DICE = np.random.default_rng(0)


def weights(kind: str, heads: int = 2, rows: int = 5, columns: int = 7) -> Any:
    """Numbers between 0 and 1, of a narrow range, of both signs, tiny, or all alike."""
    drawn = DICE.random((heads, rows, columns))
    made = {
        "shares": drawn / drawn.sum(-1, keepdims=True),
        "narrow": 0.25 + 1e-4 * drawn,
        "signed": 20 * drawn - 10,
        "tiny": 1e-30 * drawn,
        "alike": np.full_like(drawn, 0.125),
    }
    return made[kind].astype(np.float32)


def made(numbers: Any) -> Scene:
    axes = {"read": Axis("words", [f"k{i}" for i in range(numbers.shape[2])])}
    axes["written"] = Axis("words", [f"q{i}" for i in range(numbers.shape[1])])
    return Scene("a title", axes, [Look("first", "written", "read", numbers), Look("other", "written", "read", -numbers)])


KINDS = pytest.mark.parametrize("kind", ["shares", "narrow", "signed", "tiny", "alike"])


def one(pattern: str, text: str) -> str:
    """What stands in the brackets of a pattern."""
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None
    return str(found.group(1))


def ramp(share: float) -> list[int]:
    """The color so far along the anchors, channel by channel."""
    place = share * (len(colors.ANCHORS) - 1)
    low = min(int(place), len(colors.ANCHORS) - 2)
    pairs = zip(colors.ANCHORS[low], colors.ANCHORS[low + 1], strict=True)
    return [round(float(a + (b - a) * (place - low))) for a, b in pairs]


def embedded(text: str) -> Any:
    """The data in a page."""
    return json.loads(one(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text))


def unpacked(look: dict[str, Any]) -> Any:
    """The weights as the page has them, (H, Q, K), one number after the other."""
    size, letter = (2, "H") if look["bits"] == 16 else (1, "B")
    step = (look["high"] - look["low"]) / (2 ** look["bits"] - 1)
    heads = []
    for text in look["weights"]:
        raw = base64.b64decode(text)
        heads.append([look["low"] + step * whole for whole in struct.unpack(f"<{len(raw) // size}{letter}", raw)])
    return np.array(heads).reshape(-1, *look["shape"])


@KINDS
@pytest.mark.parametrize("bits", [8, 16])
def test_a_page_holds_every_weight(kind: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As near as half a step of the whole numbers between the smallest and the largest."""
    monkeypatch.setattr(html_page, "FINE", 5 * 7 if bits == 16 else 5 * 7 - 1)
    numbers = weights(kind)
    looks = embedded(page(Trace("s", [made(numbers)])))["scenes"][0]["looks"]
    for look, wanted in zip(looks, (numbers, -numbers), strict=True):
        assert look["bits"] == bits
        assert (look["low"], look["high"]) == (float(wanted.min()), float(wanted.max()))
        half = (look["high"] - look["low"]) / (2**bits - 1) / 2
        np.testing.assert_allclose(unpacked(look), wanted.astype(float), atol=half * 1.0001 + 1e-45, rtol=0)
        assert unpacked(look).argmax() == wanted.argmax()


@KINDS
def test_a_file_holds_every_bit(kind: str, tmp_path: Path) -> None:
    numbers = weights(kind)
    trace_file.save(Trace("s", [made(numbers)]), tmp_path / "t.safetensors")
    for look, wanted in zip(trace_file.load(tmp_path / "t.safetensors").scenes[0].looks, (numbers, -numbers), strict=True):
        assert look.weights is not None
        assert look.weights.dtype == np.float32
        assert look.weights.tobytes() == wanted.tobytes()
    raw = (tmp_path / "t.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    first, last = header["weights.0"]["data_offsets"]
    assert raw[8 + size + first : 8 + size + last] == numbers.tobytes()


def shown(numbers: Any, head: int | None) -> Any:
    """What a picture is of, as plain loops have it: a head, or the mean of all."""
    heads = [head] if head is not None else range(len(numbers))
    return np.array([[math.fsum(float(numbers[h][q][k]) for h in heads) / len(heads) for k in range(7)] for q in range(5)])


def levels(values: Any) -> Any:
    """Numbers as shares of the way from the smallest to the largest; in the middle if they are alike."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.full(values.shape, np.nan)


@pytest.mark.parametrize("kind", ["shares", "narrow", "signed", "tiny"])
@pytest.mark.parametrize("head", [None, 0, 1])
def test_cells_of_svg_have_the_colors_of_their_weights(kind: str, head: int | None) -> None:
    numbers = weights(kind)
    drawn = render.svg(matrix(numbers), head=head)
    cells = one(r'<g transform="[^"]*" shape-rendering="crispEdges">(.*?)</g>', drawn)
    found: dict[tuple[int, int], str] = {}
    for path in re.findall(r"<path [^>]*>", cells):
        for column, row, size in re.findall(r"M(\d+) (\d+)h(\d+)", path):
            for step in range(int(size)):
                found[int(row), int(column) + step] = one(r'fill="(#\w+)"', path)
    unit = levels(shown(numbers, head))
    assert len(found) == unit.size
    for place, fill in found.items():
        color = [int(fill[i : i + 2], 16) for i in (1, 3, 5)]
        assert color == pytest.approx(ramp(unit[place]), abs=10), place  # there are fewer colors than numbers


def matrix(numbers: Any) -> Scene:
    """A scene that is drawn as a matrix."""
    given = made(numbers)
    axes = {name: Axis("characters", axis.labels) for name, axis in given.axes.items()}
    return Scene(given.title, axes, given.looks)


@pytest.mark.parametrize("kind", ["shares", "narrow", "signed"])
@pytest.mark.parametrize("head", [None, 1])
def test_cells_of_the_terminal_have_the_shades_of_their_weights(kind: str, head: int | None) -> None:
    numbers = weights(kind)
    drawn = render.terminal(matrix(numbers), head=head, color=False, width=100)
    shades = this_screen(False, 100).glyphs.shades
    values = shown(numbers, head)
    unit = levels(values)
    for row in range(5):
        (line,) = [line for line in drawn.splitlines() if re.match(rf"\s*q{row}\b", line)]
        cells = line[line.index(f"q{row}") + 2 :].strip("│| ")
        wanted = "".join(shades[min(int(share * len(shades)), len(shades) - 1)] * 2 for share in unit[row])
        assert wanted.strip() in line, cells
    assert f"min {values.min():.2g} " in drawn
    assert f"max {values.max():.2g}" in drawn


@pytest.mark.parametrize("color", [False, True])
def test_colors_of_the_terminal_are_those_of_the_weights(color: bool) -> None:
    numbers = weights("shares")
    drawn = heatmap.terminal(numbers[0], color=color, width=100)
    assert ("\x1b[48;2;" in drawn) == color
    if color:
        lines = [line for line in drawn.splitlines() if "\x1b[48;2;" in line][:5]
        wanted = levels(numbers[0].astype(float))
        for line, row in zip(lines, wanted, strict=True):
            runs = re.findall(r"\x1b\[48;2;(\d+);(\d+);(\d+)m( +)", line)
            found = [tuple(map(int, run[:3])) for run in runs for _ in range(len(run[3]) // 2)]
            assert np.array(found) == pytest.approx(np.array([ramp(share) for share in row]), abs=1)


NUMBERS = [0.0, 0.12345, 0.9996, 1.0, 0.00049, 1e-12, -0.25, 12.3456, 123456.0]
TOLD = ["0.000", "0.123", "1.000", "1.000", "4.9e-04", "1.0e-12", "-0.250", "12.346", "1.2e+05"]


def test_bars_tell_their_weights() -> None:
    assert [bars.written(number) for number in NUMBERS] == TOLD
    names = [f"n{place}" for place in range(len(NUMBERS))]
    screen = this_screen(False, 90)
    lines = bars.terminal(names, NUMBERS, screen).splitlines()
    assert [line.split()[:2] for line in lines] == [list(pair) for pair in zip(names, TOLD, strict=True)]


def test_bars_are_as_long_as_their_weights() -> None:
    numbers = DICE.random(8).tolist()
    names = [f"n{place}" for place in range(8)]
    screen = this_screen(False, 200)
    full = screen.glyphs.shades[-1]
    sizes = [line.count(full) for line in bars.terminal(names, numbers, screen).splitlines()]
    room = 200 - 2 - 5 - 5
    assert sizes == [round(room * number / max(numbers)) for number in numbers]
    drawn = bars.svg(names, numbers, "t", [], "things")
    tall = [float(one(r'height="([\d.]+)"', rect)) for rect in re.findall(r"<rect [^>]*>", drawn)[-8:]]
    assert tall == pytest.approx([max(tall) * number / max(numbers) for number in numbers], abs=0.02)
    assert f">{max(numbers):.3f}<" in drawn


def test_neighbors_tell_their_weights() -> None:
    numbers = [0.1234, 0.3456, 0.0501, 0.4809]
    names = ["own", "one", "two", "three"]
    drawn = re.sub(r"<[^>]*>", "|", neighborhood.svg(names, numbers, "t"))
    assert "itself 0.123" in drawn
    for name, number in zip(names[1:], numbers[1:], strict=True):
        assert f"{name} {number:.3f}" in drawn
    listed = neighborhood.terminal(names, numbers, this_screen(False, 90)).splitlines()
    told = {words[-2]: words[-1] for line in listed if len(words := re.findall(r"[\w.]+", line)) >= 2}
    assert {name: told[name] for name in names[1:]} == {"one": "0.346", "two": "0.050", "three": "0.481"}
