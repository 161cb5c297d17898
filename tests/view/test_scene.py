"""Pictures of a scene: terminal, SVG, PNG and files; which look and head is drawn, and what a hostile label cannot do."""

import io
import os
import re
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import DataError, UnknownName, UsageError
from saccade.view import fonts, labels, load, save_picture, scene
from saccade.view.colors import ramp
from saccade.view.html import html
from saccade.view.picture import picture
from saccade.view.png import text_image
from saccade.view.scene import png
from saccade.view.trace import Look, Scene, Side

from .traces import HOSTILE, bag, document, hostile, hostile_ones, large, plain, trace

SVG = "{http://www.w3.org/2000/svg}"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def places(image: Image.Image, color: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return np.argwhere((np.asarray(image) == color).all(-1))


def test_terminal_names_the_look_and_shows_spaces() -> None:
    lines = scene.terminal(plain(), head=0, color=False, width=80).splitlines()
    assert lines[:3] == [
        "ab → xyz",
        "cross · head 0 of 0–1 · down: written (characters) · across: source (characters)",
        "score: -0.125 · group: en",
    ]
    assert lines[3] == f"   a ␣ م{labels.LEFT_TO_RIGHT} 漢"
    assert [line.split("│")[1] for line in lines if "│" in line] == ["██      ", "  ██    ", "    ██  "]


def test_heads_are_averaged_and_it_is_said() -> None:
    for drawing in (scene.terminal(plain(), color=False, width=80), "\n".join(texts(scene.svg(plain())))):
        assert "mean of 2 heads" in drawing
    assert "head" not in scene.terminal(plain(), "self", color=False, width=80)
    assert np.allclose(picture(plain()).weights[0], [0.625, 0, 0, 0.25])


def test_unknown_looks_and_heads_are_told_what_exists() -> None:
    with pytest.raises(UnknownName, match="unknown look 'crss'; did you mean 'cross'"):
        scene.terminal(plain(), "crss")
    with pytest.raises(UsageError, match="look 'cross' has heads 0 to 1, got head 2"):
        scene.svg(plain(), head=2)
    with pytest.raises(UsageError, match="look 'self' has only head 0, got head -1"):
        png(plain(), "self", head=-1)
    with pytest.raises(UsageError, match="width of at least"):
        scene.terminal(plain(), width=3)


def test_without_unicode_the_terminal_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    for shown in (plain(), document(), bag(70), bag(12, (3, 4)), bag(3, pictures=False)):
        assert scene.terminal(shown, color=False, width=80).isascii()


def test_svg_has_title_notes_and_labels() -> None:
    assert {"ab → xyz", "score: -0.125 · group: en", "␣", "م", "漢", "x"} <= set(texts(scene.svg(plain())))


def test_counting_labels_are_a_ruler() -> None:
    side = Side("frames", [str(place) for place in range(200)])
    frames = Scene("t", {"f": side}, [Look("l", "f", "f", np.eye(200, dtype=np.float32)[None])])
    assert {"0", "100", "180"} <= set(texts(scene.svg(frames)))
    assert len(scene.terminal(frames, color=False, width=60).splitlines()) < 60
    assert opened(png(frames, scale=1)).width > 400


def test_hostile_text_is_only_text() -> None:
    picture = scene.svg(hostile())
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "text"}
    for color in (True, False):
        drawing = ANSI.sub("", scene.terminal(hostile(), color=color, width=100)).replace("\n", "")
        assert all(unicodedata.category(letter) not in labels.HIDDEN for letter in drawing)
    assert opened(png(hostile())).width < 4000


@pytest.mark.parametrize("number", range(6))
def test_hostile_text_is_only_text_in_every_drawing(number: int) -> None:
    one = hostile_ones()[number]
    root = ElementTree.fromstring(scene.svg(one))
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
        drawing = ANSI.sub("", scene.terminal(one, color=color, width=100)).replace("\n", "")
        assert all(unicodedata.category(letter) not in labels.HIDDEN for letter in drawing)
    assert opened(png(one, scale=1)).width < 1000
    page = html(trace(one))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert HOSTILE[0] not in page


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_png_cells_have_their_colors(scale: int) -> None:
    image = opened(png(plain(), head=0, scale=scale))
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
    side = Side("words", [f"word {place}" for place in range(1000)])
    image = opened(png(Scene("t", {"s": side}, [Look("l", "s", "s", weights)]), scale=1))
    assert max(image.size) < 900
    assert len(places(image, ramp(1.0).tolist())) >= 9


