"""Words of zeros and ones as vectors: marks, numbers and points; what cannot be read is told in a line."""

import re
from pathlib import Path

import pytest
import torch

from saccade.data.examples import Example, Splits
from saccade.errors import DataError
from saccade.readers.bits import Config, Reader

TEXTS = ["01 11 > . .", "10@-0.5 | 01@0.25 times=4 ."]


def reader() -> Reader:
    return Reader.fit(Config(), None, Splits([Example(text) for text in TEXTS], [], []), [])


def test_each_word_is_a_row_of_channels(tmp_path: Path) -> None:
    made = reader()
    assert made.sizes() == {"channels": 6, "bits": 2}
    made.save(tmp_path)
    for one in (made, Reader.load(Config(), tmp_path)):
        batch = one.encode(TEXTS).batch([1, 0])
        assert batch.lengths.tolist() == [5, 5]
        expected = [[1, 0, 0, 0, 0, -0.125], [0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0.0625], [0, 0, 0, 1, 0, 1], [0] * 6]
        torch.testing.assert_close(batch.vectors[0], torch.tensor(expected))
        assert batch.blanks.tolist() == [[False] * 4 + [True], [False] * 3 + [True] * 2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("01 0 > .", "expected vectors of 2 bits, got '0'"),
        ("01 nothing .", "expected 2 bits, a point or a mark (>, times, |), got 'nothing'"),
        ("01 11 >", "expected a point for each vector of the answer, got none; add as many as it has: . . ."),
    ],
)
def test_what_cannot_be_read_is_told(text: str, told: str) -> None:
    with pytest.raises(DataError, match=re.escape(told)):
        reader().check(Example(text))


def test_training_vectors_have_one_width() -> None:
    splits = Splits([Example("01 > ."), Example("011 > .", name="b")], [], [])
    with pytest.raises(DataError, match=r"example 2 \(b\): expected vectors of 2 bits, got '011'"):
        Reader.fit(Config(), None, splits, [])
    with pytest.raises(DataError, match="expected words of zeros and ones in the training data"):
        Reader.fit(Config(), None, Splits([Example("> .")], [], []), [])
