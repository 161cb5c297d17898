"""What data sets are made of: examples, each an input and a target."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 16  # of a fingerprint
PARTS = {"train": "training", "valid": "validation", "test": "test"}  # of a data set, and what each is called


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of features, in their order, and the file that has them."""

    names: tuple[str, ...]
    file: str


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """Items in no order.

    Shapes: items (n, …), each a row of features or a picture; marks (n), what is known of each item, if anything is
    """

    items: NDArray[np.float32]
    marks: NDArray[np.int64] | None = None
    grid: tuple[int, int] | None = None
    """Rows and columns, where the items are the tiles of one picture."""
    columns: Columns | None = None
    """Of items that are features with names."""

    def __str__(self) -> str:
        return f"{len(self.items)} instances"

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        yield f"{self.items.shape}".encode()
        yield np.ascontiguousarray(self.items).tobytes()
        yield b"" if self.marks is None else np.ascontiguousarray(self.marks).tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture, and where in it is what the words of its target name, if that is known.

    Shapes: pixels (height, width), gray, or (height, width, 3), red, green and blue; boxes (n, 5), the number of a word,
            and row, column, height and width in pixels
    """

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.int64] | None = None

    def __str__(self) -> str:
        return f"{self.pixels.shape[1]} × {self.pixels.shape[0]}"

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        yield f"{self.pixels.shape}".encode()
        yield np.ascontiguousarray(self.pixels).tobytes()

    def white(self) -> "Picture":
        """A picture of the same size on which nothing is to be seen: the control for those who look."""
        return Picture(np.full_like(self.pixels, 255))


@dataclass(frozen=True, slots=True, eq=False)
class PictureQuestion:
    """A picture, and what is asked about it; questions on one picture share it."""

    picture: Picture
    question: str

    def __str__(self) -> str:
        return self.question

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        yield self.question.encode("utf-8", "surrogatepass") + b"\0"
        yield from self.picture.content()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that are read together: a premise and a hypothesis, a question and where its answer stands."""

    first: str
    second: str
    start: int | None = None
    """Where in the second the answer to the first begins, where that is known."""

    def __str__(self) -> str:
        return f"{self.first} ||| {self.second}"

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        for text in (self.first, self.second, "" if self.start is None else str(self.start)):
            yield text.encode("utf-8", "surrogatepass") + b"\0"


@dataclass(frozen=True, slots=True)
class Story:
    """Statements in the order in which they were made, and a question about them."""

    statements: tuple[str, ...]
    question: str
    supporting: tuple[int, ...] = ()
    """The statements from which the answer follows, counted from 0, where that is known; no model reads them."""

    def __str__(self) -> str:
        return " ".join((*self.statements, self.question))

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        for text in (*self.statements, self.question):
            yield text.encode("utf-8", "surrogatepass") + b"\0"


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation of two things: `Silent Harbor`, `directed by`, `Ada Berg`."""

    subject: str
    relation: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} · {self.relation} · {self.object}"


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts that the questions of a data set are about."""

    rows: tuple[Fact, ...]

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        for fact in self.rows:
            for text in (fact.subject, fact.relation, fact.object):
                yield text.encode("utf-8", "surrogatepass") + b"\0"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the facts that a data set shares between its examples."""

    text: str

    def __str__(self) -> str:
        return self.text

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from: the facts are hashed once, as what examples share."""
        yield self.text.encode("utf-8", "surrogatepass") + b"\0"


class Node(int):
    """A node of the graph that a data set shares between its examples, by its number."""

    def content(self) -> Iterator[bytes]:
        """The number: the graph itself is hashed once, as what examples share."""
        yield str(int(self)).encode()


