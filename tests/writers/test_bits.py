"""Bits that are written: their cost in bits, wrong ones, and answers that do not fit their input."""

import re

import numpy as np
import pytest

from saccade.data.examples import Example
from saccade.errors import DataError
from saccade.writers.bits import Config, Writer
from saccade.writers.writer import Prediction

WRITER = Writer(Config(), 2)


def test_scores_are_those_counted_by_hand() -> None:
    examples = [Example("01 > .", "01", "short"), Example("01 11 > . .", "01 11")]
    chances = [np.array([[0.25, 0.5]]), np.array([[0.4, 0.8], [0.1, 0.9]])]
    predictions = [Prediction("", values=one) for one in chances]
    scores = WRITER.score(examples, predictions, lambda indices: (0.0, 1, {}))
    costs = [-np.log2(0.75 * 0.5), -np.log2(0.6 * 0.8 * 0.1 * 0.9)]
    assert scores["all"] == pytest.approx(
        {"examples": 2, "bits_per_sequence": np.mean(costs), "bit_error": 2 / 6, "exact_match": 0.0}
    )
    assert scores["short"]["bit_error"] == 0.5


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("01 11", "expected an answer of 1 vectors, one for each point, got 2"),
        ("011", "expected answers of 2 bits, got '011'"),
        ("0x", "expected answers of 2 bits, got '0x'"),
    ],
)
def test_answers_that_do_not_fit_are_refused(target: str, told: str) -> None:
    with pytest.raises(DataError, match=re.escape(told)):
        WRITER.check(Example("01 > .", target))
