"""Layers on sets (Zaheer et al. 2017): pools that no order changes, and layers whose output is reordered with their input.

Sets are ragged: all items one after the other, (N, D), and how many belong to each set, (B). Nothing is padded.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.errors import UnknownName
from saccade.layers.pooling import bag_maxima, bag_means, bag_sums

Sizes = Int[Tensor, " B"]


def owners(sizes: Sizes, items: int) -> Int[Tensor, " N"]:
    """The number of the set that each of so many items is of."""
    return torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes, output_size=items)


POOLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"sum": bag_sums, "mean": bag_means, "max": bag_maxima}


def pool_named(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The pool of this name."""
    if name not in POOLS:
        raise UnknownName("pool", name, POOLS)
    return POOLS[name]


def in_rows(x: Float[Tensor, "N D"], sizes: Sizes) -> tuple[Float[Tensor, "B K D"], Bool[Tensor, "B K"]]:
    """The sets as rows, filled up with 0 to one place at least, and which places hold items: for what reads in order."""
    there = torch.arange(max(1, int(sizes.max())) if len(sizes) else 1, device=x.device) < sizes[:, None]
    return x.new_zeros(*there.shape, x.shape[1]).masked_scatter(there[..., None], x), there


class Equivariant(nn.Module):
    """x Λ − pool(x) Γ + b: each item by itself, and against what all of its set have in common (eq. 4, with matrices).

    Shapes: x (N, width), sizes (B) -> (N, out)
    """

    def __init__(self, width: int, out: int, pool: str = "max") -> None:
        super().__init__()
        self.pool = pool_named(pool)
        self.own = nn.Linear(width, out)
        self.common = nn.Linear(width, out, bias=False)

    def forward(self, x: Float[Tensor, "N _"], sizes: Sizes) -> Float[Tensor, "N _"]:
        common: Tensor = self.common(self.pool(x, sizes))
        own: Tensor = self.own(x)
        return own - common[owners(sizes, len(x))]
