"""The page in a browser: it opens from a file, answers pointer and keys, runs nothing foreign, stays quick when large."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from saccade.view import Shown
from saccade.view.trace import Axis, Look, Scene, Trace

from ..traces import (
    HOSTILE,
    bag,
    caption,
    document,
    edges,
    glimpses,
    hostile,
    hostile_ones,
    large,
    layered,
    marked,
    neighborhood,
    places,
    plain,
    trace,
)

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium in the path: apt-get install chromium")
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
ARGUMENTS = [*QUIET.split(), "--no-first-run", "--disable-quic"]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Opened:
    """A page of a trace, and everything that went wrong on it."""

    def __init__(self, browser: "Browser", folder: Path, shown: Trace, address: str = "", **options: object) -> None:
        (path,) = Shown(shown).save(folder / "page.html")
        self.context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.goto(path.as_uri() + address)
        self.page.wait_for_selector("html[data-drawn]")

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "blob:")):
            self.wrong.append(url)

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.wrong == []

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def said(self, expected: str) -> None:
        """Waits for the readout: it follows the pointer by a frame."""
        playwright.expect(self.page.locator("#readout")).to_contain_text(expected)

    def cell(self, row: int, column: int) -> tuple[float, float]:
        """Where the middle of a cell stands on the page."""
        canvas = self.page.locator("#cells")
        box, placed = canvas.bounding_box(), canvas.get_attribute("data-cells")
        assert box is not None
        left, top, across, down = map(float, (placed or "").split())
        return box["x"] + left + across * (column + 0.5), box["y"] + top + down * (row + 0.5)

    def hover(self, row: int, column: int) -> None:
        self.page.mouse.move(*self.cell(row, column))


def test_hover_tells_the_value_and_another_head_another(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace()) as opened:
        opened.hover(0, 0)
        opened.said("x looked at a with 0.625 (row 0, column 0)")
        opened.page.locator("#heads").get_by_text("1", exact=True).click()
        opened.said("x looked at a with 0.250")
        opened.hover(1, 3)
        opened.said("y looked at 漢 with 0.500 (row 1, column 3)")
        opened.hover(1, 1)
        opened.said("y looked at ␣ with 0 (row 1, column 1)")
        assert "head=1" in opened.page.url


def test_a_click_pins_a_row_and_lists_its_keys(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(), "#scene=1&look=cross&head=1") as opened:
        opened.page.mouse.click(*opened.cell(2, 1))
        opened.hover(0, 0)
        opened.said("x looked at a")
        assert opened.text("#row-title") == "z looked at"
        rows = opened.page.locator("#top tbody tr").all_inner_texts()
        assert [row.split()[:2] for row in rows[:2]] == [["漢3", "0.500"], ["a0", "0.250"]]
        shades = opened.page.eval_on_selector_all("#keys i", "all => all.map(each => each.style.backgroundColor)")
        assert [bool(shade) for shade in shades] == [True, False, False, True]
        opened.page.keyboard.press("Tab")
        opened.page.locator("#pin").click()
        opened.hover(1, 0)
        opened.said("y looked at a")
        assert opened.text("#row-title") == "y looked at"


def test_the_keyboard_reaches_every_cell(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace()) as opened:
        for _ in range(12):
            opened.page.keyboard.press("Tab")
            if opened.page.evaluate("document.activeElement.id") == "cells":
                break
        opened.said("x looked at a")
        for key in ("ArrowDown", "ArrowRight", "End", "ArrowRight", "ArrowDown", "ArrowDown"):
            opened.page.keyboard.press(key)
        opened.said("z looked at 漢 with 0.250 (row 2, column 3)")
        opened.page.keyboard.press("Enter")
        playwright.expect(opened.page.locator("#pin")).to_have_attribute("aria-pressed", "true")
        opened.page.keyboard.press("Escape")
        playwright.expect(opened.page.locator("#pin")).to_have_attribute("aria-pressed", "false")


def test_scenes_and_looks_are_chosen_by_hand_and_by_link(browser: "Browser", tmp_path: Path) -> None:
    both = trace(plain("first"), plain("second"))
    with Opened(browser, tmp_path, both, "#scene=2&look=self") as opened:
        assert (opened.text("#title"), opened.page.locator("#look").input_value()) == ("second", "1")
        opened.page.get_by_role("button", name="first").click()
        assert (opened.text("#title"), opened.page.locator("#look").input_value()) == ("first", "1")
        opened.page.locator("#look").select_option("cross")
        assert "scene=1&look=cross" in opened.page.url
    with Opened(browser, tmp_path, both, "#scene=99&look=none&head=-3&%zz=<b>") as opened:
        assert opened.text("#title") == "first"


def test_the_written_text_points_too(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace()) as opened:
        opened.page.locator("#queries i").nth(2).hover()
        playwright.expect(opened.page.locator("#row-title")).to_have_text("z looked at")


def test_hostile_text_does_not_run_and_is_shown(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(hostile(), plain())) as opened:
        opened.page.locator("#cells").focus()
        opened.page.keyboard.press("ArrowDown")
        opened.page.keyboard.press("Enter")
        shown = opened.text("#queries")
        assert HOSTILE[0] in shown
        assert HOSTILE[1] in shown
        assert "\\u202egpj.exe" in shown
        assert "\\x1b[31mred" in shown
        assert opened.page.evaluate("window.__pwned") is None
        assert opened.page.locator("img").count() == 0
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_does_not_scroll_sideways(browser: "Browser", tmp_path: Path, scheme: str) -> None:
    narrow = {"viewport": {"width": 375, "height": 700}, "color_scheme": scheme, "has_touch": True}
    with Opened(browser, tmp_path, trace(plain(), hostile(), large(200)), "#scene=3", **narrow) as opened:
        for scene in range(3):
            opened.page.locator("#scenes button").nth(scene).click()
            assert opened.page.evaluate("document.documentElement.scrollWidth") == 375
        opened.page.locator("#cells").tap()
        playwright.expect(opened.page.locator("#pin")).to_have_attribute("aria-pressed", "true")


def test_the_picture_is_saved(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace()) as opened:
        with opened.page.expect_download() as download:
            opened.page.locator("#save").click()
        with Image.open(download.value.path()) as image:
            assert image.format == "PNG"
            assert {(34, 14, 66, 255), (250, 231, 84, 255)} <= {color for _, color in image.getcolors(1 << 20) or []}


def test_a_nearly_uniform_map_looks_uniform(browser: "Browser", tmp_path: Path) -> None:
    """Its colors begin at 0, and the legend tells the smallest weight."""
    flat = np.array([[[0.24, 0.26, 0.25, 0.25]] * 4], np.float32)
    axis = Axis("tokens", list("abcd"))
    scene = Scene("flat", {"input": axis}, [Look("attention", "input", "input", flat)], {})
    with Opened(browser, tmp_path, trace(scene)) as opened:
        assert (opened.text("#low"), opened.text("#high")) == ("0", "0.260, min 0.240")
        with opened.page.expect_download() as download:
            opened.page.locator("#save").click()
        with Image.open(download.value.path()) as image:
            assert (34, 14, 66, 255) not in {color for _, color in image.getcolors(1 << 20) or []}


def test_zoom_and_drag_move_the_cells_under_the_pointer(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(large(300))) as opened:
        x, y = opened.cell(150, 120)
        opened.page.mouse.move(x, y)
        for _ in range(12):
            opened.page.mouse.wheel(0, -120)
        opened.said("(row 150, column 120)")
        opened.page.mouse.move(x + 1, y)
        opened.said("(row 150, column 120)")  # what was under the pointer stays there
        opened.page.mouse.move(x + 60, y)
        opened.said("(row 150, column 121)")
        opened.page.mouse.down()
        opened.page.mouse.move(x - 240, y, steps=4)
        opened.page.mouse.up()
        opened.page.mouse.move(x - 239, y)
        opened.said("(row 150, column 121)")
        opened.page.locator("#fit").click()
        opened.hover(5, 0)
        opened.said("(row 5, column 0)")


WORK = """() => new Promise((resolve) => {
    const done = { drawImage: 0, putImageData: 0 }, kind = CanvasRenderingContext2D.prototype;
    for (const name in done) {
        const real = kind[name];
        kind[name] = function (...given) { done[name] += 1; return real.apply(this, given); };
    }
    const canvas = document.getElementById("cells"), box = canvas.getBoundingClientRect();
    let frame = 0;
    const next = () => {
        if (++frame > 40) return resolve(done);
        const place = { clientX: box.x + box.width / 2 + frame, clientY: box.y + box.height / 2, cancelable: true };
        canvas.dispatchEvent(new WheelEvent("wheel", { ...place, deltaY: frame < 25 ? -60 : 60 }));
        canvas.dispatchEvent(new PointerEvent("pointermove", place));
        requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
})"""


def test_of_four_million_cells_only_tiles_in_sight_are_drawn_and_each_is_painted_once(
    browser: "Browser", tmp_path: Path
) -> None:
    tiles = 8 * 8  # of 256 × 256 cells; and a quarter as many on each smaller scale
    with Opened(browser, tmp_path, trace(large())) as opened:
        work = opened.page.evaluate(WORK)
        assert 0 < work["drawImage"] <= 41 * tiles
        assert work["putImageData"] <= 2 * tiles
        opened.page.locator("#fit").click()
        opened.page.locator("#cells").hover()
        opened.said("looked at word")


def test_a_text_is_shown_as_words_and_as_a_heat_map(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(document()), "#scene=1&look=words&head=0") as opened:
        words = opened.page.locator("#drawing .words i")
        assert words.all_inner_texts() == ["good", "room", "bad", "سيئ", "漢字", "never", "again"]
        assert opened.page.locator("#drawing .sentence .mark").count() == 3
        assert opened.page.locator("#cells").is_hidden()
        words.nth(6).hover()
        opened.said("3 looked at again with 1.00 (place 6)")
        assert opened.text("#row-title") == "3 looked at"
        assert words.nth(0).get_attribute("title") == "0.500"
        shade = "each => getComputedStyle(each).backgroundColor"
        assert "0.95" in words.nth(6).evaluate(shade)
        opened.page.locator("#heads").get_by_text("1", exact=True).click()
        opened.said("3 looked at again with 0.500")
        assert "√" in opened.text("#meaning")
        opened.page.locator("#views").get_by_text("heat map").click()
        assert opened.page.locator("#drawing").is_hidden()
        assert "view=heatmap" in opened.page.url
        opened.hover(2, 6)
        opened.said("3 looked at again with 0.500 (row 2, column 6)")
        opened.page.locator("#views").get_by_text("text").click()
        assert words.count() == 7
        opened.page.locator("#look").select_option("sentences")
        assert opened.page.locator("#cells").is_visible()
        assert opened.page.locator("#views label").all_inner_texts() == ["heat map", "overview"]


def test_tokens_are_joined_by_lines(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(plain(), marked()), "#scene=1&look=cross&head=0&view=lines") as opened:
        lines, faint, near = (opened.page.locator(f"#drawing .lines {each}") for each in ("svg", "g >> nth=0", "g >> nth=1"))
        assert (faint.locator("line").count(), near.locator("line").count()) == (3, 0)
        opened.page.locator("#drawing [data-row='1']").hover()
        opened.said("y looked at ␣ with 1.00")
        playwright.expect(near.locator("line")).to_have_count(1)
        assert "followed" in (lines.get_attribute("class") or "")
        opened.page.locator("#heads").get_by_text("1", exact=True).click()
        playwright.expect(near.locator("line")).to_have_count(2)  # the token pointed at stays so
        opened.page.locator("#drawing .keys div").nth(3).hover()
        playwright.expect(near.locator("line")).to_have_count(3)
        opened.page.locator("#scenes button").nth(1).click()
        assert "view=lines" in opened.page.url
        assert opened.page.locator("#drawing .tokens small").all_inner_texts() == ["97%", "25%"]
        assert opened.page.locator("#drawing .keys .unknown").all_inner_texts() == ["Qzx"]
        opened.page.locator("#look").select_option("gradient × input")
        assert opened.page.locator("#drawing line.below").count() == 2
        assert opened.page.locator("#drawing line.above").count() == 3
        assert "not attention" in opened.text("#remarks")


def test_an_overview_opens_the_head_that_is_clicked(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(marked()), "#view=overview") as opened:
        maps = opened.page.locator("#drawing .maps button")
        names = maps.evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
        assert names == ["cross-attention, head 0", "cross-attention, head 1", "rollout, head 0", "gradient × input, head 0"]
        assert opened.page.locator("#row").is_hidden()
        maps.nth(1).click()
        assert "look=cross-attention&head=1" in opened.page.url
        assert opened.page.locator("#cells").is_visible()
        opened.hover(1, 0)
        opened.said("house (25%) looked at das")
        color = "canvas => [...canvas.getContext('2d').getImageData(2, 1, 1, 1).data.slice(0, 3)]"
        opened.page.locator("#views").get_by_text("overview").click()
        red, green, blue = maps.nth(3).locator("canvas").evaluate(color)  # 0.5 of 2: above 0, and pale
        assert 255 > red > green > blue > 140


def test_a_page_says_what_else_is_known(browser: "Browser", tmp_path: Path) -> None:
    even = neighborhood()
    flat = even.looks[0].weights * 0 + 1 / 6
    even = dataclasses.replace(even, looks=[dataclasses.replace(even.looks[0], weights=flat)])
    with Opened(browser, tmp_path, trace(marked(), even)) as opened:
        assert "Qzx" in opened.text("#remarks")
        assert opened.page.locator("#look").input_value() == "1"  # attention, though an attribution comes first
        titles = opened.page.eval_on_selector_all("#queries i", "all => all.map(each => each.title)")
        assert titles == ["probability 97%", "probability 25%"]
        assert opened.text("#remarks .classes").split() == ["article", "noun"]
        opened.page.locator("#scenes button").nth(1).click()
        assert "nearly uniform" in opened.text("#remarks")


@pytest.mark.parametrize(
    ("labels", "text"), [(["play", "##ing", "ball"], "play ##ing ball"), (["play", "ing", " ball"], "playing ball")]
)
def test_pieces_are_set_apart_unless_they_tell_where_words_begin(
    browser: "Browser", tmp_path: Path, labels: list[str], text: str
) -> None:
    scene = Scene("t", {"q": Axis("pieces", labels)}, [Look("l", "q", "q", np.eye(3, dtype=np.float32)[None])])
    with Opened(browser, tmp_path, trace(scene)) as opened:
        assert opened.text("#queries").strip() == text


def test_a_page_opens_on_the_most_focused_layer(browser: "Browser", tmp_path: Path) -> None:
    scene = plain()
    sharp = np.eye(3, 4, dtype=np.float32)[None] * 0.96 + 0.01
    third = dataclasses.replace(scene, looks=[*scene.looks, Look("cross, layer 2", "written", "source", sharp)])
    first = dataclasses.replace(third, looks=[Look("cross", "written", "source", sharp * 0 + 0.25), *third.looks[1:]])
    with Opened(browser, tmp_path, trace(first)) as opened:
        assert opened.page.locator("#look").input_value() == "2"
        assert "most focused of 2 layers" in opened.text("#remarks")
        opened.page.locator("#look").select_option("cross")
        assert "focused" not in opened.text("#remarks")
        assert "nearly uniform" in opened.text("#remarks")


def test_what_is_selected_on_one_side_is_selected_on_the_other(browser: "Browser", tmp_path: Path) -> None:
    (path,) = Shown(trace()).beside(Shown(trace())).save(tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    left, right = page.frames[1:]
    left.locator("#look").select_option("self")
    playwright.expect(right.locator("#look")).to_have_value("1")
    right.locator("#look").select_option("cross")
    right.locator("#heads").get_by_text("1", exact=True).click()
    playwright.expect(left.locator("#look")).to_have_value("0")
    playwright.expect(left.locator("#heads input[value='1']")).to_be_checked()
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


def test_a_map_that_was_opened_in_a_frame_without_room_fits_when_there_is_some(browser: "Browser", tmp_path: Path) -> None:
    """And a map that somebody has zoomed stays as it is."""
    with Opened(browser, tmp_path, trace(), viewport={"width": 60, "height": 300}) as opened:
        canvas = opened.page.locator("#cells")
        opened.page.set_viewport_size({"width": 1100, "height": 900})
        playwright.expect(canvas).not_to_have_class("zoomed")
        opened.page.locator("#closer").click()
        playwright.expect(canvas).to_have_class("zoomed")
        opened.page.set_viewport_size({"width": 1000, "height": 900})
        opened.page.wait_for_timeout(100)
        playwright.expect(canvas).to_have_class("zoomed")


def test_the_first_drawing_is_there_before_the_script(browser: "Browser", tmp_path: Path) -> None:
    (path,) = Shown(trace()).save(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False, viewport={"width": 375, "height": 700})
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#first svg").is_visible()
    assert "cross" in page.locator("#first").inner_text()
    assert page.locator("h1").inner_text() == "dates"
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    context.close()
    with Opened(browser, tmp_path, trace()) as opened:
        assert opened.page.locator("#first").count() == 0


def test_names_can_be_read_on_a_narrow_screen(browser: "Browser", tmp_path: Path) -> None:
    narrow = {"width": 375, "height": 700}
    with Opened(browser, tmp_path, trace(neighborhood(12), large(20)), viewport=narrow) as opened:
        sizes = """all => all.map(each => {
            const { height, right } = each.getBoundingClientRect();
            return [height, right];
        })"""
        for height, right in opened.page.locator("#drawing .around text").evaluate_all(sizes):
            assert height > 11
            assert right <= 375
        opened.page.locator("#scenes button").nth(1).click()
        assert opened.page.evaluate("Math.min(map.across, map.down)") >= 15


def test_the_keyboard_reaches_every_piece(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(document(), bag(24)), "#scene=1&look=words&head=0") as opened:
        for _ in range(12):
            opened.page.keyboard.press("Tab")
            if opened.page.evaluate("document.activeElement.dataset.column") == "0":
                break
        opened.said("1 looked at good with 0.500")
        opened.page.keyboard.press("ArrowDown")
        opened.said("2 looked at")
        opened.page.keyboard.press("End")
        opened.said("3 looked at again")
        opened.page.keyboard.press("ArrowLeft")
        opened.said("3 looked at never")
        opened.page.locator("#scenes button").nth(1).click()
        opened.page.locator("#drawing figure").first.focus()
        opened.said("positive looked at n0")
        opened.page.keyboard.press("ArrowDown")
        opened.page.keyboard.press("ArrowRight")
        row = opened.page.evaluate("document.activeElement.dataset.column")
        assert int(row) > 3


def test_a_sentence_is_pinned_by_hand_and_by_key(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(document())) as opened:
        words = opened.page.locator("#drawing .words i")
        words.nth(6).click()
        words.nth(0).hover()
        opened.said("1 looked at good")
        assert opened.text("#row-title") == "3 looked at"
        words.nth(6).focus()
        opened.page.keyboard.press("Enter")
        words.nth(0).hover()
        playwright.expect(opened.page.locator("#row-title")).to_have_text("1 looked at")


def test_images_are_shown_as_images(browser: "Browser", tmp_path: Path) -> None:
    ready = "all => all.every(each => each.complete && each.naturalWidth > 0)"
    with Opened(browser, tmp_path, trace(bag(70), bag(12, (3, 4)), bag(70, images=False)), "#scene=1&head=0") as opened:
        images = opened.page.locator("#drawing img")
        assert images.count() == 60
        assert images.evaluate_all(ready)
        assert "10 more images" in opened.text("#meaning")
        opened.page.locator("#drawing figure").last.hover()
        opened.said("positive looked at n69 with 0.0282")
        opened.page.locator("#heads").get_by_text("1", exact=True).click()
        assert opened.text("#drawing figure:first-child bdi") == "n0"
        assert images.evaluate_all(ready)
        opened.page.locator("#scenes button").nth(1).click()
        assert images.count() == 2
        assert images.evaluate_all(ready)
        tiles = opened.page.locator("#drawing .tiles span")
        assert tiles.count() == 12
        edges = "each => { const box = each.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; }"
        first, last, whole = (each.evaluate(edges) for each in (tiles.first, tiles.last, images.last))
        assert [*first[:2], *last[2:]] == pytest.approx(whole, abs=1)
        tiles.nth(11).hover()
        opened.said("positive looked at n11")
        opened.page.locator("#scenes button").nth(2).click()
        bars = opened.page.locator("#drawing .bars > div")
        assert bars.count() == 60
        assert bars.first.inner_text().split()[0] == "n0"


def test_a_node_stands_among_its_neighbors(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(neighborhood(45))) as opened:
        nodes, lines = (opened.page.locator(f"#drawing .around {each}") for each in ("g", "line"))
        assert (nodes.count(), lines.count()) == (41, 40)
        assert "4 more neighbors" in opened.text("#meaning")
        assert nodes.first.text_content() == "n0itself 0"
        nodes.first.hover()
        opened.said("n0 looked at n0 with 0")
        nodes.nth(1).hover()
        opened.said("n0 looked at n44")
        widths = lines.evaluate_all("all => all.map(each => parseFloat(getComputedStyle(each).strokeWidth))")
        assert widths == sorted(widths, reverse=True)
        assert widths[0] == pytest.approx(14.5, abs=0.1)
        nodes.first.focus()
        opened.page.keyboard.press("ArrowRight")
        opened.said("n0 looked at n44")


def test_hostile_text_stays_text_in_every_drawing(browser: "Browser", tmp_path: Path) -> None:
    scenes = hostile_ones()
    with Opened(browser, tmp_path, trace(*scenes), viewport={"width": 375, "height": 700}) as opened:
        for number in range(len(scenes)):
            opened.page.locator("#scenes button").nth(number).click()
            opened.page.locator("#drawing [data-column]").last.hover()
            sources = opened.page.eval_on_selector_all("img", "all => all.map(each => each.src)")
            assert all(source.startswith("data:image/png;base64,") for source in sources)
            assert opened.page.evaluate("window.__pwned") is None
            assert opened.page.evaluate("document.documentElement.scrollWidth") == 375


def test_a_caption_lights_the_image_word_by_word(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(caption())) as opened:
        steps, cells = (opened.page.locator(f"#drawing {each}") for each in (".step[data-row]", ".large .tiles span"))
        assert steps.locator("figcaption").all_inner_texts() == ["a", "dog", "on", "grass"]
        assert opened.page.locator("#drawing img").evaluate_all("all => all.every(each => each.naturalWidth === 60)")
        assert cells.count() == 24
        steps.nth(2).hover()
        opened.said("on looked at 0, 2 with 0.500")
        assert opened.text("#drawing .large figcaption") == "on"
        assert opened.text("#row-title") == "on looked at"
        clear = """canvas => {
            const { width, height } = canvas, alpha = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            const at = (row, column) => alpha[4 * ((row + 0.5) * height / 4 * width + (column + 0.5) * width / 6) + 3];
            return [at(0, 2), at(0, 1), at(3, 5)];
        }"""
        here, beside, far = opened.page.locator("#drawing .large canvas").evaluate(clear)
        assert here < 40 < 120 < beside <= far
        cells.nth(23).hover()
        opened.said("on looked at 3, 5 with 0.0217")
        steps.nth(1).click()
        steps.nth(3).hover()
        opened.said("grass looked at 0, 3")
        assert opened.text("#drawing .large figcaption") == "dog"  # it is pinned
        steps.nth(0).focus()
        opened.page.keyboard.press("ArrowRight")
        opened.said("dog looked at 0, 1")
        opened.page.locator("#views").get_by_text("heat map").click()
        opened.hover(3, 3)
        opened.said("grass looked at 0, 3 with 0.500 (row 3, column 3)")


def test_a_slider_goes_through_the_words_of_a_caption(browser: "Browser", tmp_path: Path) -> None:
    shades = """canvas => {
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(pixels.filter((_, index) => index % 4 === 3)).size;
    }"""
    with Opened(browser, tmp_path, trace(caption())) as opened:
        large = opened.page.locator("#drawing .large canvas")
        opened.page.locator("#drawing .large input").fill("2")
        assert opened.text("#drawing .large figcaption") == "on"
        opened.said("on looked at 0, 2 with 0.500")
        assert opened.text("#row-title") == "on looked at"
        assert large.evaluate(shades) > 10  # smooth
        opened.page.locator("#views").get_by_text("cells").click()
        assert large.evaluate(shades) == 2


def test_the_scan_path_of_a_caption_is_drawn_as_glimpses_are(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(caption())) as opened:
        opened.page.locator("#views").get_by_text("scan path").click()
        assert opened.page.locator("#drawing svg.path circle").count() == 4
        points = opened.page.locator("#drawing svg.path polyline").first.get_attribute("points")
        assert points == "5,5 15,5 25,5 35,5"
        opened.page.locator("#drawing .glimpse").nth(1).hover()
        opened.said("step 2: rows 0–10, columns 10–20")


def test_words_that_look_at_the_same_cell_share_a_dot(browser: "Browser", tmp_path: Path) -> None:
    scene = caption()
    (look,) = scene.looks
    again = dataclasses.replace(scene, looks=[dataclasses.replace(look, weights=look.weights[:, [0, 1, 0, 2]])])
    with Opened(browser, tmp_path, trace(again)) as opened:
        opened.page.locator("#views").get_by_text("scan path").click()
        assert opened.page.locator("#drawing svg.path text").all_text_contents() == ["1 3", "2", "4"]
        assert opened.page.locator("#drawing svg.path circle").count() == 2


def test_on_a_black_image_light_shines_where_the_weight_is(browser: "Browser", tmp_path: Path) -> None:
    scene = caption()
    axis = scene.axes["image"]
    assert axis.image is not None
    black = dataclasses.replace(scene, axes={**scene.axes, "image": dataclasses.replace(axis, image=axis.image * 0)})
    shade = """canvas => {
        const { width, height } = canvas, pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        const at = (row, column) => 4 * ((row + 0.5) * height / 4 * width + (column + 0.5) * width / 6);
        return [at(0, 0), at(3, 5)].map((place) => pixels[place] * pixels[place + 3] / 255);
    }"""
    with Opened(browser, tmp_path, trace(black)) as opened:
        here, far = opened.page.locator("#drawing .large canvas").evaluate(shade)
        assert here > 100 > 30 > far


@pytest.mark.parametrize("scales", [1, 3])
def test_a_path_of_glimpses_is_numbered(browser: "Browser", tmp_path: Path, scales: int) -> None:
    with Opened(browser, tmp_path, trace(glimpses(scales), plain()), "#scene=1&view=heatmap") as opened:
        steps, crops = (opened.page.locator(f"#drawing {each}") for each in (".path g", ".glimpse"))
        assert steps.locator("text").all_text_contents() == ["1", "2", "3", "4"]
        assert (steps.locator("rect").count(), crops.locator("svg").count()) == (4 * 2 * scales, 4 * scales)
        crops.nth(2).hover()
        opened.said("step 3: rows 11–19, columns 11–19")
        assert "here" in (steps.nth(2).get_attribute("class") or "")
        steps.nth(1).locator("circle").hover(force=True)
        opened.said("step 2: rows 5–13, columns 5–13")
        assert opened.page.locator("#row").is_hidden()
        assert opened.page.locator("#views").is_hidden()
        opened.page.locator("#scenes button").nth(1).click()
        opened.hover(0, 0)
        opened.said("x looked at a with 0.625 (row 0, column 0)")
        assert opened.page.locator("#row").is_visible()


def test_edges_are_cells_of_a_matrix(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(edges()), "#scene=1&head=0") as opened:
        opened.hover(0, 4)
        opened.said("n0 looked at n4 with 0.750 (row 0, column 4)")
        opened.hover(3, 3)
        opened.said("n3 looked at n3 with 0.250")
        opened.hover(3, 4)
        opened.said("n3 looked at n4 with 0 (row 3, column 4)")
        opened.page.locator("#heads").get_by_text("mean", exact=True).click()
        opened.hover(0, 4)
        opened.said("n0 looked at n4 with 0.625")


def test_several_stand_in_one_notebook(browser: "Browser", tmp_path: Path) -> None:
    shown = [Shown(trace(scene))._repr_html_() for scene in (plain(), hostile(), caption(), glimpses(2))]
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{''.join(shown)}</body>", encoding="utf-8")
    context = browser.new_context()
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto((tmp_path / "notebook.html").as_uri())
    for number in range(4):
        page.locator("iframe").nth(number).scroll_into_view_if_needed()  # until then, a browser does not draw it
        page.frame_locator("iframe").nth(number).locator("html[data-drawn]").wait_for(timeout=10_000)
    first, third = (page.frame_locator("iframe").nth(number) for number in (0, 2))
    first.locator("#heads").get_by_text("1", exact=True).click()
    first.locator("#queries i").nth(2).hover()
    playwright.expect(first.locator("#row-title")).to_have_text("z looked at")
    third.locator(".step[data-row]").nth(1).hover()
    playwright.expect(third.locator("#readout")).to_contain_text("dog looked at 0, 1")
    assert page.evaluate("window.__pwned") is None
    assert wrong == []
    context.close()


def test_the_arcs_of_a_word_that_is_pointed_at_stand_out(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, trace(layered()), "#scene=1&view=arcs&look=self-attention,%20layer%202&head=1") as opened:
        drawing = opened.page.locator("#drawing .arcs svg")
        assert drawing.locator("g").nth(0).locator("path").count() == 5
        drawing.locator("text").nth(2).hover()
        opened.said("w1 looked at w0 with 1.00")
        assert drawing.locator("g").nth(1).locator("path").count() == 1
        assert "followed" in (drawing.get_attribute("class") or "")


def test_heads_are_colored_by_a_measure_and_opened_by_a_click(browser: "Browser", tmp_path: Path) -> None:
    with Opened(
        browser, tmp_path, trace(layered()), "#scene=1&view=head_grid", viewport={"width": 375, "height": 700}
    ) as opened:
        cells = opened.page.locator("#drawing .cell")
        assert cells.count() == 6
        colors = cells.evaluate_all("all => all.map(each => each.style.backgroundColor)")
        assert colors[3] == max(colors, key=lambda color: sum(map(int, color[4:-1].replace(",", " ").split())))
        cells.nth(3).hover()
        assert opened.text("#drawing .told").startswith("2.1 previous 1.000")
        opened.page.locator("#drawing fieldset").get_by_text("entropy").click()
        assert opened.text("#drawing .told").startswith("entropy: in nats")
        assert not opened.text("#drawing .named >> nth=0").startswith("2.1")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 375
        cells.nth(3).click()
        assert "look=self-attention%2C+layer+2&head=1" in opened.page.url.replace("%20", "+")
        opened.hover(2, 1)
        opened.said("w1 looked at w0 with 1.00")


def test_the_pointer_chooses_the_place_that_looks(browser: "Browser", tmp_path: Path) -> None:
    with Opened(browser, tmp_path, Shown(trace(places())).of_pixel(2, 1).trace) as opened:
        choices, seen = (opened.page.locator(f".place-map figure:nth-child({side}) .tiles span") for side in (1, 2))
        assert choices.count() == seen.count() == 12
        assert opened.text("#meaning").endswith("from 2, 1")

        def strongest() -> int:
            shades = seen.evaluate_all("all => all.map(each => Number(each.title))")
            return int(np.argmax(shades))

        assert strongest() == 9
        choices.nth(3).hover()
        playwright.expect(opened.page.locator("#meaning")).to_contain_text("from 0, 3")
        assert strongest() == 3
        for tile in (seen.nth(3), choices.nth(3)):
            assert "from" in (tile.get_attribute("class") or "")
        choices.nth(5).click()
        choices.nth(6).hover()
        assert opened.text("#row-title") == "1, 1 looked at"
        assert strongest() == 5
