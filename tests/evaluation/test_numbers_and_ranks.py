"""Scores of numbers and of ranks, by hand."""

import numpy as np
import pytest

from saccade.evaluation.numbers import number_scores
from saccade.evaluation.ranks import chance_scores, choice_scores, rank_of, rank_scores


def test_numbers_count_as_right_when_rounded() -> None:
    scores = number_scores(np.array([8.0, 8.0, 10.0]), np.array([8.4, 7.4, 10.0]), 0)
    assert scores == {"examples": 3, "exact": pytest.approx(2 / 3), "mae": pytest.approx(1 / 3)}
    assert number_scores(np.array([0.25]), np.array([0.26]), 2)["exact"] == 0.0
    assert number_scores(np.array([0.25]), np.array([0.2501]), 2)["exact"] == 1.0


def test_a_choice_is_right_or_not() -> None:
    scores = choice_scores(np.array([1, 0]), [np.array([0.0, 2.0]), np.array([1.0, 3.0, 2.0, 0.0])])
    assert scores == {"examples": 2, "accuracy": 0.5, "chance": pytest.approx((1 / 2 + 1 / 4) / 2)}


def test_equal_scores_share_their_ranks() -> None:
    scores = np.array([3.0, 1.0, 3.0, 0.0, -np.inf])
    assert [rank_of(scores, place) for place in range(4)] == [1.5, 3.0, 1.5, 4.0]
    assert rank_of(np.zeros(5), 2) == 3.0  # who says nothing is in the middle


def test_ranks() -> None:
    scores = rank_scores(np.array([1.0, 4.0, np.inf, 20.0]), (10, 100))
    assert scores == {"examples": 4, "mrr": pytest.approx((1 + 0.25 + 0.05) / 4), "recall_10": 0.5, "recall_100": 0.75}


def test_chance_is_what_a_shuffled_order_comes_to() -> None:
    told = chance_scores(5, 50, 1.0, (10, 100))
    dice = np.random.default_rng(0)
    found = rank_scores(dice.integers(1, 51, 40_000).astype(float), (10, 100))
    assert told["mrr"] == pytest.approx(found["mrr"], rel=0.05)
    assert told["recall_10"] == pytest.approx(0.2)
    assert told["recall_100"] == 1.0
    assert chance_scores(5, 50, 0.5, (10,))["recall_10"] == pytest.approx(0.1)
