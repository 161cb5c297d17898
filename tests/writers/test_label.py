"""What all tasks with labels report, of a model that says what it is told: counted by hand and by scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from saccade.tasks.labels import Labels, LabelTask
from sklearn import metrics

from saccade.data.examples import Pair, in_order
from saccade.search import Config as SearchConfig

NAMES = ["a", "b", "c"]
SEARCH = SearchConfig()


class Given:
    """Examples whose source is the number of a row of logits; their lengths are in no order."""

    def __init__(self, examples: Sequence[Pair]) -> None:
        self.rows = [int(example.source) for example in examples]
        self.lengths = np.array([1 + 7 * row % 5 for row in self.rows], dtype=np.int64)

    def batch(self, indices: Any) -> list[int]:
        return [self.rows[i] for i in indices]


class Told(LabelTask):
    """Labels of what was given."""

    BUDGET = 12

    def corpus(self, examples: Sequence[Pair]) -> Given:
        return Given(examples)


def logits(count: int = 40) -> torch.Tensor:
    return torch.randn(count, len(NAMES), generator=torch.Generator().manual_seed(1)) * 2


def model(count: int = 40) -> Any:
    """Says the row that it is asked for."""
    table = logits(count)
    found: Any = torch.nn.Module()
    found.forward = lambda rows: table[rows]
    return found


def examples(count: int = 40) -> list[Pair]:
    """Labels that the logits know something of, in two groups and none."""
    dice = np.random.default_rng(2)
    right = logits(count).argmax(1).tolist()
    labels = [place if dice.random() < 0.6 else int(dice.integers(3)) for place in right]
    return [Pair(str(row), NAMES[label], ("", "one", "two")[row % 3]) for row, label in enumerate(labels)]


@pytest.mark.parametrize("group", ["all", "one", "two"])
def test_scores_of_each_group_are_scikit_learns(group: str) -> None:
    task = Told(Labels(NAMES), "accuracy")
    scores = task.evaluate(model(), examples(), SEARCH)
    assert list(scores) == ["all", "one", "two"]
    chosen = [pair for pair in examples() if group in ("all", pair.group)]
    truth = [NAMES.index(pair.target) for pair in chosen]
    shares = logits()[[int(pair.source) for pair in chosen]].double().softmax(-1).numpy()
    said = shares.argmax(1)
    assert scores[group]["examples"] == len(chosen)
    assert scores[group]["accuracy"] == pytest.approx(metrics.accuracy_score(truth, said))
    assert scores[group]["macro_f1"] == pytest.approx(metrics.f1_score(truth, said, average="macro"))
    assert scores[group]["loss"] == pytest.approx(metrics.log_loss(truth, shares, labels=range(3)))
    assert scores[group]["auc"] == pytest.approx(metrics.roc_auc_score(truth, shares, multi_class="ovr"))


def test_the_confusion_matrix_has_what_is_true_down_and_what_was_said_across() -> None:
    task = Told(Labels(NAMES), "accuracy")
    said = task.answers(model(), examples(), SEARCH)
    told = task.details(examples(), said)["confusion"]
    expected = metrics.confusion_matrix([pair.target for pair in examples()], said, labels=NAMES)
    assert (expected != expected.T).any()
    assert told == {"labels": NAMES, "counts": expected.tolist()}


def test_progress_counts_examples() -> None:
    done: list[int] = []
    Told(Labels(NAMES), "accuracy").probabilities(model(), examples(), done.append)
    assert done == sorted(done)
    assert done[-1] == 40


def test_among_equals_the_lower_loss_is_better_and_what_is_missing_is_worst() -> None:
    task = Told(Labels(NAMES), "auc")
    assert task.judged({"all": {"auc": 0.7, "loss": 2.0}}) == [0.7, -2.0]
    assert task.judged({"all": {"loss": 2.0}}) == [0.0, -2.0]
    assert Told(Labels(NAMES), "loss").judged({"all": {"auc": 0.7, "loss": 2.0}}) == [-2.0]


def test_labels_that_are_numbers_come_by_their_size_and_before_words() -> None:
    labels = ["b", "10", "-3", "2", "nan", "a", "1e2", "0.5"]
    assert in_order(labels) == ["-3", "0.5", "2", "10", "1e2", "a", "b", "nan"]
    assert in_order(reversed(labels)) == in_order(labels)
