"""Digits at random places: each picture is a function of the seed and its number, whole, and another one every time."""

import numpy as np
import pytest
from numpy.typing import NDArray

from saccade.data.sets.translated_mnist import SIDE, Config, drawn
from saccade.errors import UsageError

DIGITS = np.random.default_rng(0).integers(1, 256, (7, SIDE, SIDE)).astype(np.uint8)


def pictures(numbers: list[int], pieces: int = 0, size: int = 60, key: tuple[int, int] = (0, 0)) -> NDArray[np.uint8]:
    return drawn(DIGITS, np.array(numbers), size=size, pieces=pieces, piece_size=8, key=key)


def corner(picture: NDArray[np.uint8]) -> tuple[int, int]:
    """The first row and column that are not black."""
    return int(np.flatnonzero(picture.any(1))[0]), int(np.flatnonzero(picture.any(0))[0])


def test_the_whole_digit_is_somewhere() -> None:
    for number, picture in enumerate(pictures(list(range(40)))):
        top, left = corner(picture)
        assert np.array_equal(picture[top : top + SIDE, left : left + SIDE], DIGITS[number % 7])
        assert np.count_nonzero(picture) == SIDE * SIDE


def test_places_reach_all_edges() -> None:
    corners = np.array([corner(picture) for picture in pictures(list(range(3000)), size=32)])
    assert corners.min(0).tolist() == [0, 0]
    assert corners.max(0).tolist() == [4, 4]
    for axis in corners.T:
        assert np.abs(np.bincount(axis) / 3000 - 0.2).max() < 0.04
    assert abs(np.corrcoef(corners.T)[0, 1]) < 0.06


def test_a_picture_does_not_depend_on_the_others_of_its_batch() -> None:
    together = pictures([5, 900, 12], pieces=4)
    for place, number in enumerate([5, 900, 12]):
        assert np.array_equal(pictures([number], pieces=4)[0], together[place])


def test_the_same_digit_comes_at_other_places_and_other_seeds() -> None:
    first, later = pictures([3, 3 + 7])
    assert corner(first) != corner(later)
    assert corner(pictures([3], key=(1, 0))[0]) != corner(first) != corner(pictures([3], key=(0, 1))[0])


def test_pieces_are_of_other_digits_and_hide_nothing() -> None:
    plain, cluttered = pictures(list(range(30))), pictures(list(range(30)), pieces=4, size=60)
    tops = [corner(picture) for picture in plain]
    for number, (top, left) in enumerate(tops):
        window = cluttered[number][top : top + SIDE, left : left + SIDE]
        assert (window >= DIGITS[number % 7]).all()
    added = np.count_nonzero(cluttered, axis=(1, 2)) - SIDE * SIDE
    assert added.max() <= 4 * 64
    assert added.mean() > 1.5 * 64
    outside = cluttered[0].copy()
    outside[tops[0][0] : tops[0][0] + SIDE, tops[0][1] : tops[0][1] + SIDE] = 0
    rows, columns = np.nonzero(outside)
    piece = cluttered[0][rows[0] : rows[0] + 4, columns[0] : columns[0] + 4]
    windows = np.lib.stride_tricks.sliding_window_view(DIGITS, piece.shape, axis=(1, 2))
    assert (windows == piece).all((-1, -2)).any()


def test_sizes_that_hold_no_digit_are_refused() -> None:
    with pytest.raises(UsageError, match="size: expected at least the 28 pixels of a digit, got 27"):
        Config(size=27)
    with pytest.raises(UsageError, match="piece_size: expected at most the 28"):
        Config(piece_size=29)
