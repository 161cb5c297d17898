"""A chart saves itself as the kind of file that its name says."""

from pathlib import Path

import pytest

from saccade.errors import UsageError
from saccade.view.charts.run_plot import RunPlot

from .panels_made import two_runs


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!doctype html>")])
def test_a_file_is_of_the_kind_that_its_name_says(name: str, start: bytes, tmp_path: Path) -> None:
    path = RunPlot(two_runs()).save(tmp_path / name, scale=1)
    assert path.read_bytes().startswith(start)
    assert ('class="narrow"' in path.read_text(errors="replace")) == (name == "a.html")


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.svg, \.png, \.html, got \.gif"):
        RunPlot(two_runs()).save(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_it_shows_itself() -> None:
    chart = RunPlot(two_runs())
    assert repr(chart) == "RunPlot(runs/a, runs/<b>)"
    assert str(chart) == chart.terminal()
    assert chart._repr_svg_().startswith("<svg")
