"""What is normalized together: the rows of a rectangle, or the edges that share a target. Normalizers know only this.

Each method takes values shaped like the scores. `total` and `peak` give every member its group's sum or maximum,
`running` the sum up to and with itself, `collect` one sum a group; `softmax` and `chain` stand here because torch has
a quick one for rows, and there is a kernel for the other.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from saccade.kernels.chain import chain_marginals
from saccade.kernels.edge_attention import widened


class Group(ABC):
    """The reductions that a normalizer may use."""

    @abstractmethod
    def total(self, values: Tensor) -> Tensor:
        """The group's sum, broadcast back to its members."""

    @abstractmethod
    def peak(self, values: Tensor) -> Tensor:
        """The group's maximum, broadcast back to its members."""

    @abstractmethod
    def running(self, values: Tensor) -> Tensor:
        """The cumulative sum inside the group."""

    @abstractmethod
    def collect(self, values: Tensor) -> Tensor:
        """The sum, one number a group."""

    @abstractmethod
    def chain(self, scores: Tensor, transitions: Tensor) -> Tensor:
        """How likely each member is chosen in a linear chain of yes and no through the group, in its order."""

    def softmax(self, scores: Tensor) -> Tensor:
        """exp(s) / Σ exp(s), and zeros for a group in which every score is -inf."""
        peak = self.peak(scores.detach())
        powers = torch.exp(scores - torch.where(peak == -torch.inf, 0, peak))
        total = self.total(powers)
        return powers / torch.where(total > 0, total, 1)


class Rows(Group):
    """Each row of a (…, Q, K) rectangle is a group."""

    def total(self, values: Tensor) -> Tensor:
        """The row's sum, (…, Q, 1)."""
        return values.sum(-1, keepdim=True)

    def peak(self, values: Tensor) -> Tensor:
        """The row's maximum, (…, Q, 1)."""
        return values.amax(-1, keepdim=True)

    def running(self, values: Tensor) -> Tensor:
        """The cumulative sum along the row."""
        return values.cumsum(-1)

    def collect(self, values: Tensor) -> Tensor:
        """The row's sum, (…, Q)."""
        return values.sum(-1)

    def chain(self, scores: Tensor, transitions: Tensor) -> Tensor:
        """Along the row."""
        return chain_marginals(scores, transitions)

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax along the row; one with nothing open is opened before it and zeroed after it, so no NaN arises."""
        empty = scores.detach().amax(-1, keepdim=True) == -torch.inf
        return torch.softmax(scores.masked_fill(empty, 0), -1).masked_fill(empty, 0)


class OpenRows(Rows):
    """Rows in which no score is -inf, so that none can be empty."""

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax along the row."""
        return torch.softmax(scores, -1)


class Segments(Group):
    """Each set of edges with the same target is a group: no padding, any order of edges."""

    def __init__(self, target: Tensor, count: int) -> None:
        self.target = target
        self.count = count

    def chain(self, scores: Tensor, transitions: Tensor) -> Tensor:
        """Along the segment's edges, in the order in which they are listed."""
        order = self.target.argsort(stable=True)
        target = self.target[order]
        starts = torch.nn.functional.pad(target[1:] != target[:-1], (min(1, len(target)), 0), value=True)
        return chain_marginals(scores[..., order], transitions, starts)[..., order.argsort()]

    def softmax(self, scores: Tensor) -> Tensor:
        """Softmax among the segment's edges."""
        return super().softmax(widened(scores)).to(scores.dtype)

    def total(self, values: Tensor) -> Tensor:
        """The segment's sum, (…, E)."""
        return self.collect(values)[..., self.target]

    def peak(self, values: Tensor) -> Tensor:
        """The segment's maximum, (…, E)."""
        index = self.target.expand(values.shape)
        lowest = values.new_full((*values.shape[:-1], self.count), -torch.inf)
        return lowest.scatter_reduce(-1, index, values, "amax")[..., self.target]

    def running(self, values: Tensor) -> Tensor:
        """The cumulative sum among the segment's edges, in the order in which they are listed."""
        order = self.target.argsort(stable=True)
        sums = widened(values)[..., order].cumsum(-1)
        sizes = order.new_zeros(self.count).index_add(0, self.target, torch.ones_like(order))
        starts = sizes.cumsum(0) - sizes
        before = torch.nn.functional.pad(sums, (1, 0))[..., starts][..., self.target]
        return (sums[..., order.argsort()] - before).to(values.dtype)

    def collect(self, values: Tensor) -> Tensor:
        """The segment's sum, (…, N)."""
        wide = widened(values)
        return wide.new_zeros((*wide.shape[:-1], self.count)).index_add(-1, self.target, wide).to(values.dtype)
