"""Scores of numbers, by hand and by a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.evaluation.numbers import number_scores


def test_numbers_count_as_right_when_rounded() -> None:
    scores = number_scores(np.array([8.0, 8.0, 10.0]), np.array([8.4, 7.4, 10.0]), 0)
    assert scores == {"examples": 3, "exact_match": pytest.approx(2 / 3), "mae": pytest.approx(1 / 3)}
    assert number_scores(np.array([0.25]), np.array([0.26]), 2)["exact_match"] == 0.0
    assert number_scores(np.array([0.25]), np.array([0.2501]), 2)["exact_match"] == 1.0


@given(st.integers(1, 50), st.integers(0, 3), st.integers(0, 10_000))
def test_numbers_are_judged_as_a_plain_loop_judges_them(count: int, digits: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    truth = dice.normal(0, 3, count).round(digits)
    said = truth + dice.normal(0, 10.0**-digits, count)
    right = [round(a, digits) == round(b, digits) for a, b in zip(said.tolist(), truth.tolist(), strict=True)]
    errors = [abs(a - b) for a, b in zip(said.tolist(), truth.tolist(), strict=True)]
    scores = number_scores(truth, said, digits)
    assert scores == {
        "examples": count,
        "exact_match": pytest.approx(sum(right) / count),
        "mae": pytest.approx(sum(errors) / count),
    }
