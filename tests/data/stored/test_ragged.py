"""Rows of different lengths come back as they were, from memory and from files."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.stored.ragged import Ragged, flat, smallest, write

ROWS = [[5, 1], [], [70_000, 2, 3], [4], []]


def stored(folder: Path) -> Ragged:
    write(folder, [flat(ROWS[:2]), flat(ROWS[2:2]), flat(ROWS[2:])], 70_001)
    return Ragged.opened(folder)


def test_rows_come_back(tmp_path: Path) -> None:
    for rows in (Ragged.of(ROWS), stored(tmp_path)):
        assert list(rows) == ROWS == rows[:]
        assert rows[2:4] == ROWS[2:4]
        assert rows.lengths.tolist() == [2, 0, 3, 1, 0]
        values, lengths = rows.together([3, 2, 1, 3])
        assert (values.tolist(), lengths.tolist()) == ([4, 70_000, 2, 3, 4], [1, 3, 0, 1])
        assert values.dtype == lengths.dtype == np.int64
        assert list(rows.outside(1, 2)) == [(1, 0), (2, 3), (4, 0)]
        assert list(rows.cut(2)) == [row[:2] for row in ROWS]
        assert rows.cut(3) is rows
        assert rows == Ragged.of(ROWS) != Ragged.of(ROWS[::-1])


def test_nothing_at_all_can_be_stored(tmp_path: Path) -> None:
    write(tmp_path, [flat([[], []])], 10)
    assert list(Ragged.opened(tmp_path)) == [[], []]


@pytest.mark.parametrize(("limit", "largest"), [(1, 65535), (65536, 65535), (65537, 2**32 - 1)])
def test_numbers_are_as_small_as_they_may_be(limit: int, largest: int) -> None:
    assert np.iinfo(smallest(limit)).max == largest
