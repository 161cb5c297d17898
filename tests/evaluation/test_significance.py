"""Whether differences are told from chance: against other implementations, and where the answer is known."""

import math

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar as reference

from saccade.evaluation.significance import BOOTSTRAP, MCNEMAR, compare_values, mcnemar, mean_of, paired_rows


@pytest.mark.parametrize(("only_first", "only_other"), [(0, 0), (0, 5), (3, 9), (40, 41), (900, 1000), (1, 0)])
def test_the_exact_test_is_that_of_others(only_first: int, only_other: int) -> None:
    both, neither = 7, 4
    first = np.array([1.0] * (both + only_first) + [0.0] * (only_other + neither))
    other = np.array([1.0] * both + [0.0] * only_first + [1.0] * only_other + [0.0] * neither)
    expected = reference([[both, only_first], [only_other, neither]], exact=True).pvalue
    assert mcnemar(first, other) == pytest.approx(min(1.0, expected), rel=1e-9)
    assert mcnemar(other, first) == mcnemar(first, other)


def test_the_bootstrap_agrees_with_the_normal_approximation() -> None:
    dice = np.random.default_rng(1)
    first = dice.normal(0, 1, 400)
    other = first + dice.normal(0.08, 1, 400)
    rows = paired_rows({"a": mean_of(first), "b": mean_of(other)}, 400, 2000)
    error = (other - first).std() / math.sqrt(400)
    z = (other - first).mean() / error
    assert rows["b"]["p"] == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), abs=0.03)
    assert rows["a"]["interval"] == pytest.approx(1.96 * first.std() / 20, rel=0.1)
    assert rows["b"]["difference"] == pytest.approx((other - first).mean())
    assert rows["a"]["score"] == pytest.approx(first.mean())
    assert rows == paired_rows({"a": mean_of(first), "b": mean_of(other)}, 400, 2000)  # always the same samples


def test_samples_are_paired() -> None:
    """A small difference at every example is sure, however much examples differ among themselves."""
    first = np.random.default_rng(2).normal(0, 10, 50)
    test, rows = compare_values({"a": first, "b": first + 0.01}, 200)
    assert test == BOOTSTRAP
    assert rows["b"]["p"] == pytest.approx(1 / 201)


def test_right_and_wrong_take_the_exact_test_and_weights_do_not() -> None:
    values = {"a": np.array([1.0, 0.0, 1.0, 1.0]), "b": np.array([0.0, 0.0, 0.0, 1.0])}
    test, rows = compare_values(values, 20)
    assert (test, rows["b"]["p"], rows["a"]["p"]) == (MCNEMAR, 0.5, None)
    assert rows["b"]["difference"] == -0.5
    test, rows = compare_values(values, 20, np.array([1.0, 1.0, 1.0, 5.0]))
    assert (test, rows["a"]["score"]) == (BOOTSTRAP, 7 / 8)


def test_samples_without_a_score_do_not_count() -> None:
    values = np.array([1.0, 2.0, 4.0])

    def score(chosen: np.ndarray) -> float:
        return math.nan if 2 not in chosen else float(values[chosen].mean())

    rows = paired_rows({"a": score, "b": score}, 3, 100)
    assert all(value is None or math.isfinite(value) for row in rows.values() for value in row.values())
    assert rows["b"]["p"] == 1.0
