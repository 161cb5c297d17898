"""The page: two drawings of which one is shown, every color with one for dark paper, nothing loaded."""

import re

from saccade.view.charts.panels_page import panels_page
from saccade.view.output import colors

from .panels_made import two_runs


def test_every_color_of_the_drawings_has_one_for_dark_paper() -> None:
    page = panels_page(two_runs())
    style, body = page.split("</style>")
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', body))
    rules = dict(re.findall(r'\[stroke="(#[0-9a-f]{6})"\] { stroke: (#[0-9a-f]{6}) }', style))
    assert len(used) > 5
    assert used <= rules.keys()
    ink, paper = (colors.lightness([int(rules[one][n : n + 2], 16) for n in (1, 3, 5)]) for one in ("#1b1f2a", "#fbfbfd"))
    assert ink > 0.8 > 0.2 > paper


def test_a_drawing_for_a_desk_and_one_for_a_phone() -> None:
    page = panels_page(two_runs())
    assert re.findall(r'<svg[^>]* width="(\d+)"', page) == ["780", "360"]
    assert re.search(r"max-width: 640px\) { \.wide { display: none }", page)


def test_nothing_is_loaded_and_names_stay_text() -> None:
    page = panels_page(two_runs())
    assert not re.search(r"(src|href)=", page)
    assert "<script" not in page
    assert "<b>" not in page
