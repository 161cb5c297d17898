"""Numbers: written as those of the training data, scored in their own units, and for each group."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.examples import Bag, Example
from saccade.errors import DataError
from saccade.task import Task
from saccade.writers.number import FILE, NumberScale
from saccade.writers.writer import Prediction
from tests import made_tasks
from tests.made_tasks import options, predictions, settings
from tests.writers.trained import trained

SYSTEM = "deep_sets"
SIZES = ("model.hidden_sizes=[8, 6]",)


def sums(count: int = 40, times: int = 1) -> list[Example]:
    return [
        Example(" ".join(str(n % 3) for _ in range(1 + n % 4)), f"{times * (n % 3) * (1 + n % 4)}") for n in range(count)
    ]


def bags(count: int = 12) -> list[Example]:
    dice = np.random.default_rng(0)
    return [Example(Bag(dice.random((1 + n % 4, 3)).astype(np.float32)), f"{n / 4}", name=str(n)) for n in range(count)]


def fitted(examples: list[Example], *words: str) -> Task:
    return made_tasks.fitted(SYSTEM, examples, *SIZES, *words)


def model(task: Task) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, loud=1.0)


@pytest.mark.parametrize(
    ("targets", "digits", "text"),
    [
        (["8", "-3"], 0, "2"),
        (["0.5", "2"], 1, "2.3"),
        (["1e3", "2.25e-1"], 2, "2.35"),
        (["3.14159265358979"], 6, "2.345678"),
    ],
)
def test_numbers_are_written_as_those_of_the_training_data(targets: list[str], digits: int, text: str) -> None:
    found = NumberScale.of([Example("a", target) for target in targets])
    assert found.digits == digits
    assert found.text(2.345678) == text
    assert found.text(-1e-9) == f"{0:.{digits}f}"


@pytest.mark.parametrize("target", ["many", "nan", "inf", ""])
def test_what_is_no_number_is_told(target: str) -> None:
    examples = [Example("a", "1"), Example("b", target)]
    with pytest.raises(DataError, match="example 2: expected a number as target"):
        NumberScale.of(examples)
    assert [index for index, _ in fitted(sums()).writer.flaws(examples)] == [1]


@pytest.mark.parametrize("kind", ["words", "instances"])
def test_a_task_comes_back_from_its_run(kind: str, tmp_path: Path) -> None:
    examples = sums() if kind == "words" else bags()
    task = fitted(examples)
    task.save(tmp_path)
    again = Task.load(settings(SYSTEM, *SIZES), tmp_path)
    assert again.sizes() == task.sizes()
    made = model(task)
    one, other = ([best.text for best in each.best(made, examples, options())] for each in (task, again))
    assert one == other
    for damaged in ("[]", "{", '{"size": 1}'):
        (tmp_path / FILE).write_text(damaged)
        with pytest.raises(DataError, match=r"numbers\.json: cannot be read"):
            Task.load(settings(SYSTEM, *SIZES), tmp_path)


def test_scores_come_apart_by_group_in_their_order() -> None:
    examples = [Example(one.input, one.target, f"size {len(one.input.split())}") for one in reversed(sums())]
    task = fitted(examples, "writer.metric=exact_match")
    made = trained(model(task), task, examples, 60)
    found = task.evaluate(made, examples, options())
    assert set(found["all"]) == {"examples", *task.writer.metrics(task.writer.config)}
    assert list(found) == ["all", "size 4", "size 3", "size 2", "size 1"]
    right = np.mean([own.target == one.text for own, one in zip(examples, found.predictions, strict=True)])
    assert found["all"]["exact_match"] == pytest.approx(right)
    assert sum(part["examples"] for name, part in found.items() if name != "all") == 40
    assert task.writer.best(found) == [found["all"]["exact_match"], -found["all"]["mae"]]
    assert fitted(sums(), "writer.metric=mae").writer.best(found) == [-found["all"]["mae"]]
    bins = task.by_length(examples, found.predictions)
    assert [(row["shortest"], row["examples"]) for row in bins] == [(1, 10), (2, 10), (3, 10), (4, 10)]


def test_errors_are_in_the_numbers_own_units_and_those_of_each_size_too() -> None:
    """What a plain loop over single sets finds; numbers are learned divided by their size, but not told so."""
    examples = sums(times=100)
    task = fitted(examples)
    made = model(task)
    with torch.no_grad():
        alone = [float(made.numbers(task.corpus([one]).batch([0]).input)) * task.writer.scale.size for one in examples]
    errors = [abs(value - float(one.target)) for value, one in zip(alone, examples, strict=True)]
    found = task.evaluate(made, examples, options())
    assert found["all"]["mae"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert [float(one.values) for one in found.predictions] == pytest.approx(alone, rel=1e-4)
    for row in task.by_length(examples, found.predictions):
        own = [n for n, one in enumerate(examples) if row["shortest"] <= len(one.input.split()) <= row["longest"]]
        gaps = [abs(float(found.predictions[n].text) - float(examples[n].target)) for n in own]
        assert row["examples"] == len(own)
        assert row["mae"] == pytest.approx(np.mean(gaps))


def test_sets_of_instances_are_as_long_as_they_have_items() -> None:
    task = fitted(bags())
    assert task.writer.lengths(bags()) == [1, 2, 3, 4] * 3
    rows = task.by_length(bags(), [Prediction(one.target) for one in bags()])
    assert [(row["shortest"], row["exact_match"]) for row in rows] == [(size, 1.0) for size in (1, 2, 3, 4)]


def test_a_line_is_a_set_and_an_empty_line_the_empty_one() -> None:
    task = fitted(sums())
    made = trained(model(task), task, sums(), 300, 0.02)
    found = [best[0].text for best in predictions(task, made, ["2 2 1", "1 2 2", "2 2 2 2"])]
    assert found[0] == found[1] == "5"
    assert found[2] == "8"
    ((empty,),) = predictions(task, made, [""])
    # What is predicted of nothing is what the model makes of a sum of 0: its last layer's bias, scaled back.
    assert empty.text == task.writer.scale.text(made.output(torch.zeros(1, 6)).item() * task.writer.scale.size)
    assert abs(int(empty.text)) <= 1


def test_a_picture_says_what_is_known() -> None:
    task = fitted(sums())
    ((one,),) = predictions(task, model(task), ["2 1"])
    assert list(task.writer.axes(one)["output"].labels) == [one.text]
    assert task.writer.notes(Example("2 1"), one) == {}
    assert task.writer.notes(Example("2 1", "3"), one) == {"known number": "3"}
