"""Scales: ticks that are few, round and inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.view.output import scales


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(2, 20))
def test_ticks_are_few_and_inside(one: float, other: float, count: int) -> None:
    low, high = sorted((one, other))
    found = scales.ticks(low, high, count)
    assert len(found) <= count + 1
    slack = 0.005 * (high - low) + 1e-9 * max(abs(low), abs(high))
    assert np.all((found >= low - slack) & (found <= high + slack))
    assert len(found) > 1 or high - low < 1e-290


@pytest.mark.parametrize(
    ("high", "texts"),
    [
        (100.0, ["0", "20", "40", "60", "80", "100"]),
        (9000.0, ["0", "2000", "4000", "6000", "8000"]),
        (50_000.0, ["0", "10k", "20k", "30k", "40k", "50k"]),
        (2e6, ["0", "0.5M", "1M", "1.5M", "2M"]),
        (4e9, ["0", "1G", "2G", "3G", "4G"]),
    ],
)
def test_counts_are_told_in_thousands_and_millions(high: float, texts: list[str]) -> None:
    assert [text for _, text in scales.CountScale(0, high).marks()] == texts


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 4, ["1", "10", "100", "1e+03", "1e+04"]),
        (-1, 1, ["0.1", "1", "10"]),
        (0, 1, ["1", "2", "5", "10"]),
        (0.1, 0.2, ["1.26", "1.58"]),
    ],
)
def test_marks_of_logarithms_are_round_where_they_can_be(low: float, high: float, texts: list[str]) -> None:
    marks = scales.LogScale(low, high).marks()
    assert [text for _, text in marks] == texts
    assert all(-1e-9 <= place <= 1 + 1e-9 for place, _ in marks)


def test_logarithms_of_what_is_not_above_zero_have_no_place() -> None:
    assert np.isnan(scales.LogScale(0, 1)([0.0, -1.0, np.nan])).all()
    assert float(scales.LogScale(0, 2)(10.0)) == 0.5
