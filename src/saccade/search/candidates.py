"""Candidates: the tokens that may extend each hypothesis, and the most likely of them.

Everything after the writer's own numbers is small: it is kept on the CPU, and sums are float64 on every device.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.search.protocol import NEVER

VECTOR = 64


@dataclass(frozen=True)
class Candidates:
    """C candidates for each of B inputs: the hypothesis that is extended, its next token, and its log-probability then.

    Shapes: parents, tokens, totals (B, C); a total of -inf marks an empty place.
    """

    parents: Tensor
    tokens: Tensor
    totals: Tensor

    def only(self, mask: Tensor) -> "Candidates":
        """The same places, but only those of the mask are taken."""
        return Candidates(self.parents, self.tokens, self.totals.masked_fill(~mask, NEVER))

    def first(self, count: int) -> "Candidates":
        """The `count` most likely of each input; all, in their order, where there are no more."""
        if self.totals.shape[1] <= count:
            return self
        best = self.totals.topk(count)
        return Candidates(self.parents.gather(1, best.indices), self.tokens.gather(1, best.indices), best.values)

    def of(self, rows: Tensor) -> "Candidates":
        """Those of some inputs."""
        return Candidates(self.parents[rows], self.tokens[rows], self.totals[rows])


# From the numbers of the inputs (B,), the totals of their hypotheses (B, W), the log-probabilities (B, W, V) and the range
# of ids that may be written.
Choose = Callable[[Tensor, Tensor, Tensor, range], Candidates]


def writable(log_probs: Tensor, banned: Collection[int]) -> tuple[Tensor, range]:
    """The log-probabilities, and the range of ids that may be written: banned ids at either end of the vocabulary are left
    out of the range, which costs nothing; those within it become -inf."""
    V = log_probs.shape[-1]
    first = next(token for token in range(V) if token not in banned)
    last = next(token for token in reversed(range(V)) if token not in banned)
    within = [token for token in banned if first < token < last]
    if within:
        log_probs = log_probs.index_fill(-1, torch.tensor(within).to(log_probs.device), NEVER)
    return log_probs, range(first, last + 1)


def best(totals: Tensor, log_probs: Tensor, ids: range, count: int) -> Candidates:
    """The `count` most likely candidates of each input among these ids, best first.

    Sorting every number would cost more than a small model's step. The tokens are divided into groups instead: the best
    `count` tokens can only stand in the `count` groups with the best maxima, and just those groups are read.
    """
    W, V = log_probs.shape[1:]
    groups = _group_count(len(ids), W, count)
    maxima = _plus(totals, _maxima(log_probs[..., ids.start : ids.stop], groups).cpu().double()).flatten(1)
    indices = maxima.topk(min(count, maxima.shape[1]), sorted=False).indices
    parents = indices // groups
    tokens = (indices % groups)[..., None] + torch.arange(ids.start, ids.stop, groups)
    outside = tokens >= ids.stop
    tokens = tokens.clamp(max=ids.stop - 1)
    places = (parents[..., None] * V + tokens).flatten(1).to(log_probs.device)
    values = log_probs.flatten(1).gather(1, places).cpu().double().view_as(tokens)
    sums = _plus(totals.gather(1, parents), values).masked_fill(outside, NEVER)
    top = sums.flatten(1).topk(min(count, W * len(ids)))
    return Candidates(
        parents.gather(1, top.indices // tokens.shape[2]), tokens.flatten(1).gather(1, top.indices), top.values
    )


def _group_count(size: int, W: int, count: int) -> int:
    """As many groups as make their maxima about as many as the tokens read after; in whole vectors, which are faster."""
    even = math.sqrt(2 * count * size / W)
    return min(size, math.ceil(even / VECTOR) * VECTOR)


def _maxima(log_probs: Tensor, groups: int) -> Tensor:
    """The largest of every group, (B, W, groups): group g holds what stands at g, g + groups, g + 2·groups, …"""
    whole = log_probs.shape[-1] // groups * groups
    maxima: Tensor = log_probs[..., :whole].unflatten(-1, (-1, groups)).amax(-2)
    rest = log_probs[..., whole:]
    if rest.shape[-1]:
        ahead = maxima[..., : rest.shape[-1]]
        torch.maximum(ahead, rest, out=ahead)
    return maxima


def _plus(totals: Tensor, values: Tensor) -> Tensor:
    """Totals plus what comes next; a hypothesis of probability 0 keeps it, whatever its log-probabilities are, even NaN."""
    totals = totals[..., None]
    return (totals + values).masked_fill(totals == NEVER, NEVER)
