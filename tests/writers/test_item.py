"""One item of a set: marked in the data, chosen by its score, and shown beside the others."""

from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.examples import Bag, Example, Splits
from saccade.errors import DataError, InputError
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import options, predictions, scene
from tests.writers.trained import trained

SYSTEM = "set_outlier"
SIZES = ("model.hidden_size=8",)


def bags(odd: float = 0.0, count: int = 12) -> list[Example]:
    """Sets of four rows, one of them marked and so much larger than the others."""
    dice, marks = np.random.default_rng(0), np.eye(4, dtype=np.int64)
    rows = [dice.random((4, 3)).astype(np.float32) + np.float32(odd) * marks[n % 4][:, None] for n in range(count)]
    return [Example(Bag(own.astype(np.float32), marks[n % 4]), name=str(n)) for n, own in enumerate(rows)]


def fitted() -> Task:
    return made_tasks.fitted(SYSTEM, bags(), *SIZES)


def model(task: Task) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, loud=1.0)


def test_choices_are_scored_set_by_set() -> None:
    task, found = fitted(), bags()
    made, corpus = model(task), task.corpus(found)
    with torch.no_grad():
        batches = [corpus.batch([n]) for n in range(len(found))]
        right = [int(made.scores(batch.input).argmax()) == int(batch.target.labels) for batch in batches]
        losses = [float(made(batch).loss) for batch in batches]
    scores = task.evaluate(made, found, options())["all"]
    assert scores["accuracy"] == pytest.approx(np.mean(right))
    assert scores["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert scores["chance"] == 0.25


def test_the_odd_one_is_learned_and_shown() -> None:
    task, found = fitted(), bags(odd=3.0)
    made = trained(model(task), task, found, 60, 0.01)
    whole = task.evaluate(made, found, options())
    assert set(whole["all"]) == {"examples", *task.writer.metrics(task.writer.config)}
    assert (whole["all"]["accuracy"], whole["all"]["chance"], whole["all"]["examples"]) == (1.0, 0.25, 12)
    assert [one.text for one in whole.predictions] == [str(n % 4) for n in range(12)]

    def own() -> Splits:
        return Splits(found, [], found)

    best, empty = predictions(task, made, ["test#2", ""], options(2, looks=True), own)
    assert (best[0].text, empty[0].text) == ("2", "")
    assert best[0].log_prob > best[1].log_prob
    drawn = scene(task, made, "test#2", splits=own)
    assert list(drawn.axes["input"].labels) == ["0", "1", "2 *", "3"]
    assert drawn.looks[0].weights.sum() == pytest.approx(1, abs=1e-5)
    assert int(drawn.looks[0].weights.argmax()) == 2
    assert drawn.title == "test#2: 2"
    assert drawn.notes["marked item"] == "2 *"
    with pytest.raises(InputError, match=r"expected test#0 to test#11"):
        predictions(task, made, ["test#12"], splits=own)


def test_sets_of_different_sizes_do_not_mix() -> None:
    task = fitted()
    made, dice = model(task), np.random.default_rng(1)
    sets = [dice.random((size, 3)).astype(np.float32) for size in (2, 7, 4)]
    together = predictions(task, made, sets, options(2, looks=True))
    for rows, best in zip(sets, together, strict=True):
        (alone,) = predictions(task, made, [rows], options(2, looks=True))
        assert [one.text for one in best] == [one.text for one in alone]
        np.testing.assert_allclose(best[0].looks[0].weights, alone[0].looks[0].weights, atol=1e-6)
        assert best[0].looks[0].weights.shape == (1, 1, len(rows))


@pytest.mark.parametrize("marks", [None, [0, 0, 0, 0], [1, 0, 1, 0]])
def test_one_item_must_be_marked(marks: list[int] | None) -> None:
    own = None if marks is None else np.array(marks)
    with pytest.raises(DataError, match="one of them marked"):
        fitted().corpus([Example(Bag(np.zeros((4, 3), np.float32), own))])


def test_one_item_alone_is_no_choice() -> None:
    with pytest.raises(DataError, match="expected at least 2 items, one of them marked, got 1 with 1 marked"):
        fitted().corpus([Example(Bag(np.zeros((1, 3), np.float32), np.ones(1, np.int64)))])


@pytest.mark.parametrize(("metric", "names"), [("accuracy", ["accuracy", "loss"]), ("loss", ["loss"])])
def test_the_best_is_chosen_by_the_metric(metric: str, names: list[str]) -> None:
    task = made_tasks.fitted(SYSTEM, bags(), *SIZES, f"writer.metric={metric}")
    assert task.writer.choose_by() == names
    assert task.writer.main().name == "accuracy"
