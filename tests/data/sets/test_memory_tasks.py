"""The tasks of Turing machines: every answer is right by the rule of its task."""

from itertools import pairwise

import pytest

from saccade.data.examples import Example
from saccade.data.sets.memory_tasks import Config, load


def some(task: str) -> list[Example]:
    splits = load(Config(task=task, train_size=20, valid_size=5, test_size=3))  # type: ignore[arg-type]
    return [*splits.train, *splits.valid, *splits.test]


def asked(example: Example) -> tuple[list[str], list[str]]:
    """What is shown, and the answer, which has a point each."""
    shown, answer = example.input.split(), example.target.split()
    assert shown[len(shown) - len(answer) :] == ["."] * len(answer)
    return shown[: len(shown) - len(answer)], answer


def test_copies_are_what_was_shown() -> None:
    for example in some("copy"):
        shown, answer = asked(example)
        assert [*answer, ">"] == shown
        assert all(len(vector) == 8 for vector in answer)


def test_repetitions_are_as_many_as_asked_for() -> None:
    for example in some("repeat_copy"):
        shown, answer = asked(example)
        assert answer == shown[:-1] * int(shown[-1].removeprefix("repeat="))


def test_the_item_after_the_one_that_is_asked_for_is_recalled() -> None:
    for example in some("associative_recall"):
        shown, answer = asked(example)
        place = shown.index("?")
        items = [part.split() for part in " ".join(shown[:place]).split("|")[1:]]
        assert shown[-1] == ">"
        assert (shown[place + 1 : -1], answer) in pairwise(items)


def test_vectors_are_sorted_by_their_priority() -> None:
    for example in some("priority_sort"):
        shown, answer = asked(example)
        pairs = [(float(priority), vector) for vector, priority in (word.split("@") for word in shown[:-1])]
        assert answer == [vector for _, vector in sorted(pairs, key=lambda pair: -pair[0])][:16]


@pytest.mark.parametrize("task", ["copy", "repeat_copy", "associative_recall", "priority_sort"])
def test_a_seed_decides_everything(task: str) -> None:
    sizes = {"task": task, "train_size": 9, "valid_size": 2, "test_size": 2}
    one, again, other = (load(Config(**sizes, seed=seed)) for seed in (0, 0, 1))  # type: ignore[arg-type]
    assert one.fingerprint() == again.fingerprint()
    assert one.fingerprint() != other.fingerprint()
    assert {example.group for example in one.train} == {""}
    assert all(example.group.startswith("size ") for example in one.test)
