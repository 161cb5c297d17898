"""The work of glimpses and of a convolution, counted."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from saccade.lab import glimpse_work as lab


def test_glimpses_cost_the_same_in_any_picture_but_a_convolution_grows_with_it() -> None:
    sides = (60, 120, 240)
    found = lab.measured(sides)
    glimpsing, convolving = found[lab.GLIMPSING], found[lab.CONVOLVING]
    # Six glimpses: what is seen, where, and both joined; the core; at the end the label.
    each = 432 * 128 + 2 * 128 + 2 * 128 * 256 + 2 * 256 * 256
    assert glimpsing == [2 * (6 * each + 5 * (2 + 1) * 256 + 10 * 256)] * 3
    for side, count in zip(sides, convolving, strict=True):
        places = ((side - 10) // 5 + 1) ** 2
        assert count == 2 * (places * 8 * 100 + places * 8 * 256 + 2560)
    assert convolving[2] / convolving[0] == pytest.approx(16, rel=0.2)


def test_it_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab.main(["--svg", str(tmp_path / "work.svg")])
    rows = capsys.readouterr().out.splitlines()
    assert len(set(rows[1].split()[-5:])) == 1
    assert len(set(rows[2].split()[-5:])) == 5
    assert ElementTree.parse(tmp_path / "work.svg").getroot().tag.endswith("svg")
