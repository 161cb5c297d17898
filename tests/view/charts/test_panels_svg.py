"""The drawing: every run in its color, holes as holes, crosses for skipped steps, nothing outside of the paper."""

import re
from xml.etree import ElementTree

import pytest

from saccade.view.charts.panels_svg import NARROW, SKIPPED, WIDE, Sheet, panels_svg, run_color
from saccade.view.output.raster import png

from .panels_made import two_runs


def paths(drawing: str, color: str) -> list[str]:
    return re.findall(rf'<path d="([^"]*)"[^>]*stroke="{color}"', drawing)


def test_a_curve_is_interrupted_where_a_number_is_missing() -> None:
    drawing = panels_svg(two_runs())
    curves = [path for path in paths(drawing, run_color(1)) if path.count("M") > 1]
    assert len(curves) == 1
    assert (curves[0].count("M"), curves[0].count("L")) == (2, 1)


def test_validations_have_points_and_what_was_smoothed_is_faint() -> None:
    drawing = panels_svg(two_runs())
    assert drawing.count("<circle") == 4
    assert len(paths(drawing, run_color(0))) == 4  # of the legend, a curve, two of validations


def test_a_skipped_step_has_a_cross_where_it_is_and_the_foot_says_so() -> None:
    chart = two_runs()
    drawing = panels_svg(chart)
    cross, note = paths(drawing, SKIPPED)
    start, stop = (float(number) for number in re.findall(r"[ML](-?[\d.]+)", cross)[:2])
    place = float(chart.horizontal(WIDE.left, WIDE.width - WIDE.right)(2.0))
    assert (start + stop) / 2 == pytest.approx(place, abs=0.02)
    assert note
    assert "skipped: gradient not finite" in drawing


@pytest.mark.parametrize("sheet", [WIDE, NARROW])
@pytest.mark.parametrize("log", [False, True])
def test_everything_is_on_the_paper(sheet: Sheet, log: bool) -> None:
    root = ElementTree.fromstring(panels_svg(two_runs(log=log), sheet))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width == sheet.width
    for one in root.iter():
        if one.tag.endswith("}text"):
            assert 0 < float(one.attrib["x"]) < width
            assert 0 < float(one.attrib["y"]) < height
        if one.tag.endswith("}path"):
            places = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", one.attrib["d"])
            assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in places)


def test_names_are_safe_and_can_be_drawn_as_pixels() -> None:
    drawing = panels_svg(two_runs())
    assert "runs/&lt;b&gt;" in drawing
    assert png(drawing, 1).startswith(b"\x89PNG")
