"""Another model's tokens in saccade's order: `PAD`, `START`, `END` and `UNKNOWN` first, the others as they stood."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.data.tokenizers import SPECIALS, START
from saccade.errors import DataError

# Added to the logit of a token that is never written: its probability is 0, and training on from here meets no infinity.
NEVER = -1e4


@dataclass(frozen=True)
class Special:
    """The ids of the special tokens in the other order; the start may be one of the others."""

    pad: int
    start: int
    end: int
    unknown: int


@dataclass(frozen=True)
class Vocabulary:
    """Our tokens, and the row of the other's matrices that each has.

    `start_copied`: START has no row of its own there, because writing starts from PAD, say. Here it has a copy.
    """

    tokens: list[str]
    rows: list[int]
    start_copied: bool

    @property
    def size(self) -> int:
        """Rows of the other's matrices."""
        return len(set(self.rows))

    def arranged(self, matrix: Tensor) -> Tensor:
        """Rows of the other's matrix (or numbers of a vector) in our order."""
        return matrix[torch.tensor(self.rows)]

    def biases(self, given: Tensor, banned: Collection[int] = ()) -> Tensor:
        """The same for what is added to logits; a copied START takes no share of the probability, nor do banned ids.

        PAD and START keep what they have: no search writes them.
        """
        arranged = self.arranged(given)
        if self.start_copied:
            arranged[START] = NEVER
        arranged[[place for place, row in enumerate(self.rows) if row in banned and place > START]] = NEVER
        return arranged


def in_our_order(ids: Mapping[str, int], special: Special, size: int, where: str = "") -> Vocabulary:
    """The vocabulary of `size` rows whose tokens have these ids; `where` they come from begins a message."""
    names = {index: token for token, index in ids.items()}
    first = [special.pad, special.start, special.end, special.unknown]
    if min(first) < 0 or max(*first, *names) >= size or len({special.pad, special.end, special.unknown}) < 3:
        told = f"ids up to {max(names)}, pad_token_id {special.pad}, eos_token_id {special.end}"
        expected = f"expected ids below {size} (vocab_size) and three different ones for padding, end and unknown"
        raise DataError(
            f"{where}{expected}, got {told}, decoder_start_token_id {special.start} and {special.unknown} for unknown; "
            "fix: take config.json and vocabulary of one model"
        )
    others = [index for index in range(size) if index not in first]
    tokens = [*SPECIALS, *(_named(names.get(index, f"<{index}>")) for index in others)]
    copied = special.start in (special.pad, special.end, special.unknown)
    if len(set(tokens)) != len(tokens):
        raise DataError(
            f"{where}expected one id for each token of the vocabulary, got two for one; fix: take the published file"
        )
    return Vocabulary(tokens, [*first, *others], copied)


def _named(token: str) -> str:
    """A token's name; one that is called as ours are, but is another, gets brackets of its own."""
    return f"<{token}>" if token in SPECIALS else token
