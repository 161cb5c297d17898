"""What all writers share: predictions as values, parts by group, and what they refuse."""

import math

import numpy as np
import pytest
import torch

from saccade.data.examples import Bag, Example
from saccade.errors import UsageError
from saccade.writers.writer import Options, Prediction, Writer, parts_of, ranked_predictions, with_alternatives


def test_a_prediction_is_its_text_and_how_likely_it_is() -> None:
    one = Prediction("a", math.log(0.25), values=np.zeros(3), example=Example("x"))
    assert str(one) == "a"
    assert one.probability == pytest.approx(0.25)
    assert one == Prediction("a", math.log(0.25))  # where it came from is no part of what it is
    assert repr(one) == "Prediction(text='a', log_prob=-1.3862943611198906, finished=True, group='', alternatives=())"


def test_the_best_prediction_holds_the_others() -> None:
    found = with_alternatives([Prediction("a"), Prediction("b"), Prediction("c")], Example("x"))
    assert (found.text, [one.text for one in found.alternatives]) == ("a", ["b", "c"])
    assert found.example == Example("x")


def test_the_most_probable_come_first() -> None:
    logs = torch.tensor([0.1, 0.6, 0.3]).log()
    found = ranked_predictions("xyz".__getitem__, logs, 2, None, [])
    assert [(one.text, list(one.tokens)) for one in found] == [("y", ["y"]), ("z", ["z"])]
    assert [one.probability for one in found] == pytest.approx([0.6, 0.3])
    assert len(ranked_predictions("xyz".__getitem__, logs, 9, None, [])) == 3


def test_parts_are_all_examples_and_each_group() -> None:
    found = parts_of(["b", "", "a", "all", "b"])
    assert {name: own.tolist() for name, own in found.items()} == {"all": [0, 1, 2, 3, 4], "a": [2], "b": [0, 4]}
    assert list(found) == ["all", "a", "b"]


def test_a_writer_that_does_not_write_text_streams_nothing() -> None:
    with pytest.raises(UsageError, match="stream: expected a system that writes text; use predict"):
        Writer(None).stream(None, None, Options())  # type: ignore[arg-type]


def test_texts_have_lengths_and_bags_none() -> None:
    assert Writer(None).lengths([Example("a b  c"), Example("")]) == [3, 0]
    with pytest.raises(UsageError, match="expected a run that reads texts"):
        Writer(None).lengths([Example(Bag(np.zeros((1, 1), np.float32)))])


def test_an_empty_line_is_predicted_as_nothing() -> None:
    assert Writer(None).empty(Options()) == [Prediction("")]
