"""Sets of words or of instances: in no order, of all sizes together, what is unknown kept or left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Bag, Example
from saccade.errors import DataError
from saccade.readers import bag
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import nothing, settings

SYSTEM = "deep_sets"
WORDS = [Example(" ".join(str(n % 3) for _ in range(1 + n % 4)), f"{(n % 3) * (1 + n % 4)}") for n in range(40)]


def bags(shape: tuple[int, ...] = (3,), count: int = 12) -> list[Example]:
    dice = np.random.default_rng(0)
    return [Example(Bag(dice.random((1 + n % 4, *shape)).astype(np.float32)), f"{n / 4}", name=str(n)) for n in range(count)]


def fitted(examples: list[Example], *words: str) -> Task:
    return made_tasks.fitted(SYSTEM, examples, *words)


@pytest.mark.parametrize("kind", ["words", "instances"])
def test_a_reader_comes_back_from_the_run(kind: str, tmp_path: Path) -> None:
    examples = WORDS if kind == "words" else bags()
    task = fitted(examples)
    task.save(tmp_path)
    assert (tmp_path / bag.FILE).exists() == (kind == "instances")
    again = Task.load(settings(SYSTEM), tmp_path)
    assert again.sizes() == task.sizes()
    one, other = (each.corpus(examples).batch([5, 2]).input for each in (task, again))
    assert one.items.equal(other.items)
    assert one.sizes.equal(other.sizes)


def test_a_batch_has_the_words_of_all_sets_one_after_the_other() -> None:
    task = fitted(WORDS)
    batch = task.reader.encode(["2 2 1", "", "0"]).batch([2, 0, 1])
    assert batch.sizes.tolist() == [1, 3, 0]
    assert batch.items.tolist() == task.reader.tokenizer.encode("0 2 2 1")


def test_instances_are_scaled() -> None:
    task = fitted(bags())
    found = task.corpus(bags()).batch(range(12)).input
    np.testing.assert_allclose(found.items.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(found.items.std(0, correction=0), 1, atol=1e-5)
    assert found.sizes.tolist() == [1, 2, 3, 4] * 3


def test_sets_of_all_sizes_come_together() -> None:
    column = fitted(WORDS).reader.encode([one.input for one in WORDS])
    assert column.sizes.tolist() == [1, 2, 3, 4] * 10
    assert set(column.lengths.tolist()) == {2}  # the mean, rounded
    assert fitted(WORDS).reader.encode([]).lengths.tolist() == []


@pytest.mark.parametrize(("unknown", "size"), [("keep", 3), ("drop", 1)])
def test_unknown_words_are_kept_or_left_out(unknown: str, size: int) -> None:
    task = fitted(WORDS, f"reader.unknown={unknown}")
    assert task.reader.encode(["1 zebra lion"]).batch([0]).sizes.tolist() == [size]
    axis = task.reader.axes(Example("1 zebra lion"))["input"]
    assert (len(axis.labels), list(axis.unknown)) == (size, [1, 2] if unknown == "keep" else [])


def test_what_does_not_fit_the_training_is_refused() -> None:
    task = fitted(bags((6, 6)))
    assert task.sizes() == {"source": None, "shape": (6, 6)}
    with pytest.raises(DataError, match=r"example 1: expected sets of items of shape .* got words"):
        task.corpus(WORDS)
    with pytest.raises(DataError, match=r"example 1 \(0\): .*got items of shape \(3,\)"):
        task.corpus(bags())


def test_items_are_shown_as_what_they_are() -> None:
    task = fitted(WORDS)
    (axis,) = task.reader.axes(Example("2 1")).values()
    assert (axis.kind, list(axis.labels)) == ("words", ["2", "1"])
    with pytest.raises(DataError, match="the set is empty"):
        task.reader.axes(Example(" "))
    pictured = bags((6, 6))
    (axis,) = fitted(pictured).reader.axes(pictured[3]).values()
    assert (axis.kind, list(axis.labels)) == ("instances", ["0", "1", "2", "3"])
    assert axis.images is not None
    assert axis.images.shape == (4, 6, 6)
    digits = Example(Bag(pictured[3].input.items, np.array([7, 0, 3, 3])))
    (axis,) = fitted(pictured).reader.axes(digits).values()
    assert list(axis.labels) == ["7", "0", "3", "3"]  # what is known of each


def test_a_line_is_a_set_of_words_and_a_file_or_array_one_of_instances() -> None:
    found: Any = fitted(WORDS).reader.parse("2 1", nothing)
    assert found.input == "2 1"
    assert fitted(WORDS).reader.parse("", nothing) is not None  # the empty set is a set
    found = fitted(bags()).reader.parse(np.zeros((2, 3)), nothing)
    assert found.input.items.shape == (2, 3)