def test_letters_of_no_font_are_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (fonts.installed, fonts._path_for):
        function.cache_clear()
    monkeypatch.setattr(fonts, "directories", list)
    try:
        assert fonts.installed() == ()
        assert [(part, font is None) for part, font in fonts.runs("aم👍b", 12)] == [
            ("a", False),
            ("م", True),
            ("👍", True),
            ("b", False),
        ]
        assert opened(png(plain())).width > 100
        box = np.asarray(text_image("👍", 20, 9))
        assert box.shape[1] == 12
        assert text_image("👍👍", 20, 9).width == 24
        inside = box[box.any(1)][:, box.any(0)]
        assert inside[[0, -1]].all()
        assert inside[:, [0, -1]].all()
        assert not inside[2:-2, 2:-2].any()
    finally:
        monkeypatch.undo()
        for function in (fonts.installed, fonts._path_for):
            function.cache_clear()


def test_fonts_that_lack_a_letter_say_so() -> None:
    assert fonts.has(None, "a")
    assert not fonts.has(None, "漢")
    assert not fonts.has(None, "\U0010fffe")


def test_png_scale_has_limits() -> None:
    with pytest.raises(UsageError, match="scale from 1 to 8, got 0"):
        png(plain(), scale=0)


def test_the_suffix_chooses_the_file(tmp_path: Path) -> None:
    one, two = trace(), trace(plain("first"), plain("second"))
    starts = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}
    for suffix, start in starts.items():
        assert save_picture(one, tmp_path / f"a.{suffix}") == [tmp_path / f"a.{suffix}"]
        assert (tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    assert load(save_picture(two, tmp_path / "b.TRACE")[0]).scenes[1].title == "second"
    assert save_picture(two, str(tmp_path / "b.svg")) == [tmp_path / "b-1.svg", tmp_path / "b-2.svg"]
    assert "second" in texts((tmp_path / "b-2.svg").read_text(encoding="utf-8"))
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def test_pictures_refuse_what_they_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.svg, \.png, \.html, \.trace, \.safetensors, got \.gif"):
        save_picture(trace(), tmp_path / "a.gif")
    for place in (tmp_path / "none" / "a.svg", "\x00.html"):
        with pytest.raises(DataError, match=r"cannot be written") as caught:
            save_picture(trace(), place)
        assert str(caught.value).isprintable()
    (tmp_path / "full.png").mkdir()
    with pytest.raises(DataError, match=r"full\.png: cannot be written"):
        save_picture(trace(), tmp_path / "full.png")
    with pytest.raises(UnknownName):
        save_picture(trace(plain(), hostile()), tmp_path / "a.svg", look="cross")
    assert [path.name for path in tmp_path.iterdir()] == ["full.png"]


def test_an_old_file_survives_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"a\.svg: cannot be written \(No space left on device\)"):
        save_picture(trace(), path)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.svg", "old")]


def test_the_page_holds_no_foreign_markup_and_loads_nothing() -> None:
    plain_page, hostile_page = html(trace()), html(trace(hostile()))
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|https?:", plain_page)
    assert hostile_page.count("<script") == plain_page.count("<script") == 2
    assert "__pwned = 1</script" not in hostile_page
    assert "<img" not in hostile_page
    assert "\u202e" not in hostile_page
    assert "\\u202e" in hostile_page
    assert "innerHTML" not in plain_page
    hostile_page.encode()


def test_the_page_stays_small() -> None:
    assert len(html(trace())) < 60_000
    assert len(html(trace(large()))) < 5_600_000


def test_a_page_that_no_browser_opens_is_refused() -> None:
    side = Side("words", ["w"] * 8000)
    weights = np.broadcast_to(np.float32(0), (2, 8000, 8000))
    with pytest.raises(UsageError, match="a page holds up to 100,000,000 weights, got 128,000,000"):
        html(trace(Scene("t", {"s": side}, [Look("l", "s", "s", weights)])))
    with pytest.raises(UsageError, match="head from 0 to 1, got head 5"):
        html(trace(), head=5)
