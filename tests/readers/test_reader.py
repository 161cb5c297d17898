"""Examples by their number: found, told where there is none, and never loaded in vain; what cannot be read is named."""

import pytest

from saccade.data.examples import Example, Splits
from saccade.errors import DataError, UsageError
from saccade.readers.reader import Reader, numbered, require_text
from tests.made_tasks import nothing

EXAMPLES = [Example(str(n), "x") for n in range(3)]


def splits() -> Splits:
    return Splits(EXAMPLES, [], EXAMPLES[:1])


def test_an_example_by_its_number() -> None:
    assert numbered("train#2", splits) is EXAMPLES[2]
    assert numbered(" test#0 ", splits) is EXAMPLES[0]


@pytest.mark.parametrize("text", ["tests#1", "test#", "test#-1", "bags.csv#1", "test# 1", "", 7, None])
def test_other_names_are_not_numbers(text: object) -> None:
    assert numbered(text, nothing) is None


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(DataError, match=r"test#1: expected test#0 to test#0, or the name of a file"):
        numbered("test#1", splits)
    with pytest.raises(DataError, match=r"valid#0: its valid data is empty; try test#0"):
        numbered("valid#0", splits)


def test_flaws_are_told_with_their_place() -> None:
    class Picky(Reader):
        def check(self, example: Example) -> None:
            if example.input != "1":
                raise DataError(f"odd {example.input}")

    known = Example("2", "x", files=("a.tsv",), number=9)
    assert list(Picky(None).flaws([*EXAMPLES[:2], known])) == [(0, "example 1: odd 0"), (2, "a.tsv:9: odd 2")]


def test_a_reader_that_learns_nothing_is_whole() -> None:
    reader = Reader.fit(None, None, splits(), [])
    assert (reader.sizes(), reader.kept(), reader.notes(EXAMPLES[0])) == ({}, None, {})
    assert not list(Reader.unfit(splits()))
    assert not list(reader.flaws(EXAMPLES))


def test_what_is_no_text_is_refused() -> None:
    assert require_text("a") == "a"
    with pytest.raises(UsageError, match="expected text, got int"):
        require_text(7)
