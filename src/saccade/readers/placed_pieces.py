"""Texts, or pairs of texts, with where each token stands in its text: to label words, and to point at answers."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from saccade.data.examples import Pair
from saccade.data.tensors import PlacedInput, padded
from saccade.data.tokenizers import Vocabulary
from saccade.readers import pieces
from saccade.readers.pieces import Config as Config
from saccade.readers.pieces import PiecesColumn, PiecesRow, parted, pieces_input, within

WORD = re.compile(r"\S+")
Offsets = list[tuple[int, int]]
NOWHERE = (-1, -1)  # of special tokens


def first_tokens(text: str, offsets: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Of each word that has one, its number and its first token."""
    place = 0
    for number, word in enumerate(WORD.finditer(text)):
        while place < len(offsets) and offsets[place][1] <= word.start():
            place += 1
        if place < len(offsets) and offsets[place][0] < word.end():
            yield number, place


class PlacedColumn(PiecesColumn):
    """Token ids of texts, and where these stand."""

    def __init__(
        self, rows: Sequence[PiecesRow], texts: Sequence[Any], known: Vocabulary, longer: int, offsets: Sequence[Offsets]
    ) -> None:
        super().__init__(rows, texts, known, longer)
        self.offsets = offsets

    def batch(self, indices: Any) -> PlacedInput:
        """The tensors of these texts; asked about is the first token of each word of the first text."""
        chosen, texts = [self.rows[i] for i in indices], tuple(self.texts[i] for i in indices)
        own = pieces_input(chosen, self.known)
        offsets = [self.offsets[i] for i in indices]
        sides = [padded([[place[side] for place in row] for row in offsets], -1)[0] for side in (0, 1)]
        asked = [(row, at, number) for row, i in enumerate(indices) for number, at in self._words(i)]
        rows, places, words = torch.tensor(asked, dtype=torch.int64).view(-1, 3).unbind(1)
        counts = torch.tensor([len(parted(text)[0].split()) for text in texts])
        return PlacedInput(
            own.tokens,
            own.lengths,
            segments=own.segments,
            rows=rows.contiguous(),
            places=places.contiguous(),
            texts=texts,
            words=words.contiguous(),
            counts=counts,
            offsets=torch.stack(sides, -1),
        )

    def _words(self, i: int) -> Iterator[tuple[int, int]]:
        row = self.rows[i]
        lead = 1 - row.behind
        first = self.offsets[i][lead : row.first - 1]
        return ((number, place + lead) for number, place in first_tokens(parted(self.texts[i])[0], first))


class Reader(pieces.Reader):
    """Encodes texts and pairs, and knows where their tokens stand."""

    FILLS = False

    def encode(self, inputs: Sequence[Any]) -> PlacedColumn:
        column = super().encode(inputs)
        offsets = [self.offsets(text, row) for text, row in zip(inputs, column.rows, strict=True)]
        return PlacedColumn(column.rows, inputs, self.vocabulary, column.longer, offsets)

    def offsets(self, text: Any, row: PiecesRow) -> Offsets:
        """Where each token of a row stands in its own text."""
        first, second = parted(text)
        read = [self.tokenizer.offsets(first), self.tokenizer.offsets(second or "")]
        one, other = within(len(read[0]), len(read[1]), self.room(pair=second is not None))
        last = 0 if second is None else 1 + row.behind
        between = [NOWHERE] * (len(row.ids) - one - other - self.lead - last)
        return [NOWHERE] * self.lead + [*read[0][:one], *between, *read[1][:other]] + [NOWHERE] * last

    def located(self, pair: Pair, start: int, end: int) -> tuple[int, int]:
        """The first and the last token of this part of the second text; (0, 0) where it is not read, or not all of it."""
        row = self.encode([pair]).rows[0]
        own = list(enumerate(self.offsets(pair, row)))[row.first :]
        inside = [place for place, (first, last) in own if first < end and last > start and first != last]
        reaches = bool(inside) and self.offsets(pair, row)[inside[-1]][1] >= end
        return (inside[0], inside[-1]) if reaches else (0, 0)
