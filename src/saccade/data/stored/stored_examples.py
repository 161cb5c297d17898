"""Examples of texts in memory-mapped files: read once from a large source, and from then on opened, whatever their number.

`texts.bin` holds input, target and group of each example, each with a NUL behind it, as `Example.content` gives them to the
fingerprint; `ends.bin` says where each of them ends; `numbers.bin` the line that each example was read from.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import Integers
from saccade.data.examples import DIGITS, Example
from saccade.data.stored.preparations import followed, name_of, prepared, require_room
from saccade.data.stored.ragged import mapped
from saccade.data.stored.store_files import ENDS, FACTS, HASHES, INPUT, NUMBERS, TARGET, TEXTS, LongText, write

LARGE = 32_000_000  # bytes of a source from which on it is prepared once
PACKED = 4  # how many times larger a gzipped text is about
TOGETHER = 1 << 12  # examples that are read together
LAYOUT = 2  # of the files; another number has all of them made anew
FIELDS = ("input", "target", "group")
Report = Callable[[str], None]
Read = Callable[[Report], Iterable[Example | LongText]]


class Store:
    """The files of a directory that `write` has filled."""

    def __init__(self, folder: Path, rename: Callable[[str], str] = str) -> None:
        self.folder = folder
        self.facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        self.texts = mapped(folder / TEXTS, np.uint8).data
        self.ends = mapped(folder / ENDS, np.uint64).reshape(-1, len(FIELDS))
        self.numbers = mapped(folder / NUMBERS, np.int64)
        self.hashes = mapped(folder / HASHES, np.uint64)
        self.starts = [start for start, _ in self.facts["files"]]
        self.files = [tuple(map(rename, files)) for _, files in self.facts["files"]]

    def __len__(self) -> int:
        return len(self.ends)

    def bounds(self, rows: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
        """Where each of these examples begins, and where its input, target and group end."""
        first = np.where(rows == 0, 0, self.ends[rows - 1, -1])
        return list(zip(first.tolist(), *self.ends[rows].T.tolist(), strict=True))

    def text(self, start: int, end: int) -> str:
        """The text that stands there, without the NUL behind it."""
        return str(self.texts[start : end - 1], "utf-8", "surrogatepass")

    def origin(self, row: int, number: int) -> tuple[tuple[str, ...], int]:
        """The files that a row was read from, and its line."""
        files = self.files[int(np.searchsorted(self.starts, row, "right")) - 1]
        # A row of a table, whose number is part of what it is called.
        return ((f"{files[0]} {-number}",), 0) if number < 0 else (files, number)

    def example(self, row: int, bounds: tuple[int, int, int, int], number: int) -> Example:
        """The example of this row."""
        files, line = self.origin(row, number)
        input, target, group = (self.text(bounds[i], bounds[i + 1]) for i in range(3))
        return Example(input, target, group, files=files, number=line)


class StoredExamples(Sequence[Example]):
    """All examples of a store, or some of them in any order; a slice or an array of indices gives another view."""

    def __init__(self, store: Store, rows: range | Integers | None = None, fingerprint: str = "") -> None:
        self.store = store
        self.rows: range | Integers = range(len(store)) if rows is None else rows
        self._fingerprint = fingerprint or (store.facts["fingerprint"] if rows is None else "")

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice | Integers) -> "StoredExamples": ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StoredExamples(self.store, self.rows[index])
        if isinstance(index, np.ndarray):
            return StoredExamples(self.store, self.places(index))
        return next(self._examples(self.places(np.array([range(len(self))[index]]))))

    def __iter__(self) -> Iterator[Example]:
        for window in self.windows():
            yield from self._examples(window)

    def places(self, indices: Any) -> Integers:
        """Where examples with these indices stand in the store."""
        own = np.asarray(indices, dtype=np.int64)
        return own * self.rows.step + self.rows.start if isinstance(self.rows, range) else np.asarray(self.rows)[own]

    def windows(self) -> Iterator[Integers]:
        """The places of all examples, some at a time."""
        for start in range(0, len(self), TOGETHER):
            yield self.places(np.arange(start, min(start + TOGETHER, len(self))))

    def _examples(self, rows: Integers) -> Iterator[Example]:
        numbers = self.store.numbers[rows].tolist()
        for row, bounds, number in zip(rows.tolist(), self.store.bounds(rows), numbers, strict=True):
            yield self.store.example(row, bounds, number)

    @property
    def inputs(self) -> "StoredTexts":
        """The inputs alone."""
        return StoredTexts(self, INPUT)

    @property
    def targets(self) -> "StoredTexts":
        """The targets alone."""
        return StoredTexts(self, TARGET)

    @property
    def keys(self) -> "StoredTexts":
        """What examples have in common that are held out together."""
        return StoredTexts(self, self.store.facts["key"])

    @property
    def groups(self) -> "StoredTexts":
        """The groups alone."""
        return StoredTexts(self, 2)

    @cached_property
    def fingerprint(self) -> str:
        """What `Splits.fingerprint_of` says of the same examples in a list."""
        return self._fingerprint or self._hashed()

    def _hashed(self) -> str:
        hashed = hashlib.sha256()
        for rows in self.windows():
            for first, *_, last in self.store.bounds(rows):
                hashed.update(self.store.texts[first:last])
        return hashed.hexdigest()[:DIGITS]


class StoredTexts(Sequence[str]):
    """The inputs, targets or groups of stored examples."""

    def __init__(self, examples: StoredExamples, field: int) -> None:
        self.examples, self.field = examples, field

    def __len__(self) -> int:
        return len(self.examples)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "StoredTexts": ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StoredTexts(self.examples[index], self.field)
        return self.of([range(len(self))[index]])[0]

    def __iter__(self) -> Iterator[str]:
        for rows in self.examples.windows():
            yield from self._texts(rows)

    def of(self, indices: Any) -> list[str]:
        """The texts with these indices."""
        return list(self._texts(self.examples.places(indices)))

    def digests(self, indices: Any) -> Iterator[bytes]:
        """Of each of these texts its SHA-256."""
        for bounds in self.examples.store.bounds(self.examples.places(indices)):
            yield hashlib.sha256(self.examples.store.texts[bounds[self.field] : bounds[self.field + 1] - 1]).digest()

    def different(self) -> list[str]:
        """The different texts, sorted."""
        known = self.examples.store.facts["groups"] if self.field == 2 else []
        return known if len(known) == 1 else sorted(set(self))

    def name(self, *facts: Any) -> str:
        """The name of what is made from these texts and these facts."""
        return name_of(FIELDS[self.field], LAYOUT, self.examples.fingerprint, *facts)

    def _texts(self, rows: Integers) -> Iterator[str]:
        store = self.examples.store
        for bounds in store.bounds(rows):
            yield store.text(bounds[self.field], bounds[self.field + 1])


def kept(sources: Sequence[Path], settings: dict[str, Any], read: Read, report: Report) -> Sequence[Example]:
    """The examples that `read` gives: in a list, or those of a store, if the sources are large."""
    return stored(sources, settings, read, report) if large(sources) else [*read(report)]  # type: ignore[list-item]


def large(sources: Sequence[Path]) -> bool:
    """Whether files or folders are so large that they are stored."""
    return sum(map(weight, sources)) >= LARGE and all(map(os.path.exists, sources))


def stored(
    sources: Sequence[Path], settings: dict[str, Any], read: Read, report: Report, key: int = INPUT
) -> StoredExamples:
    """The examples that `read` gives, in a store; those with the same `key`, input or target, are held out together."""
    files = [file for source in sources for file in files_in(source)]
    facts = [[str(file.absolute()), *_state(file)] for file in files]
    what = f"reading {sources[0]}" + " …" * (len(sources) > 1)

    def make(folder: Path) -> None:
        require_room(2 * sum(map(weight, sources)))
        told: list[str] = []
        write(folder, followed(read(told.append), what, 0), told, [str(source) for source in sources], key)

    folder = prepared(name_of("examples", LAYOUT, facts, settings), make)
    store = _opened(folder, sources)
    for line in store.facts["told"]:
        report(line)
    return StoredExamples(store)


def _opened(folder: Path, sources: Sequence[Path]) -> Store:
    """A store whose examples name their files as they are named now."""
    before = json.loads((folder / FACTS).read_text(encoding="utf-8"))["sources"]
    now = list(zip(before, map(str, sources), strict=True))

    def rename(file: str) -> str:
        return next((new + file[len(old) :] for old, new in now if file.startswith(old)), file)

    return Store(folder, rename)


def weight(source: Path) -> int:
    """About how many bytes of text a file or a folder holds; 0 where nothing can be read."""
    sizes = ((file.stat().st_size, file.suffix.lower() == ".gz") for file in files_in(source))
    with contextlib.suppress(OSError, ValueError):  # a NUL in a path is a ValueError
        return sum(size * (PACKED if packed else 1) for size, packed in sizes)
    return 0


def files_in(source: Path) -> list[Path]:
    """A file, or all files of a folder, in the order of their names."""
    return sorted(path for path in source.rglob("*") if path.is_file()) if os.path.isdir(source) else [source]


def _state(file: Path) -> list[int]:
    """What changes when a file does."""
    found = file.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
