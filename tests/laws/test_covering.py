"""Pairwise covering against a count of all pairs."""

from collections.abc import Sequence
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.covering import covering

Rows = list[tuple[int, ...]]


def pairs(rows: Sequence[tuple[int, ...]]) -> set[tuple[int, int, int, int]]:
    """(dimension, value, dimension, value) of all that occur together."""
    return {(i, row[i], j, row[j]) for row in rows for i, j in combinations(range(len(row)), 2)}


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), unique=True))
def test_every_pair_that_occurs_is_covered(rows: Rows) -> None:
    found = covering(rows)
    assert pairs(found) == pairs(rows)
    assert set(found) <= set(rows)
    assert len(set(found)) == len(found)
    assert covering(rows) == found


def test_a_full_product_needs_little_more_than_its_two_largest_dimensions() -> None:
    found = covering(list(product(range(14), range(8), range(11), range(2), range(3))))
    assert 14 * 11 <= len(found) <= 1.2 * 14 * 11
    assert pairs(found) == pairs(list(product(range(14), range(8), range(11), range(2), range(3))))


def test_nothing_is_covered_by_nothing() -> None:
    assert covering([]) == []
    assert covering([(1, 2)]) == [(1, 2)]
