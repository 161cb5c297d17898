"""Examples by their number: found, told where there is none, and never loaded in vain."""

import pytest
from saccade.tasks.numbered import numbered

from saccade.data.examples import Pair, Splits
from saccade.errors import DataError

PAIRS = [Pair(str(n), "x") for n in range(3)]


def splits() -> Splits:
    return Splits(PAIRS, [], PAIRS[:1])


def never() -> Splits:
    raise AssertionError("loaded in vain")


def test_an_example_by_its_number() -> None:
    assert numbered("train#2", splits) is PAIRS[2]
    assert numbered(" test#0 ", splits) is PAIRS[0]


@pytest.mark.parametrize("text", ["tests#1", "test#", "test#-1", "bags.csv#1", "test# 1", ""])
def test_other_names_are_not_numbers(text: str) -> None:
    assert numbered(text, never) is None


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(DataError, match=r"test#1: expected test#0 to test#0, or the name of a file"):
        numbered("test#1", splits)
    with pytest.raises(DataError, match=r"valid#0: its valid data is empty; try"):
        numbered("valid#0", splits)
