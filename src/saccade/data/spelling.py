"""Runs of letters, by which words are alike in the way they are written (Bojanowski et al. 2017)."""

import zlib
from collections.abc import Iterable, Sequence

from jaxtyping import Int
from torch import Tensor

from saccade.data.text import padded

SHORTEST, LONGEST = 3, 5
BEGIN, END = "<", ">"  # of a word, by which its first and last letters are told from those within


def runs(word: str, buckets: int) -> list[int]:
    """The runs of three to five letters of a word as numbers from 1 to `buckets`, each once, in their order."""
    marked = f"{BEGIN}{word}{END}"
    lengths = range(SHORTEST, min(LONGEST, len(marked)) + 1)
    found = (marked[start : start + length] for length in lengths for start in range(len(marked) - length + 1))
    return list(dict.fromkeys(1 + zlib.crc32(run.encode()) % buckets for run in found))


class Spelling:
    """How the words of some texts are written; each different word is spelled once."""

    def __init__(self, texts: Iterable[Sequence[str]], buckets: int) -> None:
        numbers: dict[str, int] = {}
        self.words = [[numbers.setdefault(word, 1 + len(numbers)) for word in text] for text in texts]
        self.table = padded([[0], *(runs(word, buckets) for word in numbers)])[0]

    def batch(self, indices: Iterable[int], width: int) -> Int[Tensor, "B K P"]:
        """The runs of each word of these texts, filled up with 0 to so many words."""
        rows = [self.words[i][:width] for i in indices]
        return self.table[padded([row + [0] * (width - len(row)) for row in rows])[0]]
