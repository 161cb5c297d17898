"""Answers: one of those that are known, each a word of the reader's or a text of its own."""

from collections.abc import Iterable, Sequence
from typing import Any

from saccade.data.examples import Splits, targets_of
from saccade.writers import label
from saccade.writers.label import Config as Config


class Writer(label.Writer):
    """Knows the answers of the training data, or all that the data set names, and which of the reader's words each is."""

    def __init__(self, config: Any, names: Sequence[str], words: Sequence[int]) -> None:
        super().__init__(config, names)
        self.words = tuple(words)

    @classmethod
    def of(cls, config: Any, names: Sequence[str], reader: Any) -> "Writer":
        found = map(reader.word, names)
        return cls(config, names, [-1 if word is None else word for word in found])

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Splits) -> Iterable[str]:
        return dict.fromkeys(splits.labels or targets_of(splits.train))

    @classmethod
    def named(cls, splits: Splits) -> Sequence[str]:
        return splits.labels

    def sizes(self) -> dict[str, Any]:
        return {"answers": self.words}

    def strange(self, earlier: Any) -> set[str]:
        return {"answers"} if super().strange(earlier) else set()
