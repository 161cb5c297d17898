"""Tokens of running text in a random order: what XLNet is pre-trained with (Yang et al. 2019, section 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from saccade.config import Count, Positive, Share
from saccade.data.draws import Draws
from saccade.data.examples import Example
from saccade.data.masking import PermutedRow, permuted
from saccade.data.tensors import Batch, MaskedTarget, PermutedInput, padded
from saccade.errors import UsageError
from saccade.readers.pieces import PiecesRow, pieces_input
from saccade.writers import masked
from saccade.writers.masked import MaskedTexts


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is predicted, and what is remembered."""

    plm_probability: Share = 1 / 6
    "Share of the tokens that are predicted, in a random order; the others are given (the paper's 1/K)."
    max_span_length: Positive = 5
    "Most neighboring tokens that are predicted together."
    mem_len: Count = 0
    "How many tokens before each text are remembered: they are read first, without a gradient."

    def __post_init__(self) -> None:
        if not self.plm_probability:
            raise UsageError("plm_probability: expected more than 0, or nothing is learned, got 0.0")


class PermutedTexts(MaskedTexts):
    """Running text as examples whose memory is the text before them."""

    def _row(self, first: int, draws: Draws) -> PermutedRow:
        start = int(self.store.starts[first])
        ids = self.reader.row(self.store.window(first, self.room), None).ids
        memory = self.store.tokens[max(0, start - self.config.mem_len) : start]
        share, longest = self.config.plm_probability, self.config.max_span_length
        return permuted(np.array(ids, dtype=np.int64), memory, share, longest, self.reader.vocabulary, draws)

    def _batch(self, rows: Sequence[PermutedRow]) -> Batch:
        known, behind = self.reader.vocabulary, int(self.reader.config.class_last)
        own = pieces_input([PiecesRow(row.tokens.tolist(), len(row.tokens) - behind, behind) for row in rows], known)
        asked, counts = padded([row.places.tolist() for row in rows])
        live = torch.arange(asked.shape[1]) < counts[:, None]
        numbers, slots = live.nonzero(as_tuple=True)
        memory, lengths = padded([row.memory[::-1].tolist() for row in rows], known.pad)
        input = PermutedInput(
            own.tokens,
            own.lengths,
            segments=own.segments,
            rows=numbers,
            places=asked[live],
            asked=asked,
            ranks=torch.arange(1, asked.shape[1] + 1) * live,
            slots=slots,
            memory=memory.flip(1),
            memory_lengths=lengths,
        )
        return Batch(input, MaskedTarget(own.tokens[numbers, asked[live]]))


class Writer(masked.Writer):
    """Fills in what is hidden, each token by all that is given."""

    config: Config  # type: ignore[assignment]

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("loss", "masked_loss", "perplexity", "masked_accuracy")

    def sizes(self) -> dict[str, Any]:
        return {}

    def corpus(self, examples: Sequence[Example]) -> PermutedTexts:
        """All texts one after the other, an end token between them."""
        return PermutedTexts(self._store(examples, paired=False), self.reader, self.config, paired=False)
