"""What is compared with all heads and without some: tokens, outputs and vectors, in numbers and as text."""

import json

import numpy as np
import pytest

from saccade.writers.chances import Chances, HeadAblation, OutputSlot

NAMES = ["cat", "dog", "hat"]


def slot(*probabilities: float) -> OutputSlot:
    return OutputSlot("filled in 1", np.array(probabilities), NAMES.__getitem__)


def test_tokens_and_their_sum() -> None:
    before = Chances([3, 4], [" sat", "."], np.array([-1.0, -0.5]))
    after = Chances([3, 4], [" sat", "."], np.array([-3.0, -0.25]))
    found = HeadAblation("The cat sat.", ["3.5", "4"], before, after)
    assert found.change == -1.75
    assert found.tokens()[1] == {"token": ".", "before": -0.5, "after": -0.25, "change": 0.25}
    lines = str(found).splitlines()
    assert lines[:2] == ["The cat sat.", "without 3.5, 4"]
    assert lines[4].split() == ["␣sat", "-1.000", "-3.000", "-2.000"]
    assert lines[-1].split() == ["all", "-1.500", "-3.250", "-1.750"]
    assert json.loads(json.dumps(found.table()))["change"] == -1.75


def test_outputs_are_the_likeliest_of_both() -> None:
    found = HeadAblation("x", ["1"], Chances(slots=[slot(0.7, 0.2, 0.1)]), Chances(slots=[slot(0.1, 0.2, 0.7)]))
    assert [row["output"] for row in found.outputs(1)["filled in 1"]] == ["cat", "hat"]
    assert found.outputs(1)["filled in 1"][1] == {"output": "hat", "before": 0.1, "after": 0.7}
    assert found.divergence()["filled in 1"] == pytest.approx(0.6 * np.log(7))
    assert "tokens" not in found.table()
    assert str(found).splitlines()[4].split() == ["cat", "70.00%", "10.00%", "-60.00"]


def test_what_was_impossible_and_stays_so_adds_nothing() -> None:
    same = HeadAblation("x", ["1"], Chances(slots=[slot(0.0, 0.5, 0.5)]), Chances(slots=[slot(0.0, 0.5, 0.5)]))
    assert same.divergence() == {"filled in 1": 0.0}


def test_vectors_are_compared_by_their_angle() -> None:
    found = HeadAblation("x", ["1"], Chances(vector=np.array([1.0, 0.0])), Chances(vector=np.array([2.0, 2.0])))
    assert found.cosine() == pytest.approx(0.5**0.5)
    assert "cosine of both vectors: 0.707107" in str(found)
    assert found.table()["cosine"] == found.cosine()
    assert HeadAblation("x", ["1"], Chances(), Chances()).cosine() is None