@dataclass(frozen=True, slots=True)
class Example:
    """An input (text, pair, bag, picture, node …) and its target; scores are also reported for each group."""

    input: Any
    target: str = ""
    group: str = ""
    name: str = ""
    files: tuple[str, ...] = field(default=(), compare=False, repr=False, kw_only=True)
    """Where it was read, for messages: a file, or two of parallel text …"""
    number: int = field(default=0, compare=False, repr=False, kw_only=True)
    """… and the line; 0: the whole file."""

    def where(self, side: int = 0) -> str:
        """The file of the input (0) or of the target (1), and the line, if it was read from one."""
        file = self.files[min(side, len(self.files) - 1)] if self.files else ""
        return f"{file}:{self.number}" if file and self.number else file

    def line(self) -> str:
        """The example on one line of a file, or in a few words."""
        fields = (self.input, self.target) if isinstance(self.input, str) else (self.name, self.target, str(self.input))
        return "\t".join((*fields, self.group)).rstrip("\t")

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from."""
        for text in (self.input if isinstance(self.input, str) else "", self.target, self.group):
            yield text.encode("utf-8", "surrogatepass") + b"\0"
        if not isinstance(self.input, str):
            yield from self.input.content()


def place(example: Example, number: int, side: int = 0) -> str:
    """What an example is called in a message: its file and line, or its number, counted from 1, and its name."""
    named = f"example {number} ({example.name})" if example.name else f"example {number}"
    return example.where(side) or named


def inputs_of(examples: Sequence[Example]) -> Sequence[Any]:
    """The inputs alone."""
    stored: Sequence[Any] | None = getattr(examples, "inputs", None)
    return [example.input for example in examples] if stored is None else stored


def targets_of(examples: Sequence[Example]) -> Sequence[str]:
    """The targets alone."""
    stored: Sequence[str] | None = getattr(examples, "targets", None)
    return [example.target for example in examples] if stored is None else stored


def pieces_of(examples: Sequence[Example]) -> Iterable[str]:
    """The targets to learn a tokenizer from: long ones in pieces, from which it learns the same."""
    pieces: Iterable[str] | None = getattr(examples, "pieces", None)
    return targets_of(examples) if pieces is None else pieces


def groups_of(examples: Sequence[Example]) -> list[str]:
    """The different groups, sorted."""
    groups = getattr(examples, "groups", None)
    return sorted({example.group for example in examples}) if groups is None else list(groups.different())


def files_of(examples: Iterable[Example]) -> str:
    """The files that examples were read from, for a message."""
    names = list(dict.fromkeys(file for example in examples for file in example.files))
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def digest(content: Iterable[bytes | memoryview]) -> str:
    """A short name for exactly this content."""
    hashed = hashlib.sha256()
    for part in content:
        hashed.update(part)
    return hashed.hexdigest()[:DIGITS]


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels that are numbers by their size, then words by the alphabet."""

    def rank(label: str) -> tuple[float, str]:
        try:
            number = float(label)
        except ValueError:
            number = math.inf
        return (math.inf if math.isnan(number) else number), label

    return sorted(labels, key=rank)


def hash_order(text: str, purpose: str) -> int:
    """A number that depends on nothing but these texts, by which parts are chosen whatever the order of lines."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {text}".encode()).digest()[:8], "big")


@dataclass(frozen=True)
class Splits:
    """Training, validation and test examples; the last two may be empty."""

    train: Sequence[Example]
    valid: Sequence[Example]
    test: Sequence[Example]
    shared: Any = field(default=None, kw_only=True)
    """What all examples share: the graph that they are nodes of."""
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    """The labels in their order, where the data set has one."""
    notes: tuple[str, ...] = field(default=(), kw_only=True, compare=False)
    """What should be known of the data before training begins."""

    def fingerprint(self) -> dict[str, str]:
        """A short name for exactly the examples of each part, in their order, and what they share."""
        return {name: self.fingerprint_of(name) for name in PARTS}

    def fingerprint_of(self, part: str) -> str:
        """That of one part; what all share is counted among the training examples."""
        own = getattr(self, part)
        if self.shared is None and hasattr(own, "fingerprint"):
            fingerprint: str = own.fingerprint
            return fingerprint
        shared = self.shared.content() if self.shared is not None and part == "train" else ()
        return digest(chain(chain.from_iterable(example.content() for example in own), shared))

    def parts(self) -> list[tuple[str, Sequence[Example]]]:
        """Each part with its name."""
        return [(name, getattr(self, name)) for name in PARTS]
