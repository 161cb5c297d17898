"""Inputs that are too long for a model: cut into pieces of like length, and put together again."""

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def pieces(rows: Sequence[list[T]], longest: int) -> tuple[list[list[T]], list[int]]:
    """Rows cut where they are longer than allowed, and the number of the row that each piece is of."""
    parts: list[list[T]] = []
    owners: list[int] = []
    for number, row in enumerate(rows):
        size = math.ceil(len(row) / max(1, math.ceil(len(row) / longest))) or 1
        own = [row[first : first + size] for first in range(0, len(row), size)] or [[]]
        parts += own
        owners += [number] * len(own)
    return parts, owners


def gathered(found: Sequence[T], owners: Sequence[int], count: int) -> list[list[T]]:
    """What was found for each piece, by the row it is of."""
    whole: list[list[T]] = [[] for _ in range(count)]
    for owner, one in zip(owners, found, strict=True):
        whole[owner].append(one)
    return whole
