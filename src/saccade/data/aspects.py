"""Where the aspect of a text stands in it."""

from collections.abc import Sequence

AWAY = 1_000_000  # from the aspect of a text that does not have its words


def distances(words: Sequence[str], aspect: Sequence[str]) -> list[int]:
    """How many words each is away from the nearest place where the aspect stands: 0 within it, below 0 before it."""
    size = len(aspect)
    starts = [start for start in range(len(words) - size + 1) if size and list(words[start : start + size]) == list(aspect)]
    if not starts:
        return [AWAY] * len(words)
    return [min((_away(place, start, start + size - 1) for start in starts), key=abs) for place in range(len(words))]


def _away(place: int, first: int, last: int) -> int:
    return min(place - first, 0) + max(place - last, 0)
