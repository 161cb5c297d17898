"""How validations stand: the best so far, and how many there were since."""

import math

import pytest

from saccade.training.session import Standing


def test_only_a_better_score_is_better() -> None:
    standing = Standing()
    assert [standing.better([score]) for score in (0.2, 0.2, 0.3, 0.1, 0.25)] == [True, False, True, False, False]
    assert (standing.best, standing.since) == ([0.3], 2)


def test_further_scores_count_where_the_first_are_equal() -> None:
    standing = Standing(best=[0.5, -2.0])
    assert not standing.better([0.5, -3.0])
    assert standing.better([0.5, -1.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_never_better(bad: float) -> None:
    standing = Standing()
    assert not standing.better([bad])
    assert not standing.better([1.0, bad])
    assert (standing.best, standing.since) == (None, 2)
