"""Pairwise covering: a few combinations in which every pair of values of two dimensions occurs."""

from collections.abc import Hashable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import TypeVar

Row = TypeVar("Row", bound=tuple[Hashable, ...])


def covering(rows: Sequence[Row]) -> list[Row]:
    """Some of the rows, such that every pair of values of two dimensions that occurs in a row occurs in one of them.

    Greedy and deterministic: always the row with the most missing pairs, the earlier one if there are several.
    """
    pairs = [set(combinations(enumerate(row), 2)) for row in rows]
    missing = set().union(*pairs)
    # How many missing pairs a row has only falls: a row that still leads after it was counted again is the best.
    heap = [(-len(found), number) for number, found in enumerate(pairs)]
    heapify(heap)
    chosen = []
    while missing:
        number = heappop(heap)[1]
        entry = (-len(pairs[number] & missing), number)
        if heap and entry > heap[0]:
            heappush(heap, entry)
        else:
            chosen.append(number)
            missing -= pairs[number]
    return [rows[number] for number in sorted(chosen)]
