"""A fingerprint changes with everything that is read or to be said, and tells in which part."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import PARTS, Bag, Pair, Picture, Splits

PAIR = Pair("a b", "c", "de")
BAG = Bag(np.arange(6, dtype=np.float32).reshape(3, 2), "yes", np.array([0, 1, 0]), "old")
PICTURE = Picture(np.arange(12, dtype=np.uint8).reshape(3, 4), "shoe", "left")
CHANGES: list[tuple[Any, dict[str, Any]]] = [
    (PAIR, {"source": "a  b"}),
    (PAIR, {"target": "d"}),
    (PAIR, {"group": "fr"}),
    (BAG, {"items": BAG.items + np.float32(1e-6)}),
    (BAG, {"items": BAG.items.reshape(2, 3)}),
    (BAG, {"target": "no"}),
    (BAG, {"marks": np.array([0, 0, 1])}),
    (BAG, {"group": "new"}),
    (PICTURE, {"pixels": PICTURE.pixels[::-1]}),
    (PICTURE, {"pixels": PICTURE.pixels.reshape(4, 3)}),
    (PICTURE, {"target": "hat"}),
    (PICTURE, {"group": "right"}),
]


@pytest.mark.parametrize(
    ("example", "change"), CHANGES, ids=lambda value: str(list(value)) if isinstance(value, dict) else ""
)
@pytest.mark.parametrize("part", PARTS)
def test_every_change_shows_in_its_part_and_in_no_other(part: str, example: Any, change: dict[str, Any]) -> None:
    whole = Splits([example, example], [example], [example])
    other = replace(whole, **{part: [*getattr(whole, part)[:-1], replace(example, **change)]})
    before, after = whole.fingerprint(), other.fingerprint()
    assert [name for name in PARTS if before[name] != after[name]] == [part]


def test_order_and_number_count_and_names_do_not() -> None:
    others = [PAIR, Pair("x", "y")]
    assert Splits(others, [], []).fingerprint() != Splits(others[::-1], [], []).fingerprint()
    assert Splits(others, [], []).fingerprint() != Splits([*others, PAIR], [], []).fingerprint()
    assert Splits([BAG], [], []).fingerprint() == Splits([replace(BAG, name="b")], [], []).fingerprint()
