"""Two side by side: in one drawing on one scale, in columns of the terminal, and as a page whose sides are linked."""

import dataclasses
import io
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.errors import UsageError
from saccade.view import Shown, render
from saccade.view.output.colors import hexadecimal, ramp
from saccade.view.side_by_side import SideBySide
from saccade.view.trace import Axis, Look, Scene, Trace

from .traces import HOSTILE, glimpses, hostile, plain, trace

SVG = "{http://www.w3.org/2000/svg}"


def weak() -> Trace:
    """The same, each weight halved."""
    scene = plain()
    half = dataclasses.replace(scene.looks[0], weights=scene.looks[0].weights / np.float32(2))
    return Trace("other", [dataclasses.replace(scene, looks=[half])])


def test_both_sides_are_drawn_on_one_scale() -> None:
    (drawing,) = Shown(trace()).beside(Shown(weak())).svg()
    left, right = (side for side in ElementTree.fromstring(drawing).iter(f"{SVG}svg") if "x" in side.attrib)
    fills = [{path.attrib["fill"] for path in next(side.iter(f"{SVG}g"))} for side in (left, right)]
    assert hexadecimal(ramp(1.0)) in fills[0]
    assert hexadecimal(ramp(1.0)) not in fills[1]
    assert ">dates<" in drawing
    assert ">other<" in drawing


def size(shown: Shown) -> int:
    return round(float(ElementTree.fromstring(render.svg(shown.scenes[0], shown.look, shown.head)).attrib["width"]))


def test_drawings_of_different_kinds_stand_side_by_side(tmp_path: Path) -> None:
    both = Shown(trace(), head=0).beside(Shown(trace(glimpses())))
    (path,) = both.save(tmp_path / "a.png", scale=1)
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        assert image.width == sum(size(each) for each in both.sides)
        colors = {color for _, color in image.convert("RGB").getcolors(1 << 20) or []}
    assert {(34, 14, 66), (250, 231, 84)} <= colors  # the left drawing
    assert Shown(trace(plain(), plain())).beside(Shown(trace(plain(), plain()))).save(tmp_path / "b.svg") == [
        tmp_path / "b-1.svg",
        tmp_path / "b-2.svg",
    ]


def test_the_terminal_has_two_columns_where_they_fit() -> None:
    both = Shown(trace(), head=0).beside(Shown(weak(), head=1))
    wide = both.terminal(color=False, width=100).splitlines()
    assert wide[0].split() == ["dates", "other"]
    assert all(len(line) <= 100 for line in wide)
    rows = [line for line in wide if "│" in line]
    assert [row.count("│") for row in rows] == [4, 4, 4]
    assert {row.index("│", 20) for row in rows} == {rows[0].index("│", 20)}
    colored = both.terminal(color=True, width=100).splitlines()
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in colored][:3] == wide[:3]
    assert both.terminal(color=False, width=80).count("│") == 12
    assert both.terminal(color=False, width=80).splitlines()[0] == "dates"


def layered(sharp: int, names: tuple[str, ...] = ("layer 1", "layer 2", "layer 3")) -> Trace:
    """Layers that look at everything alike, but for one."""
    axes = {"input": Axis("words", ["a", "b", "c"])}
    flat, own = np.full((1, 3, 3), 1 / 3, dtype=np.float32), np.eye(3, dtype=np.float32)[None]
    own = 0.9 * own + 0.1 * flat
    looks = [Look(name, "input", "input", own if place == sharp else flat) for place, name in enumerate(names)]
    return Trace("layers", [Scene("a b c", axes, looks)])


def opened(both: SideBySide) -> list[str]:
    """The look that each page shows first."""
    pages = [unescape(page) for page in re.findall(r'srcdoc="([^"]*)"', both._html)]
    return [re.findall(r'"first":{"scene":0,"look":"?([^",]+)', page)[0] for page in pages]


def test_both_sides_open_on_the_same_look() -> None:
    one, other, foreign = Shown(layered(1)), Shown(layered(2)), Shown(layered(0, ("a", "b", "c")))
    assert opened(one.beside(other)) == ["layer 2", "layer 2"]
    assert opened(other.beside(one)) == ["layer 3", "layer 3"]
    assert opened(one.beside(foreign)) == ["layer 2", "a"]
    chosen = Shown(layered(1), "layer 3")
    for both in (chosen.beside(other), other.beside(chosen)):
        assert opened(both) == ["layer 3", "layer 3"]
        assert both.terminal(color=False, width=100).count("layer 3") == 2
    assert opened(chosen.beside(Shown(layered(1), "layer 1"))) == ["layer 3", "layer 1"]
    assert opened(chosen.beside(foreign)) == ["layer 3", "a"]


def test_one_scene_alone_beside_another() -> None:
    shown = Shown(trace(plain("first"), plain("second"), plain("third")), "cross", 1)
    assert [shown[number].scenes[0].title for number in range(2)] == ["first", "second"]
    assert (shown[1].look, shown[-1].scenes[0].title) == ("cross", "third")
    assert "second" in shown[0].beside(shown[1]).svg()[0]
    with pytest.raises(UsageError, match="as many scenes on both sides, got 3 and 1"):
        shown.beside(shown[0])


def test_the_page_holds_both_and_no_foreign_markup(tmp_path: Path) -> None:
    both = Shown(trace(hostile())).beside(Shown(trace()))
    (path,) = both.save(tmp_path / "a.html")
    page = path.read_text(encoding="utf-8")
    assert page.count("<iframe") == 2
    assert page.count("<script") == 1
    assert HOSTILE[0] not in page
    assert both._repr_html_().count("<iframe") == 1
