"""Scales: ticks that are few, round and inside."""

import numpy as np
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
