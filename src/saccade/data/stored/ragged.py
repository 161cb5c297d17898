"""Rows of whole numbers of different lengths, one after the other in one flat array, in memory or in mapped files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import Integers

VALUES, LENGTHS, STARTS = "values.bin", "lengths.bin", "starts.bin"
KIND = "values.type"
MANY = 1 << 16  # rows that are looked at together


def mapped(path: Path, dtype: Any) -> NDArray[Any]:
    """All numbers of a file, of which those are read that are used; nothing can be mapped of an empty file."""
    if path.stat().st_size == 0:
        return np.zeros(0, dtype)
    # A plain array over the map: every slice of numpy's own class of maps is slow.
    return np.asarray(np.memmap(path, dtype, "r"))


def smallest(limit: int) -> type[np.unsignedinteger[Any]]:
    """The numbers that hold whatever is below this limit."""
    return np.uint16 if limit <= 1 << 16 else np.uint32


class Ragged(Sequence[list[int]]):
    """Row i is values[starts[i] : starts[i] + lengths[i]].

    Shapes: values (sum of lengths), starts (N), lengths (N)
    """

    def __init__(self, values: NDArray[Any], starts: NDArray[Any], lengths: NDArray[Any]) -> None:
        self.values, self.starts, self.lengths = values, starts, lengths

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """These rows, in memory."""
        values, lengths = flat(rows)
        return cls(values, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def opened(cls, folder: Path) -> "Ragged":
        """Those that `write` has put there."""
        kind = (folder / KIND).read_text(encoding="utf-8")
        return cls(mapped(folder / VALUES, kind), mapped(folder / STARTS, np.int64), mapped(folder / LENGTHS, np.int32))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        start = int(self.starts[index])
        return self.values[start : start + int(self.lengths[index])].tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ragged) and len(self) == len(other) and all(map(list.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]  # as of lists

    def cut(self, longest: int) -> "Ragged":
        """The beginnings of rows that are longer."""
        longer = any(True for _ in self.outside(0, longest))
        return Ragged(self.values, self.starts, np.minimum(self.lengths, longest)) if longer else self

    def together(self, indices: Any) -> tuple[Integers, Integers]:
        """The values of these rows one after the other, and their lengths."""
        rows = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[rows].astype(np.int64)
        before = np.cumsum(lengths) - lengths
        places = np.repeat(self.starts[rows] - before, lengths) + np.arange(int(lengths.sum()))
        return self.values[places].astype(np.int64), lengths

    def outside(self, least: int, most: int) -> Iterator[tuple[int, int]]:
        """The number and length of each row whose length is not within these bounds."""
        for start in range(0, len(self), MANY):
            lengths = self.lengths[start : start + MANY]
            for place in np.flatnonzero((lengths < least) | (lengths > most)).tolist():
                yield start + place, int(lengths[place])


def flat(rows: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """The values of rows one after the other, and the lengths of the rows."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths


def write(folder: Path, parts: Iterable[tuple[Integers, Integers]], limit: int) -> None:
    """Put rows into files of a directory, part by part: their values, all below the limit, and their lengths."""
    kind, total = np.dtype(smallest(limit)), 0
    (folder / KIND).write_text(kind.str, encoding="utf-8")
    with ExitStack() as stack:
        values, lengths, starts = (stack.enter_context((folder / name).open("wb")) for name in (VALUES, LENGTHS, STARTS))
        for own, sizes in parts:
            values.write(own.astype(kind).tobytes())
            lengths.write(sizes.astype(np.int32).tobytes())
            starts.write((total + np.cumsum(sizes, dtype=np.int64) - sizes).tobytes())
            total += len(own)
