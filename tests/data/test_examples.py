"""A fingerprint changes with everything that is read or to be predicted, and tells in which part."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import PARTS, Bag, Example, Node, Picture, Splits, digest, hash_order, in_order, place

TEXT = Example("a b", "c", "de")
BAG = Bag(np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 0]))
BAGGED = Example(BAG, "yes", "old")
PICTURE = Picture(np.arange(12, dtype=np.uint8).reshape(3, 4))
PICTURED = Example(PICTURE, "shoe", "left")
NODE = Example(Node(3), "red")
CHANGES: list[tuple[Example, dict[str, Any]]] = [
    (TEXT, {"input": "a  b"}),
    (TEXT, {"target": "d"}),
    (TEXT, {"group": "fr"}),
    (BAGGED, {"input": replace(BAG, items=BAG.items + np.float32(1e-6))}),
    (BAGGED, {"input": replace(BAG, items=BAG.items.reshape(2, 3))}),
    (BAGGED, {"input": replace(BAG, marks=np.array([0, 0, 1]))}),
    (BAGGED, {"input": replace(BAG, marks=None)}),
    (BAGGED, {"target": "no"}),
    (BAGGED, {"group": "new"}),
    (PICTURED, {"input": Picture(PICTURE.pixels[::-1])}),
    (PICTURED, {"input": Picture(PICTURE.pixels.reshape(4, 3))}),
    (PICTURED, {"target": "hat"}),
    (PICTURED, {"group": "right"}),
    (NODE, {"input": Node(4)}),
    (NODE, {"target": "blue"}),
]


@pytest.mark.parametrize(
    ("example", "change"), CHANGES, ids=lambda value: str(list(value)) if isinstance(value, dict) else ""
)
@pytest.mark.parametrize("part", PARTS)
def test_every_change_shows_in_its_part_and_in_no_other(part: str, example: Example, change: dict[str, Any]) -> None:
    whole = Splits([example, example], [example], [example])
    other = replace(whole, **{part: [*getattr(whole, part)[:-1], replace(example, **change)]})  # type: ignore[arg-type]
    before, after = whole.fingerprint(), other.fingerprint()
    assert [name for name in PARTS if before[name] != after[name]] == [part]


def test_order_and_number_count_and_names_and_files_do_not() -> None:
    others = [TEXT, Example("x", "y")]
    assert Splits(others, [], []).fingerprint() != Splits(others[::-1], [], []).fingerprint()
    assert Splits(others, [], []).fingerprint() != Splits([*others, TEXT], [], []).fingerprint()
    renamed = replace(BAGGED, name="b", files=("b.csv",), number=7)
    assert Splits([BAGGED], [], []).fingerprint() == Splits([renamed], [], []).fingerprint()


def test_what_moves_from_one_field_to_the_next_shows() -> None:
    fields = [Example("ab", "c"), Example("a", "bc"), Example("", "abc"), Example("ab", "", "c")]
    assert len({digest(example.content()) for example in fields}) == 4


def test_what_is_shared_shows_in_training() -> None:
    class Shared:
        def __init__(self, text: str) -> None:
            self.text = text

        def content(self) -> list[bytes]:
            return [self.text.encode()]

    one, other = (Splits([NODE], [NODE], [NODE], shared=Shared(text)).fingerprint() for text in ("one", "other"))
    assert [name for name in PARTS if one[name] != other[name]] == ["train"]


def test_the_fingerprint_of_texts_is_that_of_every_earlier_version() -> None:
    """A run that was started before an upgrade is resumed on the same data."""
    found = Splits([TEXT, Example("ä", "🍎")], [], []).fingerprint()
    assert found["train"] == digest([b"a b\0c\0de\0", "ä\0🍎\0\0".encode()])
    assert found["valid"] == "e3b0c44298fc1c14"  # of nothing


def test_half_a_surrogate_pair_has_a_fingerprint() -> None:
    assert len(digest(Example("\ud800", "x").content())) == 16


def test_where_an_example_was_read_is_told() -> None:
    parallel = replace(TEXT, files=("a.de", "a.en"), number=4)
    assert (parallel.where(), parallel.where(1), place(parallel, 9, 1)) == ("a.de:4", "a.en:4", "a.en:4")
    assert replace(TEXT, files=("photo.png",)).where(1) == "photo.png"
    assert place(TEXT, 9) == "example 9"
    assert place(replace(BAGGED, name="x"), 9) == "example 9 (x)"
    assert parallel == TEXT  # where it was read is no part of what it is


def test_an_example_on_a_line() -> None:
    assert TEXT.line() == "a b\tc\tde"
    assert Example("a b", "c").line() == "a b\tc"
    assert replace(BAGGED, name="x", group="").line() == "x\tyes\t3 instances"
    assert replace(PICTURED, name="y", group="").line() == "y\tshoe\t4 × 3"


def test_labels_that_are_numbers_come_by_their_size_and_before_words() -> None:
    labels = ["b", "10", "-3", "2", "nan", "a", "1e2", "0.5"]
    assert in_order(labels) == ["-3", "0.5", "2", "10", "1e2", "a", "b", "nan"]
    assert in_order(reversed(labels)) == in_order(labels)


def test_the_order_by_hash_is_that_of_every_earlier_version() -> None:
    assert hash_order("a", "held") == 7941012977710690048
    assert hash_order("a", "order") != 7941012977710690048
