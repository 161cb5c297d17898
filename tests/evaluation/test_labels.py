"""Scores of labels: equal to scikit-learn's, and defined where those are not."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from saccade.evaluation.labels import TINY, auc, calibration_error, confusion, label_scores, macro_f1, mean_auc


def drawn(labels: int, count: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and probabilities that know something of them; some are equal."""
    dice = np.random.default_rng(seed)
    truth = dice.integers(0, labels, count)
    weights = np.round(dice.random((count, labels)) + 0.4 * np.eye(labels)[truth], 1) + 0.05
    return truth, weights / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_scores_are_those_of_scikit_learn(labels: int) -> None:
    truth, probabilities = drawn(labels)
    chosen = probabilities.argmax(1)
    scores = label_scores(truth, probabilities)
    assert scores["examples"] == len(truth)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(truth, chosen))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(truth, chosen, average="macro"))
    assert scores["loss"] == pytest.approx(metrics.log_loss(truth, probabilities))
    given = probabilities[:, 1] if labels == 2 else probabilities
    assert scores["auc"] == pytest.approx(metrics.roc_auc_score(truth, given, multi_class="ovr"))
    assert confusion(truth, chosen, labels).tolist() == metrics.confusion_matrix(truth, chosen).tolist()


def test_area_counts_equal_scores_half() -> None:
    assert auc(np.array([True, False]), np.array([0.5, 0.5])) == 0.5
    assert auc(np.array([True, False, False]), np.array([0.5, 0.5, 0.1])) == 0.75


def test_where_a_label_never_comes_there_is_no_area() -> None:
    truth, probabilities = drawn(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "auc" not in label_scores(np.minimum(truth, 1), probabilities)
        assert macro_f1(confusion(np.array([0, 0]), np.array([0, 0]), 3)) == 1.0


def test_calibration_is_the_gap_between_confidence_and_accuracy() -> None:
    sure = np.array([[0.9, 0.1]] * 10)
    assert calibration_error(np.array([0] * 9 + [1]), sure) == pytest.approx(0.0)
    assert calibration_error(np.array([0] * 5 + [1] * 5), sure) == pytest.approx(0.4)
    assert calibration_error(np.array([0]), np.full((1, 2), np.nan)) == 1.0  # of a model that has gone wrong
    assert calibration_error(np.array([1] * 10), np.array([[1.0, 0.0]] * 10)) == 1.0


@given(st.integers(2, 6), st.integers(1, 60), st.integers(0, 10_000))
def test_every_score_is_that_of_a_plain_loop(labels: int, count: int, seed: int) -> None:
    """Also where labels never occur, are never predicted, or are all one: what scikit-learn warns of or refuses."""
    truth, probabilities = drawn(labels, count, seed)
    chosen, scores = probabilities.argmax(1), label_scores(truth, probabilities)
    assert scores["examples"] == count
    assert scores["accuracy"] == pytest.approx(sum(chosen == truth) / count)
    assert scores["loss"] == pytest.approx(
        -sum(np.log(row[label]) for row, label in zip(probabilities, truth, strict=True)) / count
    )
    counts = [[sum((truth == i) & (chosen == j)) for j in range(labels)] for i in range(labels)]
    assert confusion(truth, chosen, labels).tolist() == counts
    seen = sorted({*truth.tolist(), *chosen.tolist()})
    expected = metrics.f1_score(truth, chosen, labels=seen, average="macro", zero_division=0)
    assert scores["macro_f1"] == pytest.approx(expected)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 8), st.integers(0, 10_000))
def test_the_area_counts_pairs(positives: int, negatives: int, levels: int, seed: int) -> None:
    """Few levels: many positives score as much as a negative does."""
    dice = np.random.default_rng(seed)
    positive = dice.permutation([True] * positives + [False] * negatives)
    score = dice.integers(0, levels, len(positive)).astype(float)
    won = [(above > below) + (above == below) / 2 for above in score[positive] for below in score[~positive]]
    assert auc(positive, score) == pytest.approx(np.mean(won))


def test_of_two_labels_the_area_is_the_seconds_and_of_more_the_mean_of_all() -> None:
    truth = np.array([0, 0, 1, 1, 2])
    probabilities = np.array([[0.5, 0.4, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])
    areas = [metrics.roc_auc_score(truth == label, probabilities[:, label]) for label in range(3)]
    assert len(set(areas)) == 3
    assert mean_auc(truth, probabilities) == pytest.approx(np.mean(areas))
    certain = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    assert mean_auc(np.array([0, 1, 1]), certain) == 1.0
    assert mean_auc(np.array([1, 0, 0]), certain) == 0.0


@given(st.integers(2, 5), st.integers(1, 80), st.integers(1, 12), st.integers(0, 10_000))
def test_calibration_is_that_of_a_loop_over_bins(labels: int, count: int, bins: int, seed: int) -> None:
    truth, probabilities = drawn(labels, count, seed)
    confidence, right = probabilities.max(1), probabilities.argmax(1) == truth
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = (confidence * bins >= low * bins) & ((confidence * bins < high * bins) | (number == bins - 1))
        if inside.any():  # the gap of each bin counts by how many are in it (Naeini et al. 2015)
            total += inside.sum() / count * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(truth, probabilities, bins) == pytest.approx(total, abs=1e-12)


def test_calibration_has_ten_bins_unless_told() -> None:
    """Confidences of 0.61 and 0.69 share a bin, those of 0.69 and 0.71 do not."""

    def two(first: float, second: float) -> np.ndarray:
        return np.array([[first, 1 - first], [second, 1 - second]])

    together, apart = (
        label_scores(np.array([0, 1]), two(*pair))["calibration_error"] for pair in ((0.61, 0.69), (0.69, 0.71))
    )
    assert together == pytest.approx(abs(1 - 0.61 - 0.69) / 2)
    assert apart == pytest.approx((abs(1 - 0.69) + 0.71) / 2)


def test_a_probability_of_nothing_costs_much_but_not_all() -> None:
    scores = label_scores(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert scores["loss"] == pytest.approx(-np.log(TINY) / 2)
