"""One hold-out for all formats: the same examples every time, equal ones together, and no label lost."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.examples import Example
from saccade.data.hold_out import MOST, hold_out

Parts = tuple[list[Example], list[Example]]


def key(example: Example) -> bytes:
    return str(example.input).encode()


def held(examples: list[Example], share: float, *, every_label: bool = False) -> Parts:
    return hold_out(examples, share, key, every_label=every_label)


def numbered(count: int, inputs: int | None = None) -> list[Example]:
    return [Example(f"input {n % (inputs or count)}", f"target {n}") for n in range(count)]


@pytest.mark.parametrize(("count", "share", "size"), [(1000, 0.05, 50), (100_000, 0.05, MOST), (5, 0.05, 1), (2, 0.9, 1)])
def test_a_share_is_held_out_and_a_bound_holds(count: int, share: float, size: int) -> None:
    train, valid = held(numbered(count), share)
    assert len(valid) == size
    assert Counter([*train, *valid]) == Counter(numbered(count))


def test_the_choice_does_not_depend_on_the_order_and_hardly_on_more_examples() -> None:
    examples = numbered(1000)
    shuffled = random.Random(0).sample(examples, len(examples))
    valid, again = held(examples, 0.05)[1], held(shuffled, 0.05)[1]
    assert set(valid) == set(again)
    more = held([*examples, *(Example(f"more {n}", "x") for n in range(100))], 0.05)[1]
    assert len(set(valid) & set(more)) >= 40
    places = [examples.index(example) for example in valid]
    assert places == sorted(places)  # both parts keep the order of the data
    assert 300 < sum(places) / len(places) < 700  # from everywhere


def test_the_choice_is_that_of_every_earlier_version() -> None:
    """A run that was trained before an upgrade is validated on the same examples."""
    assert [example.input for example in held(numbered(100), 0.05)[1]] == [f"input {n}" for n in (3, 4, 5, 13, 91)]


@given(st.integers(2, 60), st.integers(2, 60), st.floats(0.01, 0.99))
def test_equal_inputs_stay_together(count: int, inputs: int, share: float) -> None:
    examples = numbered(max(count, inputs), inputs)
    train, valid = held(examples, share)
    assert train
    assert valid
    assert not {example.input for example in train} & {example.input for example in valid}
    assert len(train) + len(valid) == len(examples)


def test_one_frequent_input_is_not_held_out() -> None:
    examples = [Example("often", str(n)) for n in range(90)] + [Example("twice", str(n)) for n in range(2)]
    assert {example.input for example in held(examples, 0.01)[1]} == {"twice"}


@given(st.integers(1, 6), st.integers(1, 40), st.integers(1, 12), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_training_keeps_every_label(labels: int, count: int, inputs: int, share: float, seed: int) -> None:
    dice = random.Random(seed)
    examples = [Example(str(dice.randrange(inputs)), str(dice.randrange(labels))) for _ in range(count)]
    train, valid = held(examples, share, every_label=True)
    assert {example.target for example in train} == {example.target for example in examples}
    assert not {example.input for example in train} & {example.input for example in valid}
    assert Counter([*train, *valid]) == Counter(examples)


def test_with_every_label_a_label_of_one_example_is_never_held_out() -> None:
    examples = [Example(str(n), "often") for n in range(40)] + [Example("rare", "once")]
    for share in (0.1, 0.5, 0.9):
        train, valid = held(examples, share, every_label=True)
        assert {example.target for example in train} == {"once", "often"}
        assert len(valid) == round(share * 41)


@pytest.mark.parametrize(("count", "share"), [(0, 0.5), (1, 0.5), (9, 0.0)])
def test_nothing_is_held_out_of_too_little_or_on_request(count: int, share: float) -> None:
    assert held(numbered(count), share) == (numbered(count), [])


@pytest.mark.parametrize("every_label", [False, True])
def test_nothing_is_held_out_of_equal_examples(every_label: bool) -> None:
    examples = numbered(9, inputs=1)
    assert held(examples, 0.5, every_label=every_label) == (examples, [])
