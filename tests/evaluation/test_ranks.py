"""Scores of choices and of ranks, by hand and by a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from saccade.evaluation.ranks import chance_scores, choice_scores, rank_of, rank_scores


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


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10_000))
def test_ranks_are_those_of_scipy(count: int, levels: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    scores = dice.integers(0, levels, count).astype(float)
    assert [rank_of(scores, place) for place in range(count)] == rankdata(-scores, "average").tolist()


@given(st.integers(1, 40), st.integers(0, 10_000))
def test_scores_of_ranks_are_those_of_a_plain_loop(count: int, seed: int) -> None:
    """A rank of exactly ten is among the first ten."""
    dice = np.random.default_rng(seed)
    ranks = dice.choice([1.0, 2.0, 9.5, 10.0, 10.5, 11.0, 100.0, 101.0, np.inf], count)
    scores = rank_scores(ranks, (10, 100))
    assert scores["mrr"] == pytest.approx(sum(1 / rank for rank in ranks.tolist()) / count)
    for within in (10, 100):
        assert scores[f"recall_{within}"] == sum(rank <= within for rank in ranks.tolist()) / count


@given(st.integers(1, 20), st.integers(0, 10_000))
def test_choices_are_those_of_a_plain_loop(count: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    sets = [dice.normal(size=size) for size in dice.integers(1, 6, count)]
    truth = np.array([dice.integers(len(own)) for own in sets])
    right = [max(range(len(own)), key=own.__getitem__) == place for own, place in zip(sets, truth, strict=True)]
    scores = choice_scores(truth, sets)
    assert scores["accuracy"] == pytest.approx(sum(right) / count)
    assert scores["chance"] == pytest.approx(sum(1 / len(own) for own in sets) / count)


def test_chance_is_the_mean_over_all_places() -> None:
    for candidates, there in ((1, 1.0), (7, 0.25), (40, 0.5)):
        told = chance_scores(3, candidates, there, (10,))
        every = rank_scores(np.arange(1.0, candidates + 1), (10,))
        assert told == {
            "examples": 3,
            "mrr": pytest.approx(there * every["mrr"]),
            "recall_10": pytest.approx(there * every["recall_10"]),
        }
