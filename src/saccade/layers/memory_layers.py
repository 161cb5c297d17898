"""What memory networks are made of: sentences as vectors, hops over them, answers among words (Sukhbaatar et al. 2015).

Letters: R sentences of all memories, K words, B questions, M places of the longest memory.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Mask, Normalizer, attend
from saccade.attention.groups import Group
from saccade.attention.live import live
from saccade.layers.set_layers import owners

STD = 0.1  # of all parameters at first


def places(sizes: Int[Tensor, " R"], most: int) -> tuple[Float[Tensor, "R K"], Float[Tensor, "R K"]]:
    """1 − j/J and 1 − 2j/J for word j, counted from 1, of a sentence of J words; 0 behind its end."""
    share = torch.arange(1, most + 1, device=sizes.device) / sizes.clamp(min=1)[:, None]
    there = live(sizes, most)
    return (1 - share) * there, (1 - 2 * share) * there


class Sentences(nn.Module):
    """Sums of word vectors, from several tables side by side, each D wide.

    Position encoding weighs number k of the vector of word j by 2 l_kj, l_kj = (1 − j/J) − (k/D)(1 − 2j/J): something of the
    word plus k times something else of it. So it takes two weighted sums of vectors, and nothing of each word by itself.
    With the 2, which is in the authors' code and not in the paper, words weigh 1 in the mean, as in a bag of words.

    Shapes: tokens (R, K), sizes (R) -> (R, tables · D)
    """

    def __init__(self, words: int, tables: int, width: int, *, positions: bool) -> None:
        super().__init__()
        self.positions = positions
        self.vectors = nn.Parameter(torch.empty(words, tables * width).normal_(std=STD))
        self.share: Tensor
        self.register_buffer("share", torch.arange(1, width + 1).repeat(tables) / width, persistent=False)

    def forward(self, tokens: Int[Tensor, "R K"], sizes: Int[Tensor, " R"]) -> Float[Tensor, "R _"]:
        if not self.positions:
            return self.total(tokens, live(sizes, tokens.shape[1]).to(self.vectors.dtype))
        first, second = places(sizes, tokens.shape[1])
        return 2 * (self.total(tokens, first) - self.share * self.total(tokens, second))

    def total(self, tokens: Int[Tensor, "R K"], weights: Float[Tensor, "R K"]) -> Float[Tensor, "R _"]:
        """The sum of the vectors of each row's words under these weights."""
        return F.embedding_bag(tokens, self.vectors, mode="sum", per_sample_weights=weights)


def ages(counts: Int[Tensor, " B"], rows: int) -> Int[Tensor, " R"]:
    """How many statements of its own memory came after each one of all; 0: it is the last."""
    owner = owners(counts, rows)
    return counts.cumsum(0)[owner] - 1 - torch.arange(rows, device=counts.device)


def spread_ages(counts: Int[Tensor, " B"], rows: int, most: int, share: float) -> Int[Tensor, " R"]:
    """The same where up to so large a share of empty memories is among the statements, how many and where at random (random
    noise, section 4.1): one after the other is put before, between or behind what is there; `most`: the largest memory."""
    owner, age = owners(counts, rows), ages(counts, rows)
    number = most_empty(most, share)
    # Drawn on the CPU, so that every device puts them in the same places.
    chance = torch.rand(1 + number, len(counts)).to(counts.device)
    wanted = (chance[0] * ((counts * share).ceil() + 1)).long()
    for one in range(number):
        place = (chance[1 + one] * (counts + one + 1)).long().masked_fill(one >= wanted, rows + number)
        age = age + (age >= place[owner])
    return age


def most_empty(statements: int, share: float) -> int:
    """How many empty places may be between so many statements."""
    return math.ceil(share * statements)


def in_places(rows: Float[Tensor, "R D"], counts: Int[Tensor, " B"], most: int) -> Float[Tensor, "B M D"]:
    """The rows of each memory in its own row, zeros behind them."""
    first = (torch.arange(len(counts), device=counts.device) + 1) * most - (most - counts)
    place = first[owners(counts, len(rows))] - 1 - ages(counts, len(rows))
    whole = rows.new_zeros(len(counts) * most, rows.shape[1]).index_copy(0, place, rows)
    return whole.view(len(counts), most, rows.shape[1])


class LinearStart(nn.Module):
    """No softmax for so many steps of training, then softmax; how many are left is part of the model's state."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.left: Tensor
        self.register_buffer("left", torch.tensor(steps))

    def count(self) -> None:
        """One step is over."""
        self.left.sub_(1).clamp_(min=0)


class MemorySoftmax(Normalizer):
    """Softmax over all places of a memory, of which so many are empty; none while steps of a linear start are left.

    An empty place has the score 0 and holds zeros, as in the authors' code: what falls to it reads nothing.

    Shapes: empty (B)
    """

    distribution = False

    def __init__(self, empty: Int[Tensor, " B"], left: Tensor | None = None) -> None:
        super().__init__()
        self.empty, self.left = empty, left

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        # So many scores of 0 are one score of the logarithm of their number.
        nothing = self.empty.to(scores.dtype).log()[:, None, None].expand(-1, scores.shape[1], 1)
        weights = group.softmax(torch.cat((scores, nothing), -1))[..., :-1]
        if self.left is None:
            return weights
        return torch.where(self.left > 0, scores.masked_fill(scores == -torch.inf, 0), weights)


class Hop(nn.Module):
    """What a state reads of a memory: Σ pᵢ cᵢ with p the normalized u·mᵢ.

    Shapes: state (B, D), keys and values (B, M, D) -> (B, D)
    """

    def forward(
        self,
        state: Float[Tensor, "B D"],
        keys: Float[Tensor, "B M D"],
        values: Float[Tensor, "B M D"],
        mask: Mask,
        normalize: Normalizer | str = "softmax",
    ) -> Float[Tensor, "B D"]:
        attended = attend(state[:, None], keys, values, score="dot", mask=mask, normalize=normalize)
        return attended.context[:, 0]


class Answers(nn.Module):
    """A score for each answer. Those that are words have the last of the tables' vectors of these; others one of their own.

    Shapes: state (B, D) -> (B, answers)
    """

    def __init__(self, words: Sequence[int], width: int) -> None:
        super().__init__()
        others = [place for place, word in enumerate(words) if word < 0]
        self.own = nn.Parameter(torch.empty(len(others), width).normal_(std=STD)) if others else None
        self.rows: Tensor
        rows = [word if word >= 0 else ~others.index(place) for place, word in enumerate(words)]
        self.register_buffer("rows", torch.tensor(rows), persistent=False)

    def forward(self, state: Float[Tensor, "B D"], vectors: Float[Tensor, "V _"]) -> Float[Tensor, "B _"]:
        known = vectors[:, -state.shape[1] :]
        # Those of their own stand behind the words, the first of them last: row −1 − i is the i-th.
        table = known if self.own is None else torch.cat((known, self.own.flip(0)))
        return state @ table[self.rows].T
