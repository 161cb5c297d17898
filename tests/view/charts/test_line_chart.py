"""A chart of lines: every number where it belongs, from zero, and the same picture as SVG, as pixels and on a page."""

import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageColor

from saccade.errors import UsageError
from saccade.view.charts.line_chart import WIDTH, Chart, Series, line_chart
from saccade.view.output.colors import DISTINCT, lightness
from saccade.view.output.raster import png
from saccade.view.output.saving import save_drawing
from saccade.view.output.svg import PAPER

NAMESPACE = "{http://www.w3.org/2000/svg}"
BINS = ["1–5", "6–10", "11–15"]


def chart(*rows: list[float], title: str = "BLEU by length") -> Chart:
    series = [Series(f"run {number}", row) for number, row in enumerate(rows or ([30.0, 20.0, 10.0], [40.0, 41.0, 39.0]))]
    counts = [1200, 30, 7]
    return Chart(title, BINS, counts, series, "words", "BLEU", "nrefs:1|case:mixed")


def points(drawing: str) -> list[tuple[float, float]]:
    """Of the lines, not of the legend, in the order in which they are drawn."""
    circles = ElementTree.fromstring(drawing).findall(f"{NAMESPACE}g/{NAMESPACE}circle")
    return [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in circles]


def texts(drawing: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawing).iter(f"{NAMESPACE}text")]


def test_everything_is_said() -> None:
    told = set(texts(line_chart(chart())))
    assert {"BLEU by length", *BINS, "1,200", "30", "7", "run 0", "run 1", "words", "BLEU", "nrefs:1|case:mixed"} <= told


def test_heights_are_proportional_from_zero() -> None:
    drawn = chart()
    bottom = drawn.box.bottom
    places = points(line_chart(drawn))
    assert len(places) == 6
    first = places[3:]  # the first series is drawn last, over the others
    heights = [bottom - y for _, y in first]
    assert heights == pytest.approx([3 * heights[2], 2 * heights[2], heights[2]], abs=0.05)
    assert [bottom - y for _, y in places[:3]] == pytest.approx([h * heights[2] / 10 for h in (40, 41, 39)], abs=0.1)
    across = [x for x, _ in first]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.05)
    assert "0" in texts(line_chart(drawn))


def test_nothing_leaves_the_picture_however_many_there_are() -> None:
    drawn = chart(*([float(number)] * 3 for number in range(12)))
    root = ElementTree.fromstring(line_chart(drawn))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width == WIDTH
    legend = [float(one.attrib["y"]) for one in root.findall(f"{NAMESPACE}text") if (one.text or "").startswith("run ")]
    assert len(legend) == 12
    assert min(np.diff(legend)) >= 16
    assert max(legend) < drawn.box.y
    assert all(0 < x < width and drawn.box.y <= y <= drawn.box.bottom < height for x, y in points(line_chart(drawn)))


def test_neighbors_differ_in_color_and_in_lightness() -> None:
    shades = [float(lightness(ImageColor.getrgb(color))) for color in DISTINCT]
    assert len(set(DISTINCT)) == len(DISTINCT)
    assert max(shades) < 0.65  # all stand out from the paper
    assert min(abs(np.diff(shades))) > 0.08


def test_what_is_not_a_number_interrupts_a_line() -> None:
    drawing = line_chart(chart([30.0, float("nan"), 10.0]))
    assert len(points(drawing)) == 2
    assert "nan" not in drawing
    assert png(drawing, 1).startswith(b"\x89PNG")


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3), st.text(max_size=40))
def test_any_numbers_and_names_give_well_formed_xml(row: list[float], name: str) -> None:
    drawing = line_chart(Chart(name, [name] * 3, [1, 2, 3], [Series(name, row)], name, name, name))
    assert len(points(drawing)) == 3


def test_sizes_must_fit() -> None:
    with pytest.raises(ValueError, match="a number for each of 3 bins"):
        chart([1.0, 2.0])
    with pytest.raises(ValueError, match="a series or more"):
        Chart("t", BINS, [1, 2, 3], [], "x", "y")


@pytest.mark.parametrize("scale", [1, 2])
def test_pixels_show_the_same_as_the_drawing(scale: int) -> None:
    drawn = chart()
    drawing = line_chart(drawn)
    image = Image.open(io.BytesIO(png(drawing, scale))).convert("RGB")
    root = ElementTree.fromstring(drawing)
    assert image.size == tuple(round(float(root.attrib[key])) * scale for key in ("width", "height"))
    for x, y in points(drawing)[3:]:
        assert image.getpixel((round(x * scale), round(y * scale))) == ImageColor.getrgb(DISTINCT[0])
    for x, y in points(drawing)[:3]:  # hollow
        assert image.getpixel((round(x * scale), round(y * scale))) == ImageColor.getrgb(PAPER)
        assert near(image, x * scale, y * scale, DISTINCT[1], 6 * scale)
    assert near(image, (24 + 52) / 2 * scale, 66 * scale, DISTINCT[0], 2 * scale)  # the legend


def near(image: Image.Image, x: float, y: float, color: str, reach: int) -> bool:
    """Whether a pixel of this color is within reach."""
    part = np.asarray(image.crop((int(x) - reach, int(y) - reach, int(x) + reach, int(y) + reach)))
    return bool((part == np.array(ImageColor.getrgb(color))).all(-1).any())


def test_a_turned_text_is_drawn_where_it_belongs() -> None:
    drawn = chart()
    image = np.asarray(Image.open(io.BytesIO(png(line_chart(drawn), 1))).convert("L"))
    box = drawn.box
    strip = image[int(box.y) : int(box.bottom), int(box.x) - 60 : int(box.x) - 40]
    rows = np.flatnonzero((strip < 200).any(1))
    assert abs(float(rows.mean()) - box.height / 2) < 6
    assert 15 < np.ptp(rows) < 60


def test_what_cannot_be_drawn_as_pixels_is_refused() -> None:
    for element in ("<ellipse/>", '<path d="M0 0h5" stroke="#000"/>', '<text transform="scale(2)" fill="#000">a</text>'):
        with pytest.raises(ValueError, match="expected"):
            png(f'<svg width="9" height="9" font-size="12">{element}</svg>')
    with pytest.raises(UsageError, match="scale from 1 to 8"):
        png(line_chart(chart()), 9)


def test_the_name_of_the_file_says_what_it_becomes(tmp_path: Path) -> None:
    drawing = line_chart(chart(title="a < b"))
    starts = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>"}
    for suffix, start in starts.items():
        assert save_drawing(drawing, tmp_path / f"a.{suffix}").read_bytes().startswith(start)
    page = (tmp_path / "a.html").read_text()
    assert "<title>a &lt; b</title>\n<style>" in page
    assert drawing in page
    with pytest.raises(UsageError, match=r"ends in \.svg, \.png, \.html, got \.trace"):
        save_drawing(drawing, tmp_path / "a.trace")
