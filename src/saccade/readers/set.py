"""Sets: words, or instances such as rows of features and pictures, in no order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from saccade.data import tokenizers
from saccade.data.batches import Integers
from saccade.data.examples import Bag, Example, Splits, inputs_of
from saccade.data.formats import bag_files, text_files
from saccade.data.formats.tables import Table
from saccade.data.stored.text_parts import TextParts
from saccade.data.tensors import BagInput
from saccade.data.tokenizers import LearnedTokenizer, unknown_places
from saccade.errors import DataError
from saccade.readers import bag, reader
from saccade.readers.bag import Scale
from saccade.readers.reader import Load, require_text
from saccade.readers.tokenized import FILE
from saccade.view.trace import Axis


@dataclass(frozen=True, kw_only=True)
class Config:
    """How words are read."""

    unknown: Literal["keep", "drop"] = "keep"
    "What becomes of unknown words: they are read as one and the same word, or left out of their sets."


class SetColumn:
    """Sets of word ids, or of scaled items."""

    def __init__(self, items: Sequence[Any], sizes: Integers) -> None:
        self.items, self.sizes = items, sizes
        # Sets of all sizes come together in a batch: nothing is padded, and a batch of small sets alone would pull the
        # other way than one of large ones.
        self.lengths = np.full(len(sizes), max(1, round(float(sizes.mean()))) if len(sizes) else 1, dtype=np.int64)

    def batch(self, indices: Any) -> BagInput:
        """The tensors of these sets."""
        sets = [self.items[i] for i in indices]
        return BagInput(torch.from_numpy(np.concatenate(sets)), torch.tensor([len(own) for own in sets]))


@dataclass(frozen=True)
class _Scaled(Sequence[Any]):
    """The instances of each bag, scaled when they are read."""

    bags: Sequence[Bag]
    scale: Scale

    def __len__(self) -> int:
        return len(self.bags)

    def __getitem__(self, index: Any) -> Any:
        return self.scale(self.scale.fitting(self.bags[index]).items)


class Reader(reader.Reader):
    """Encodes words by a tokenizer, or scales instances: what the training data holds."""

    INPUT, OWN, TOKENIZED = (str, Bag), "text_files", True
    unit, budget = "items", 4_000
    config: Config

    def __init__(self, config: Any, tokenizer: LearnedTokenizer | None = None, scale: Scale | None = None) -> None:
        super().__init__(config)
        self.tokenizer, self.scale = tokenizer, scale

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        if isinstance(splits.train[0].input, str):
            return cls(config, tokenizers.train(TextParts(inputs_of(splits.train), texts), tokens))
        return cls(config, scale=bag.fitted(splits))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        if isinstance(splits.train[0].input, str):
            return cls(config, earlier.tokenizer) if earlier.tokenizer else cls.fit(config, tokens, splits, texts)
        own = bag.fitted(splits)
        return cls(config, scale=earlier.scale.going_on(own) if earlier.scale else own)

    def strange(self, earlier: Any) -> set[str]:
        return {"source"} if self.tokenizer is not getattr(earlier, "tokenizer", None) else set()

    def save(self, directory: Path) -> None:
        if self.tokenizer is not None:
            self.tokenizer.save(directory / FILE)
        if self.scale is not None:
            self.scale.save(directory)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        if (directory / bag.FILE).exists():
            return cls(config, scale=Scale.load(directory))
        return cls(config, LearnedTokenizer.load(directory / FILE))

    def sizes(self) -> dict[str, Any]:
        return {
            "source": self.tokenizer.vocabulary if self.tokenizer else None,
            "shape": self.scale.shape if self.scale else (),
        }

    def check(self, example: Example) -> None:
        if self.scale is not None:
            if not isinstance(example.input, Bag):
                raise DataError(f"expected sets of items of shape {self.scale.shape}, as in training, got words")
            self.scale.fitting(example.input, f"set {example.name!r}")

    def encode(self, inputs: Sequence[Any]) -> SetColumn:
        if self.tokenizer is None:
            assert self.scale is not None
            return SetColumn(_Scaled(inputs, self.scale), np.array([len(own.items) for own in inputs], dtype=np.int64))
        rows = [self._known(row) for row in self.tokenizer.encode_batch(inputs)]
        return SetColumn(rows, np.array([len(row) for row in rows], dtype=np.int64))

    def _known(self, row: list[int]) -> Integers:
        assert self.tokenizer is not None
        kept = row if self.config.unknown == "keep" else [word for word in row if word != self.tokenizer.vocabulary.unknown]
        return np.array(kept, dtype=np.int64)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        return Example(require_text(typed)) if self.scale is None else bag.parsed(typed, self.scale, splits)

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return text_files.inputs_of(source, column) if self.scale is None else bag_files.inputs_of(source)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        if isinstance(example.input, Bag):
            return {"input": bag.axis(example.input, numbers=example.input.marks is None)}
        assert self.tokenizer is not None
        names, ids = self.tokenizer.pieces(example.input), self.tokenizer.encode(example.input)
        if self.config.unknown != "keep":  # what is not read has no place
            names = [name for name, word in zip(names, ids, strict=True) if word != self.tokenizer.vocabulary.unknown]
            ids = self._known(ids).tolist()
        if not names:
            raise DataError("there is nothing to look at: the set is empty")
        return {"input": Axis("words", names, unknown=unknown_places(self.tokenizer, ids))}
