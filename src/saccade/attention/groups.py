"""What is normalized together: the rows of a rectangle, or the edges that share a target. Normalizers know only this.

Each method takes values shaped like the scores. `total` and `peak` give every member its group's sum or maximum,
`running` the sum up to and with itself, `collect` one sum a group.
"""

from typing import Protocol

import torch
from torch import Tensor


class Group(Protocol):
    """The four reductions that a normalizer may use."""

    def total(self, values: Tensor) -> Tensor:
        """The group's sum, broadcast back to its members."""

    def peak(self, values: Tensor) -> Tensor:
        """The group's maximum, broadcast back to its members."""

    def running(self, values: Tensor) -> Tensor:
        """The cumulative sum inside the group."""

    def collect(self, values: Tensor) -> Tensor:
        """The sum, one number a group."""


class Rows:
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


class Segments:
    """Each set of edges with the same target is a group: no padding, any order of edges."""

    def __init__(self, target: Tensor, count: int) -> None:
        self.target = target
        self.count = count

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
        sums = values[..., order].cumsum(-1)
        starts = self.target.bincount(minlength=self.count).cumsum(0) - self.target.bincount(minlength=self.count)
        before = torch.nn.functional.pad(sums, (1, 0))[..., starts][..., self.target]
        return sums[..., order.argsort()] - before

    def collect(self, values: Tensor) -> Tensor:
        """The segment's sum, (…, N)."""
        return values.new_zeros((*values.shape[:-1], self.count)).index_add(-1, self.target, values)
