"""Rows of whole numbers of different lengths, one after the other in one flat array, in memory or in mapped files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import Integers

VALUES, LENGTHS, ENDS = "values.bin", "lengths.bin", "ends.bin"
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
    """Row i is values[ends[i - 1] : ends[i]], with ends[-1] = 0.

    Shapes: values (sum of lengths), lengths (N), ends (N)
    """

    def __init__(self, values: NDArray[Any], lengths: NDArray[Any], ends: NDArray[Any]) -> None:
        self.values, self.lengths, self.ends = values, lengths, ends

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "Ragged":
        """These rows, in memory."""
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        total = int(lengths.sum())
        values = np.fromiter((value for row in rows for value in row), np.int64, total)
        return cls(values, lengths, np.cumsum(lengths))

    @classmethod
    def opened(cls, folder: Path) -> "Ragged":
        """Those that `write` has put there."""
        kind = (folder / VALUES).with_suffix(".type").read_text(encoding="utf-8")
        return cls(mapped(folder / VALUES, kind), mapped(folder / LENGTHS, np.int32), mapped(folder / ENDS, np.int64))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        end = int(self.ends[index])
        return self.values[end - int(self.lengths[index]) : end].tolist()

    def together(self, indices: Any) -> tuple[Integers, Integers]:
        """The values of these rows one after the other, and their lengths."""
        rows = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[rows].astype(np.int64)
        first = self.ends[rows] - lengths
        starts = np.cumsum(lengths) - lengths
        places = np.repeat(first - starts, lengths) + np.arange(int(lengths.sum()))
        return self.values[places].astype(np.int64), lengths

    def outside(self, least: int, most: int) -> Iterator[tuple[int, int]]:
        """The number and length of each row whose length is not within these bounds."""
        for start in range(0, len(self), MANY):
            lengths = self.lengths[start : start + MANY]
            for place in np.flatnonzero((lengths < least) | (lengths > most)).tolist():
                yield start + place, int(lengths[place])


def write(folder: Path, parts: Iterable[tuple[NDArray[Any], NDArray[Any]]], limit: int) -> None:
    """Put rows into files of a directory, part by part: their values, all below the limit, and their lengths."""
    kind, total = np.dtype(smallest(limit)), 0
    (folder / VALUES).with_suffix(".type").write_text(kind.str, encoding="utf-8")
    with ExitStack() as stack:
        values, lengths, ends = (stack.enter_context((folder / name).open("wb")) for name in (VALUES, LENGTHS, ENDS))
        for flat, sizes in parts:
            own = total + np.cumsum(sizes, dtype=np.int64)
            total = int(own[-1]) if len(own) else total
            values.write(flat.astype(kind).tobytes())
            lengths.write(sizes.astype(np.int32).tobytes())
            ends.write(own.tobytes())
