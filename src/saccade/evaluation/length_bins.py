"""Lengths in bins: of one round width, few enough for a picture, and none so thin that its score is chance."""

from collections.abc import Iterator, Sequence
from itertools import count

MOST = 10  # bins
FEWEST = 0.01  # the share of all that a bin holds at least


def bounds(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """The smallest and the largest length of each bin: (1, 5), (6, 10) and so on.

    A thin bin is joined with the next one; the last, with the one before.
    """
    longest = max(1, *lengths)
    width = next(width for width in _round_numbers() if longest <= MOST * width)
    end = -(-longest // width) * width
    bins: list[tuple[int, int]] = []
    first = min(1, *lengths)
    for last in range(width, end + 1, width):
        held = sum(first <= length <= last for length in lengths)
        if held and held >= FEWEST * len(lengths):
            bins.append((first, last))
            first = last + 1
    return [*bins[:-1], (bins[-1][0], end)]


def _round_numbers() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50 …"""
    return (factor * 10**power for power in count() for factor in (1, 2, 5))
