"""The estimator that takes bags: it finds the instance that makes a bag what it is."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from saccade.errors import SaccadeError
from saccade.estimators import AttentionMILClassifier

SMALL: dict[str, Any] = {"widths": (16,), "hidden": 8, "dropout": 0.0, "steps": 150, "rate": 1e-2, "batch": 60}


def bags(count: int = 40) -> tuple[list[np.ndarray], np.ndarray]:
    dice = np.random.default_rng(0)
    found, labels = [], []
    for number in range(count):
        items = dice.normal(size=(int(dice.integers(2, 7)), 3))
        if number % 2:
            items[0] = (6, 6, 0)
        found.append(items)
        labels.append("yes" if number % 2 else "no")
    return found, np.array(labels)


def test_it_learns_which_bags_and_which_instances() -> None:
    X, y = bags()
    estimator = AttentionMILClassifier(**SMALL).fit(X, y)
    assert estimator.classes_.tolist() == ["no", "yes"]
    assert estimator.score(X, y) == 1.0
    assert np.allclose(estimator.predict_proba(X).sum(1), 1)
    weights = estimator.weights(X)
    assert [len(one) for one in weights] == [len(items) for items in X]
    assert all(one.argmax() == 0 for one in weights[1::2])
    assert all(one.sum() == pytest.approx(1, abs=1e-5) for one in weights)


def test_the_seed_decides_and_nothing_else() -> None:
    X, y = bags()
    torch.manual_seed(1)
    one = AttentionMILClassifier(**SMALL).fit(X, y).predict_proba(X)
    before = torch.random.get_rng_state()
    other = clone(AttentionMILClassifier(**SMALL)).fit(X, y).predict_proba(X)
    assert np.array_equal(one, other)
    assert torch.equal(before, torch.random.get_rng_state())  # whoever calls keeps his own chance
    third = AttentionMILClassifier(**{**SMALL, "seed": 1}).fit(X, y).predict_proba(X)
    assert not np.array_equal(one, third)


def test_it_can_be_cross_validated() -> None:
    X, y = bags()
    ragged = np.empty(len(X), dtype=object)
    ragged[:] = X
    assert cross_val_score(AttentionMILClassifier(**SMALL), ragged, y, cv=3).mean() > 0.9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X, y[:-1]), "a label for each"),
        (lambda X, y: (X, ["a"] * len(y)), "at least 2 different labels"),
        (lambda X, y: ([*X[:-1], np.zeros(3)], y), "bag 39: expected an array"),
        (lambda X, y: ([*X[:-1], np.full((2, 3), np.nan)], y), "bag 39: expected finite"),
        (lambda X, y: ([*X[:-1], np.zeros((2, 4))], y), "one shape"),
        (lambda X, y: ([], []), "at least one bag"),
    ],
)
def test_what_cannot_be_learned_is_told(change, words: str) -> None:  # type: ignore[no-untyped-def]
    X, y = change(*bags())
    with pytest.raises(SaccadeError, match=words):
        AttentionMILClassifier(**SMALL).fit(X, y)


def test_what_cannot_be_asked_is_told() -> None:
    X, y = bags()
    with pytest.raises(SaccadeError, match="pool: expected"):
        AttentionMILClassifier(pool="none").fit(X, y)
    estimator = AttentionMILClassifier(**{**SMALL, "pool": "mean", "steps": 5}).fit(X, y)
    with pytest.raises(SaccadeError, match="weighs nothing"):
        estimator.weights(X)
    with pytest.raises(SaccadeError, match="expected 3 features"):
        estimator.predict([np.zeros((2, 4))])
