"""One look of a scene in the terminal, as SVG and as PNG: which look and head is drawn, and that labels are only text."""

import io
import re
import unicodedata
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import UnknownName, UsageError
from saccade.view import render
from saccade.view.drawings.figure import Figure
from saccade.view.html_page import html
from saccade.view.output import display_text
from saccade.view.output.colors import ramp
from saccade.view.trace import Axis, Look, Scene

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
