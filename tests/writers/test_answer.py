"""Answers: the most frequent can be given, others are wrong, and several people's answers count by how many gave them."""

from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Example, Splits
from saccade.errors import DataError
from saccade.writers.answer import Config, Writer, learned
from saccade.writers.label import UNKNOWN
from saccade.writers.writer import Prediction

TRAIN = ["red", "red", "red", "blue", "blue", "green", "green", "pink"]


def examples(targets: list[str], groups: list[str] | None = None) -> list[Example]:
    return [Example("?", target, group) for target, group in zip(targets, groups or [""] * len(targets), strict=True)]


def fitted(**given: Any) -> Writer:
    nothing: Any = None
    return Writer.fit(Config(**given), nothing, Splits(examples(TRAIN), examples(["never"]), []), nothing)


def predicted(one: Writer, texts: list[str]) -> list[Prediction]:
    return [
        Prediction(text, values=0.9 * np.eye(len(one.names))[one.numbers[text]] + 0.1 / len(one.names)) for text in texts
    ]


def scores(one: Writer, given: list[Example], texts: list[str]) -> dict[str, dict[str, float]]:
    return one.score(given, predicted(one, texts), lambda indices: (0.0, 0, {}))


@pytest.mark.parametrize(
    ("most", "names"), [(0, ["red", "blue", "green", "pink"]), (2, ["red", "blue"]), (3, ["red", "blue", "green"])]
)
def test_the_most_frequent_answers_are_known(most: int, names: list[str]) -> None:
    assert fitted(max_answers=most).names == names


def test_an_answer_that_nobody_knows_is_wrong_and_teaches_nothing() -> None:
    one = fitted(max_answers=2)
    column = one.encode(examples(TRAIN))
    assert column.labels.tolist() == [0, 0, 0, 1, 1, UNKNOWN, UNKNOWN, UNKNOWN]
    assert column.order is not None
    assert column.order.tolist() == [0, 1, 2, 3, 4]
    assert one.encode(examples(["red", "blue"])).order is None
    given = examples(["red", "green", "never", "blue"])
    one.check(given[1])
    found = scores(one, given, ["red", "red", "red", "red"])["all"]
    assert found["accuracy"] == 0.25
    assert found["known_answers"] == 0.5
    assert found["loss"] == pytest.approx(-(np.log(0.95) + np.log(0.05)) / 2)
    assert one.details(given, predicted(one, ["red"] * 4)) == {}
    assert one.details(given[:1], predicted(one, ["red"]))["confusion"]["counts"] == [[1, 0], [0, 0]]


def test_scores_of_each_kind_of_question() -> None:
    one = fitted()
    given = examples(["red", "blue", "never"], ["color", "color", "thing"])
    found = scores(one, given, ["red", "red", "blue"])
    assert [found[group]["accuracy"] for group in ("all", "color", "thing")] == pytest.approx([1 / 3, 1 / 2, 0])
    assert "vqa_accuracy" not in found["all"]
    assert "loss" not in found["thing"]


@pytest.mark.parametrize(("times", "expected"), [(0, 0.0), (1, 1 / 3), (2, 2 / 3), (3, 1.0), (9, 1.0)])
def test_an_answer_counts_by_the_people_who_gave_it(times: int, expected: float) -> None:
    one = fitted()
    given = examples(["\n".join(["blue"] * times + ["red"] * (10 - times))])
    assert scores(one, given, ["blue"])["all"]["vqa_accuracy"] == pytest.approx(expected)


def test_what_most_people_say_is_learned() -> None:
    assert learned("red\nblue\nblue") == "blue"
    assert learned("red\nblue") == "red"
    assert learned("red") == "red"
    notes = fitted().notes(Example("?", "red\nblue\nred"), Prediction("red"))
    assert notes["known label"] == "red, blue"


def test_one_answer_is_none() -> None:
    nothing: Any = None
    with pytest.raises(DataError, match="at least 2 different answers"):
        Writer.fit(Config(max_answers=1), nothing, Splits(examples(TRAIN), [], []), nothing)


@pytest.mark.parametrize(("keys", "expected"), [({"class_weight": "balanced"}, [5 / 6, 5 / 4]), ({}, None)])
def test_unknown_answers_have_no_share_in_the_weights(keys: Any, expected: list[float] | None) -> None:
    column = fitted(max_answers=2, **keys).encode(examples(TRAIN))
    assert (None if column.weights is None else column.weights.tolist()) == pytest.approx(expected)
