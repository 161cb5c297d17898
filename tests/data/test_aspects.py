"""How far the words of a text are from its aspect."""

import pytest
from saccade.data.aspects import AWAY, distances


@pytest.mark.parametrize(
    ("text", "aspect", "expected"),
    [
        ("the food was good", "food", [-1, 0, 1, 2]),
        ("the hot dogs were good", "hot dogs", [-1, 0, 0, 1, 2]),
        ("food and more food", "food", [0, 1, -1, 0]),
        ("a b c d a", "a", [0, 1, 2, -1, 0]),
        ("hot food", "hot dogs", [AWAY, AWAY]),
        ("food", "food", [0]),
        ("good", "", [AWAY]),
        ("", "food", []),
    ],
)
def test_counted_by_hand(text: str, aspect: str, expected: list[int]) -> None:
    assert distances(text.split(), aspect.split()) == expected
