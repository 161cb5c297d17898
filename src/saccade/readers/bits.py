"""Sequences of binary vectors, typed as words of zeros and ones, with marks between them (Graves et al. 2014, section 4).

`01101` is a vector; `01101@0.5` one with a number beside it, a priority say. Any other word is a mark, which has a channel
of its own: `>`, or with a number `repeat=3`. A point stands where nothing is shown and a vector is expected as answer.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade import records
from saccade.config import Empty
from saccade.data.examples import Example, Splits, inputs_of, place
from saccade.data.tensors import BitsInput
from saccade.errors import DataError
from saccade.readers import reader
from saccade.readers.reader import Load, numbered, require_text
from saccade.view.trace import Axis

FILE = "channels.json"
BLANK = "."
VECTOR = re.compile(r"([01]+)(?:@(-?\d+(?:\.\d+)?))?")
MARK = re.compile(r"([^=]+)(?:=(-?\d+(?:\.\d+)?))?")

Config = Empty
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Channels:
    """The bits of a vector, then a channel for each mark, then one for numbers, which are divided by the largest."""

    bits: int
    marks: tuple[str, ...]
    largest: float

    @property
    def count(self) -> int:
        """How many there are."""
        return self.bits + len(self.marks) + 1

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Channels":
        """Those that texts need."""
        bits, marks, largest = 0, dict[str, None](), 0.0
        for text in texts:
            for word in text.split():
                if word == BLANK:
                    continue
                vector = VECTOR.fullmatch(word)
                found = vector or MARK.fullmatch(word)
                assert found is not None  # any word is a mark
                if vector:
                    bits = bits or len(vector[1])
                else:
                    marks[found[1]] = None
                largest = max(largest, abs(float(found[2] or 0)))
        if not bits:
            raise DataError("expected words of zeros and ones in the training data, such as 01101, got none")
        return cls(bits, tuple(sorted(marks)), largest or 1.0)

    def row(self, word: str) -> Floats:
        """The numbers of a word."""
        row = np.zeros(self.count, np.float32)
        if word == BLANK:
            return row
        vector = VECTOR.fullmatch(word)
        found = vector or MARK.fullmatch(word)
        if vector:
            if len(vector[1]) != self.bits:
                raise DataError(f"expected vectors of {self.bits} bits, got {word!r}")
            row[: self.bits] = [bit == "1" for bit in vector[1]]
        elif found is None or found[1] not in self.marks:
            known = ", ".join(self.marks) or "none"
            raise DataError(f"expected {self.bits} bits, a point or a mark ({known}), got {word!r}")
        else:
            row[self.bits + self.marks.index(found[1])] = 1
        row[-1] = float(found[2] or 0) / self.largest
        return row


class BitsColumn:
    """Sequences as rows of numbers; where an answer is expected nothing is shown."""

    def __init__(self, rows: Sequence[Floats], blanks: Sequence[NDArray[np.bool_]]) -> None:
        self.rows, self.blanks = rows, blanks
        self.lengths = np.array([len(own) for own in rows], dtype=np.int64)

    def batch(self, indices: Any) -> BitsInput:
        """The tensors of these sequences."""
        chosen = list(indices)
        longest = max(int(self.lengths[i]) for i in chosen)
        vectors = np.zeros((len(chosen), longest, self.rows[0].shape[1]), np.float32)
        blanks = np.zeros((len(chosen), longest), bool)
        for place_, i in enumerate(chosen):
            vectors[place_, : len(self.rows[i])] = self.rows[i]
            blanks[place_, : len(self.rows[i])] = self.blanks[i]
        lengths = torch.from_numpy(self.lengths[chosen])
        return BitsInput(torch.from_numpy(vectors), lengths, torch.from_numpy(blanks))


class Reader(reader.Reader):
    """Knows the width of vectors and the marks of the training data."""

    INPUT, OWN, TYPED = str, "text_files", "'0110 1010 > . .'"
    unit, budget = "vectors", 8_000

    def __init__(self, config: Any, channels: Channels) -> None:
        super().__init__(config)
        self.channels = channels

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        for _, _, problem in cls.unfit(splits):
            raise DataError(problem)
        return cls(config, Channels.of(inputs_of(splits.train)))

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        bits = next((len(v[1]) for one in inputs_of(splits.train) for w in one.split() if (v := VECTOR.fullmatch(w))), 0)
        for index, example in enumerate(splits.train):
            for word in example.input.split():
                if (vector := VECTOR.fullmatch(word)) and len(vector[1]) != bits:
                    yield "train", index, f"{place(example, index + 1)}: expected vectors of {bits} bits, got {word!r}"
                    break

    def save(self, directory: Path) -> None:
        records.save(directory / FILE, asdict(self.channels))

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        record = records.load(directory / FILE)
        try:
            bits, marks, largest = record["bits"], tuple(record["marks"]), float(record["largest"])
            if not (isinstance(bits, int) and bits > 0 and math.isfinite(largest) and largest > 0):
                raise ValueError(f"expected a number of bits and the largest number, got {record}")
        except (ValueError, TypeError, KeyError) as error:
            raise records.unreadable(directory / FILE, error) from None
        return cls(config, Channels(bits, marks, largest))

    def sizes(self) -> dict[str, Any]:
        return {"channels": self.channels.count, "bits": self.channels.bits}

    def check(self, example: Example) -> None:
        words = example.input.split()
        for word in words:
            self.channels.row(word)
        if BLANK not in words:
            raise DataError("expected a point for each vector of the answer, got none; add as many as it has: . . .")

    def encode(self, inputs: Sequence[str]) -> BitsColumn:
        words = [text.split() for text in inputs]
        blanks = [np.array([word == BLANK for word in own]) for own in words]
        return BitsColumn([np.stack([self.channels.row(word) for word in own]) for own in words], blanks)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        text = require_text(typed).strip()
        return (numbered(text, splits) or Example(text)) if text else None

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        return {"input": Axis("vectors", example.input.split())}
