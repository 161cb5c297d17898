"""One look of a scene in the terminal, as SVG and as PNG: which look and head is drawn, and that labels are only text."""

import base64
import io
import json
import math
import re
import struct
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import UnknownName, UsageError
from saccade.view import html_page, render, trace_file
from saccade.view.drawings import heatmap
from saccade.view.drawings.figure import Figure
from saccade.view.html_page import html
from saccade.view.output import colors, display_text
from saccade.view.output.colors import ramp
from saccade.view.output.screen import this_screen
from saccade.view.trace import Axis, Look, Scene, Trace

from .traces import HOSTILE, bag, document, hostile, hostile_ones, plain, trace

SVG = "{http://www.w3.org/2000/svg}"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def places(image: Image.Image, color: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return np.argwhere((np.asarray(image) == color).all(-1))


def test_terminal_names_the_look_and_shows_spaces() -> None:
    lines = render.terminal(plain(), head=0, color=False, width=80).splitlines()
    assert lines[:3] == [
        "ab → xyz",
        "cross · head 0 of 0–1 · down: written (characters) · across: source (characters)",
        "score: -0.125 · group: en",
    ]
    assert lines[3] == f"   a ␣ م{display_text.LEFT_TO_RIGHT} 漢"
    assert [line.split("│")[1] for line in lines if "│" in line] == ["██      ", "  ██    ", "    ██  "]


def test_what_is_shown_is_told_on_several_lines_where_one_has_no_room() -> None:
    lines = render.terminal(plain(), color=False, width=44).splitlines()
    assert lines[1:4] == ["cross · mean of 2 heads", "down: written (characters)", "across: source (characters)"]


def test_heads_are_averaged_and_it_is_said() -> None:
    for drawing in (render.terminal(plain(), color=False, width=80), "\n".join(texts(render.svg(plain())))):
        assert "mean of 2 heads" in drawing
    assert "head" not in render.terminal(plain(), "self", color=False, width=80)
    assert np.allclose(Figure(plain(), plain().looks[0]).weights[0], [0.625, 0, 0, 0.25])


def test_unknown_looks_and_heads_are_told_what_exists() -> None:
    with pytest.raises(UnknownName, match="unknown look 'crss'; did you mean 'cross'"):
        render.terminal(plain(), "crss")
    with pytest.raises(UsageError, match="look 'cross' has heads 0 to 1, got head 2"):
        render.svg(plain(), head=2)
    with pytest.raises(UsageError, match="look 'self' has only head 0, got head -1"):
        render.png(plain(), "self", head=-1)
    with pytest.raises(UsageError, match="width of at least"):
        render.terminal(plain(), width=3)


def test_without_unicode_the_terminal_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    for shown in (plain(), document(), bag(70), bag(12, (3, 4)), bag(3, images=False)):
        assert render.terminal(shown, color=False, width=80).isascii()


def test_svg_has_title_notes_and_labels() -> None:
    assert {"ab → xyz", "score: -0.125 · group: en", "␣", "م", "漢", "x"} <= set(texts(render.svg(plain())))


def test_counting_labels_are_a_ruler() -> None:
    side = Axis("frames", [str(place) for place in range(200)])
    frames = Scene("t", {"f": side}, [Look("l", "f", "f", np.eye(200, dtype=np.float32)[None])])
    assert {"0", "100", "180"} <= set(texts(render.svg(frames)))
    assert len(render.terminal(frames, color=False, width=60).splitlines()) < 60
    assert opened(render.png(frames, scale=1)).width > 400


def test_hostile_text_is_only_text() -> None:
    picture = render.svg(hostile())
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "text"}
    for color in (True, False):
        drawing = ANSI.sub("", render.terminal(hostile(), color=color, width=100)).replace("\n", "")
        assert all(unicodedata.category(letter) not in display_text.HIDDEN for letter in drawing)
    assert opened(render.png(hostile())).width < 4000


@pytest.mark.parametrize("number", range(8))
def test_hostile_text_is_only_text_in_every_drawing(number: int) -> None:
    one = hostile_ones()[number]
    root = ElementTree.fromstring(render.svg(one))
    elements = list(root.iter())
    assert {each.tag.removeprefix(SVG) for each in elements} <= {
        "svg",
        "title",
        "rect",
        "g",
        "path",
        "text",
        "circle",
        "image",
    }
    addresses = [value for each in elements for key, value in each.attrib.items() if key.endswith("href")]
    assert all(value.startswith("data:image/png;base64,") for value in addresses)
    assert not [key for each in elements for key in each.attrib if key.startswith("on")]
    for color in (True, False):
        drawing = ANSI.sub("", render.terminal(one, color=color, width=100)).replace("\n", "")
        assert all(unicodedata.category(letter) not in display_text.HIDDEN for letter in drawing)
    assert opened(render.png(one, scale=1)).width < 1000
    page = html(trace(one))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert HOSTILE[0] not in page


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_png_cells_have_their_colors(scale: int) -> None:
    image = opened(render.png(plain(), head=0, scale=scale))
    found = places(image, ramp(1.0).tolist())
    top, left = found.min(0)
    side = 24 * scale
    for query, key in np.ndindex(3, 4):
        pixel = image.getpixel((int(left) + key * side + side // 2, int(top) + query * side + side // 2))
        assert list(pixel or ()) == ramp(float(query == key)).tolist()  # type: ignore[arg-type]
    assert places(image, ramp(0.0).tolist())[:, 1].max() > left + 4 * side  # the color bar


def test_png_is_pooled_by_the_largest() -> None:
    weights = np.zeros((1, 1000, 1000), dtype=np.float32)
    weights[0, 700, 300] = 1.0
    side = Axis("words", [f"word {place}" for place in range(1000)])
    image = opened(render.png(Scene("t", {"s": side}, [Look("l", "s", "s", weights)]), scale=1))
    assert max(image.size) < 900
    assert len(places(image, ramp(1.0).tolist())) >= 9


def test_png_scale_has_limits() -> None:
    with pytest.raises(UsageError, match="scale from 1 to 8, got 0"):
        render.png(plain(), scale=0)


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


def color_of(share: float) -> list[int]:
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
    looks = embedded(html(Trace("s", [made(numbers)])))["scenes"][0]["looks"]
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
    """Numbers as shares of the way from 0, or the smallest if below, to the largest."""
    low, high = min(0.0, values.min()), values.max()
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
        assert color == pytest.approx(color_of(unit[place]), abs=10), place  # there are fewer colors than numbers


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
    assert re.search(rf"min {values.min():.2g}\b", drawn)
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
            assert np.array(found) == pytest.approx(np.array([color_of(share) for share in row]), abs=1)
