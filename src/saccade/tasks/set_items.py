"""The items of sets: words that have numbers, or instances that have a scale; how they are read and shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import tokenizers
from saccade.data.batches import Integers
from saccade.data.examples import Bag, Pair, Splits
from saccade.data.tokenizers import Tokenizer
from saccade.errors import DataError
from saccade.tasks.instances import Scale, instances, named
from saccade.view.trace import Axis

SAMPLE = 1000  # sets that the scale of instances is learned from


@dataclass(frozen=True)
class Scaled(Sequence[Any]):
    """The instances of each bag, scaled when they are asked for."""

    bags: Sequence[Bag]
    scale: Scale

    def __len__(self) -> int:
        return len(self.bags)

    def __getitem__(self, place: Any) -> Any:
        return self.scale(self.scale.fitting(self.bags[place]).items).astype(np.float32, copy=False)


class SetItems:
    """Either the words of a run or the scale of its instances."""

    def __init__(self, tokenizer: Tokenizer | None = None, scale: Scale | None = None) -> None:
        self.tokenizer, self.scale = tokenizer, scale

    @classmethod
    def of(cls, examples: Sequence[Any], tokens: tokenizers.Config) -> "SetItems":
        """What the items to learn from are."""
        if isinstance(examples[0], Pair):
            return cls(tokenizer=tokenizers.train([pair.source for pair in examples], tokens))
        return cls(scale=Scale.of(examples[:SAMPLE]))

    def save(self, run: Path) -> None:
        """Write it into the run."""
        if self.tokenizer:
            self.tokenizer.save(run / "tokenizer.json")
        if self.scale:
            self.scale.save(run)

    @classmethod
    def load(cls, run: Path) -> "SetItems":
        """Read it again."""
        if (run / "scale.json").exists():
            return cls(scale=Scale.load(run))
        return cls(tokenizer=Tokenizer.load(run / "tokenizer.json"))

    def sizes(self) -> dict[str, Any]:
        """What a model is made for: how many words there are, or the shape of an instance."""
        return {
            "words": self.tokenizer.size if self.tokenizer else 0,
            "shape": self.scale.shape if self.scale else (),
        }

    def encoded(self, examples: Sequence[Any]) -> tuple[Sequence[Any], Integers]:
        """The items of each set as numbers, and how many there are."""
        if self.tokenizer is None:
            assert self.scale is not None
            lengths = [_size(example, self.scale) for example in examples]
            return Scaled(examples, self.scale), np.array(lengths, dtype=np.int64)
        rows = [np.array(row, dtype=np.int64) for row in self.tokenizer.encode_batch([pair.source for pair in examples])]
        return rows, np.array([len(row) for row in rows], dtype=np.int64)

    def named(self, text: str, examples: Callable[[], Splits]) -> Pair | Bag | None:
        """The set on a line: words, or a bag by its name; an empty line names no bag."""
        if self.scale is None:
            return Pair(text, "")
        return named(text, self.scale, examples) if text.strip() else None

    def side(self, example: Pair | Bag) -> Axis:
        """The set as a side of a picture."""
        if isinstance(example, Bag):
            marks = range(len(example.items)) if example.marks is None else example.marks.tolist()
            return instances(example, [str(mark) for mark in marks])
        assert self.tokenizer is not None
        words = self.tokenizer.pieces(example.source)
        if not words:
            raise DataError("there is nothing to look at: the set is empty")
        return Axis("words", words)


def _size(example: Any, scale: Scale) -> int:
    """How many items a bag has, if they are what the run has learned from."""
    if not isinstance(example, Bag):
        raise DataError(f"expected sets of items of shape {scale.shape}, as the run has learned from, got words")
    return len(scale.fitting(example).items)
