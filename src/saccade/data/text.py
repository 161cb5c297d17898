"""Batches of text pairs as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from saccade.data.tokenizers import START


@dataclass(frozen=True)
class TextBatch:
    """Sources and what to write for them, padded with 0; a target ends with its END. `first` is where each writer starts
    from, if that is not START: the token of a language, say.

    Shapes: source (B, K), source_lengths (B), target (B, T), target_lengths (B), first (B)
    """

    source: Int[Tensor, "B K"]
    source_lengths: Int[Tensor, " B"]
    target: Int[Tensor, "B T"]
    target_lengths: Int[Tensor, " B"]
    first: Int[Tensor, " B"] | None = None

    def before(self) -> Int[Tensor, "B T"]:
        """What stands before each token of the target: its START (or the token in `first`), then what was written."""
        starts = self.target.new_full((len(self.target),), START) if self.first is None else self.first
        return torch.cat((starts[:, None], self.target[:, :-1]), 1)

    @property
    def tokens(self) -> int:
        """How many tokens there are to write."""
        return int(self.target_lengths.sum())


@dataclass(frozen=True)
class LabeledTexts:
    """Texts, padded with 0, and the number of the label of each; `spelled`: where letters are read, those of each word.

    Shapes: source (B, K), lengths (B), label (B), spelled (B, K, P)
    """

    source: Int[Tensor, "B K"]
    lengths: Int[Tensor, " B"]
    label: Int[Tensor, " B"]
    spelled: Int[Tensor, "B K P"] | None = field(default=None, kw_only=True)

    @property
    def tokens(self) -> int:
        """How many labels there are to write."""
        return len(self.label)


@dataclass(frozen=True)
class LabeledAspects(LabeledTexts):
    """Texts, and of each the aspect that its label is about, in words of its own; `distance`: how far from those, where they
    stand in the text, each of its words is.

    Shapes: aspect (B, A), aspect_lengths (B), aspect_spelled (B, A, P), distance (B, K)
    """

    aspect: Int[Tensor, "B A"]
    aspect_lengths: Int[Tensor, " B"]
    aspect_spelled: Int[Tensor, "B A P"] | None = field(default=None, kw_only=True)
    distance: Int[Tensor, "B K"] | None = field(default=None, kw_only=True)


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of ids as one rectangle (B, longest) filled up with 0, and their lengths (B)."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    rectangle = np.zeros((len(rows), int(lengths.max(initial=0))), dtype=np.int64)
    rectangle[np.arange(rectangle.shape[1]) < lengths[:, None]] = [token for row in rows for token in row]
    return torch.from_numpy(rectangle), torch.from_numpy(lengths)


def text_batch(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], first: Sequence[int] | None = None
) -> TextBatch:
    """One batch of these rows."""
    return TextBatch(*padded(sources), *padded(targets), None if first is None else torch.tensor(first))
