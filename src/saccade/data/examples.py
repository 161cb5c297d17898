"""What data sets are made of."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = {"train": "training", "valid": "validation", "test": "test"}  # of a data set, and what each is called


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and the text to write for it; scores are also given apart for each group."""

    source: str
    target: str
    group: str = ""
    files: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    """Where it was read: a file, or two of parallel text, and the line."""
    number: int = field(default=0, compare=False, repr=False, kw_only=True)

    def where(self, side: int = 0) -> str:
        """The file of a side and the line, if it was read from one."""
        return f"{self.files[min(side, len(self.files) - 1)]}:{self.number}" if self.files else ""

    def line(self) -> str:
        """The pair as a line of a file has it."""
        return "\t".join((self.source, self.target, self.group)).rstrip("\t")

    def content(self) -> Iterator[bytes]:
        """All that is learned from."""
        for text in (self.source, self.target, self.group):
            yield text.encode("utf-8", "surrogatepass") + b"\0"


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of features, in their order, and the file that has them."""

    names: tuple[str, ...]
    file: str


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """Some things, in no order, and what is to be said of all of them together.

    Shapes: items (n, …), each a row of features or a picture; marks (n), what is known of each, if anything is
    """

    items: NDArray[np.float32]
    target: str
    marks: NDArray[np.int64] | None = None
    group: str = ""
    name: str = ""
    grid: tuple[int, int] | None = None
    """Rows and columns, where the items are the tiles of one picture."""
    columns: Columns | None = None
    """Of items that are features with names."""
    where: str = ""
    """The file and row, or the folder, that it was read from, for messages."""

    def line(self) -> str:
        """The bag in a few words."""
        return f"{self.name}\t{self.target}\t{len(self.items)} instances"

    def content(self) -> Iterator[bytes]:
        """All that is learned from."""
        yield f"{self.items.shape} {self.target}\0{self.group}\0".encode("utf-8", "surrogatepass")
        yield np.ascontiguousarray(self.items).tobytes()
        yield b"" if self.marks is None else np.ascontiguousarray(self.marks).tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture and its label.

    Shapes: pixels (height, width), gray, or (height, width, 3), red, green and blue
    """

    pixels: NDArray[np.uint8]
    target: str
    group: str = ""
    name: str = ""
    where: str = ""
    """The file, and the row of the one that lists it, for messages."""

    def line(self) -> str:
        """The picture in a few words."""
        return f"{self.name}\t{self.target}\t{self.pixels.shape[1]} × {self.pixels.shape[0]}"

    def content(self) -> Iterator[bytes]:
        """All that is learned from."""
        yield f"{self.pixels.shape} {self.target}\0{self.group}\0".encode("utf-8", "surrogatepass")
        yield np.ascontiguousarray(self.pixels).tobytes()


def place(example: Any, number: int, side: int = 0) -> str:
    """What an example is called in a message: its file and line, or its number, counted from 1, and its name."""
    if isinstance(example, Pair):
        return example.where(side) or f"example {number}"
    if getattr(example, "where", ""):
        return str(example.where)
    return f"example {number} ({example.name})" if getattr(example, "name", "") else f"example {number}"


def digest(content: Iterable[bytes]) -> str:
    """A short name for exactly this content."""
    found = hashlib.sha256()
    for part in content:
        found.update(part)
    return found.hexdigest()[:16]


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels that are numbers by their size, then words by the alphabet."""

    def rank(label: str) -> tuple[float, str]:
        try:
            number = float(label)
        except ValueError:
            number = math.inf
        return (math.inf if math.isnan(number) else number), label

    return sorted(labels, key=rank)


def place_of(text: str, purpose: str) -> int:
    """A number that hangs on nothing but these texts, by which parts are chosen whatever the order of lines."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {text}".encode()).digest()[:8], "big")


@dataclass(frozen=True)
class Splits:
    """Examples (pairs, bags, pictures …) to learn from, to choose by, and to be judged on. The last two may be empty."""

    train: Sequence[Any]
    valid: Sequence[Any]
    test: Sequence[Any]

    def fingerprint(self) -> dict[str, str]:
        """A short name for exactly the examples of each part, in their order: all that is read and to be said."""
        return {name: digest(chain.from_iterable(example.content() for example in part)) for name, part in self.parts()}

    def parts(self) -> list[tuple[str, Sequence[Any]]]:
        """Each part with its name."""
        return [(name, getattr(self, name)) for name in PARTS]
