"""What is drawn of many numbers: means of neighbors, peaks that stay, scales that hold everything."""

import numpy as np
import pytest

from saccade.view.charts.panels import FINEST, Curve, Panel, Panels, smoothed, thinned
from saccade.view.output.scales import CountScale, LogScale

from .panels_made import X, two_runs


def test_a_mean_is_that_of_neighbors() -> None:
    values = np.array([1.0, 2.0, 6.0, 3.0])
    assert smoothed(values, 1).tolist() == values.tolist()
    assert smoothed(values, 3) == pytest.approx([1.5, 3.0, 11 / 3, 4.5])
    assert smoothed(values, 99) == pytest.approx([3.0] * 4)


def test_a_hole_stays_a_hole_and_spoils_no_neighbor() -> None:
    assert smoothed(np.array([1.0, np.nan, 3.0]), 3) == pytest.approx([1.0, np.nan, 3.0], nan_ok=True)


def test_peaks_and_holes_outlive_thinning() -> None:
    x = np.arange(100_000, dtype=np.float64)
    y = np.sin(x / 9000)
    y[54_321], y[77_777] = 5.0, np.nan
    across, up = thinned(x, y)
    assert len(across) <= 3 * FINEST
    assert (across[np.nanargmax(up)], np.nanmax(up)) == (54_321, 5.0)
    assert 77_777 in across[np.isnan(up)]
    assert (np.diff(across) > 0).all()


def test_few_points_are_not_thinned() -> None:
    assert thinned(X, X)[0] is X


def test_the_axis_holds_all_panels_and_heights_all_curves() -> None:
    chart = two_runs()
    low, high = chart.span
    assert low < 1 < 4 < high
    scale = chart.panels[0].up(0, 1)
    assert 0 <= float(scale(0.5)) < float(scale(9.0)) <= 1  # what was smoothed, too
    assert isinstance(chart.horizontal(0, 1), CountScale)


def test_what_is_all_zero_stands_at_the_bottom() -> None:
    scale = Panel("bleu", [Curve(0, X, np.zeros(4))]).up(0, 1)
    assert 0 < float(scale(0.0)) < 0.1


def test_logarithms_leave_out_what_is_not_above_zero() -> None:
    scale = Panel("loss", [Curve(0, X, np.array([100.0, 10.0, 1.0, 0.0]))], log=True).up(0, 1)
    assert isinstance(scale, LogScale)
    assert float(scale(10.0)) == pytest.approx(0.5)
    assert np.isnan(scale(0.0))


def test_nothing_that_can_be_drawn_still_has_axes() -> None:
    empty = Panels("", ["a"], [Panel("loss", [Curve(0, X, np.full(4, np.nan))], log=True)], "steps")
    assert len(empty.panels[0].up(0, 1).marks()) >= 2
