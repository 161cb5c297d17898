"""Scores of labels: equal to scikit-learn's, and defined where those are not."""

import warnings

import numpy as np
import pytest
from sklearn import metrics

from saccade.evaluation.labels import auc, calibration_error, confusion, label_scores, macro_f1


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
