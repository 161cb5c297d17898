"""Bins of lengths: round, complete, few, and none thin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.evaluation.length_bins import FEWEST, MOST, bounds


def test_bins_are_round() -> None:
    assert bounds([*range(1, 41)]) == [(low, low + 4) for low in range(1, 41, 5)]
    assert bounds([1, 2, 3]) == [(1, 1), (2, 2), (3, 3)]
    assert bounds([3, 17, 90, 91, 100]) == [(1, 10), (11, 20), (21, 90), (91, 100)]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([3] + [8] * 200 + [12] * 200, [(1, 8), (9, 12)]),  # a thin first bin is joined with the next
        ([2] * 200 + [8] * 200 + [12], [(1, 2), (3, 12)]),  # a thin last one with the one before
    ],
)
def test_thin_bins_are_joined(lengths: list[int], expected: list[tuple[int, int]]) -> None:
    assert bounds(lengths) == expected


@given(st.lists(st.one_of(st.integers(0, 60), st.integers(0, 10**6)), min_size=1, max_size=300))
def test_every_length_is_in_one_bin(lengths: list[int]) -> None:
    found = bounds(lengths)
    assert 1 <= len(found) <= MOST
    for length in lengths:
        assert sum(low <= length <= high for low, high in found) == 1
    for low, high in found:
        assert sum(low <= length <= high for length in lengths) >= max(1, FEWEST * len(lengths))
