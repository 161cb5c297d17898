"""Texts to learn a masked language model from: which tokens are hidden, and which two parts stand together.

Devlin et al. 2018, section 3.1 and appendix A; without next sentences Liu et al. 2019 (full sentences, dynamic masking).
All is a pure function of the numbers that are drawn, so that a run which is resumed sees what an uninterrupted one sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from saccade.data.draws import Draws
from saccade.data.tokenizers import Vocabulary

Integers = NDArray[np.int64]
HIDDEN, KEPT = 0.8, 0.1  # shares of the chosen tokens that become the mask and stay; the others become any token
SHORT = 0.1  # share of the examples of two parts that are shorter than they could be


@dataclass(frozen=True)
class MaskedRow:
    """Tokens, some of them hidden; `places` of all that are to be predicted, and the `truth` there."""

    tokens: Integers
    places: Integers
    truth: Integers


def masked(tokens: Integers, share: float, known: Vocabulary, draws: Draws) -> MaskedRow:
    """The tokens with this share of them chosen: of these 8 of 10 become the mask, 1 another token, 1 stays."""
    assert known.mask is not None
    open_to_choice = _possible(tokens, known)
    count = min(len(open_to_choice), max(1, round(share * len(open_to_choice))))
    chance = draws.uniform(3, len(tokens))
    places = np.sort(open_to_choice[np.argsort(chance[0][open_to_choice], kind="stable")[:count]])
    written = _written(known)
    others = written[(chance[2][places] * len(written)).astype(np.int64)]
    fate = chance[1][places]
    hidden = np.where(fate < HIDDEN, known.mask, np.where(fate < HIDDEN + KEPT, tokens[places], others))
    changed = tokens.copy()
    changed[places] = hidden
    return MaskedRow(changed, places, tokens[places])


def _possible(tokens: Integers, known: Vocabulary) -> Integers:
    """The places that may be predicted."""
    return np.flatnonzero(~np.isin(tokens, [known.pad, known.start, known.end]))


@cache
def _written(known: Vocabulary) -> Integers:
    """All tokens that a text may hold."""
    return np.setdiff1d(np.arange(known.size), known.special)


@dataclass(frozen=True)
class PartedRow:
    """Two parts of text, and whether the second is a stranger: taken from another place than behind the first."""

    first: Integers
    second: Integers
    stranger: bool


class SentenceStore:
    """Tokens of many texts one after the other, and where their sentences begin.

    Shapes: tokens (N), starts (S + 1), the last one N; texts (S), the text of each sentence
    """

    def __init__(self, texts: Sequence[Sequence[Sequence[int]]]) -> None:
        rows = [np.asarray(sentence, dtype=np.int64) for text in texts for sentence in text if len(sentence)]
        self.tokens = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self.starts = np.cumsum([0, *map(len, rows)])
        self.texts = np.repeat(np.arange(len(texts)), [sum(1 for one in text if len(one)) for text in texts])

    def __len__(self) -> int:
        return len(self.texts)

    def token_rows(self) -> list[list[int]]:
        """The tokens of each text."""
        firsts = np.flatnonzero(np.diff(self.texts, prepend=-1))
        return [row.tolist() for row in np.split(self.tokens, self.starts[firsts[1:]])] if len(firsts) else []

    def run(self, first: int, most: int) -> list[int]:
        """Sentences of one text from this one on, as many as reach so many tokens, with the places where they end."""
        ends: list[int] = []
        for number in range(first, len(self)):
            if self.texts[number] != self.texts[first] or (ends and ends[-1] - self.starts[first] >= most):
                break
            ends.append(int(self.starts[number + 1]))
        return ends

    def window(self, first: int, most: int) -> Integers:
        """So many tokens from this sentence on, whatever texts they are of."""
        start = int(self.starts[first])
        return self.tokens[start : start + most]

    def parts(self, first: int, room: int, draws: Draws) -> PartedRow:
        """Two parts that fit into so much room: sentences from this one on, and those that follow or, in half of all cases,
        those of another text."""
        short, size, cut, chance, other = draws.uniform(5)
        most = int(2 + size * (room - 2)) if short < SHORT else room
        start, ends = int(self.starts[first]), self.run(first, most)
        split = int(cut * (len(ends) - 1)) if len(ends) > 1 else 0  # of the sentences, the last of the first part
        one = self.tokens[start : ends[split]]
        stranger = len(ends) == 1 or chance < 0.5
        if stranger:
            left, number = max(most - len(one), 1), self._elsewhere(first, other)
            two = self.tokens[int(self.starts[number]) : self.run(number, left)[-1]][:left]
        else:
            two = self.tokens[ends[split] : ends[-1]]
        return PartedRow(one, two, stranger)

    def _elsewhere(self, first: int, chance: float) -> int:
        """A sentence of another text; where there is one text only, any sentence."""
        own = np.flatnonzero(self.texts == self.texts[first]) if self.texts[0] != self.texts[-1] else np.zeros(0, np.int64)
        if not len(own):
            return int(chance * len(self))
        number = int(chance * (len(self) - len(own)))
        return number if number < own[0] else number + len(own)


@dataclass(frozen=True)
class PermutedRow:
    """Tokens, the places of those to be predicted, in the order in which they are, and the tokens before them all."""

    tokens: Integers
    places: Integers
    memory: Integers


def permuted(tokens: Integers, memory: Integers, share: float, longest: int, known: Vocabulary, draws: Draws) -> PermutedRow:
    """The tokens with about this share of them chosen, in a random order (Yang et al. 2019, sections 2.3 and 2.6).

    Of 1/share · L tokens L neighbors are chosen, for one length L from 1 to `longest` after the other."""
    chance, order = draws.uniform(3, len(tokens)), draws.order(len(tokens))
    chosen, start, spans = np.zeros(len(tokens), dtype=bool), 0, 0
    while start < len(tokens):
        size = 1 + int(chance[0][spans] * longest)
        around = max(size, round(size / share))
        first = start + int(chance[1][spans] * (around - size + 1))
        chosen[first : first + size] = True
        start, spans = start + around, spans + 1
    possible = _possible(tokens, known)
    if not chosen[possible].any():
        chosen[possible[chance[2][possible].argsort()[:1]]] = True
    return PermutedRow(tokens, order[chosen[order] & np.isin(order, possible)], memory)
