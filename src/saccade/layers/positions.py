"""Where a token stands, told to it by adding a vector: sinusoids (Vaswani et al. 2017, section 3.5) or learned ones."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.errors import ShapeError, UnknownName


def sinusoids(first: int, last: int, width: int, *, halves: bool = False) -> Float[Tensor, "T D"]:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos of the same, for positions first … last - 1.

    `halves` puts all sines before all cosines, as Marian's models do.
    """
    rates = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    angles = torch.arange(first, last, dtype=torch.float64)[:, None] * rates
    waves = (angles.sin(), angles.cos()[:, : width // 2])
    if halves or width % 2:
        table = torch.cat(waves, -1) if halves else torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[:, :width]
    else:
        table = torch.stack(waves, -1).flatten(-2)
    return table.float()


class Sinusoidal(nn.Module):
    """No weights and no longest text; the table grows when it is needed, and is made anew for another dtype or device.

    Shapes: (first, last) -> (last - first, D)
    """

    def __init__(self, width: int, *, halves: bool = False) -> None:
        super().__init__()
        self.width, self.halves = width, halves
        # The module's dtype and device. The table is no buffer: processes that train together may need different lengths.
        self.register_buffer("like", torch.empty(0), persistent=False)
        self.table = sinusoids(0, 0, width, halves=halves)

    def forward(self, first: int, last: int) -> Float[Tensor, "T D"]:
        like = self.get_buffer("like")
        if last > len(self.table) or (self.table.dtype, self.table.device) != (like.dtype, like.device):
            self.table = sinusoids(0, max(last, 2 * len(self.table), 64), self.width, halves=self.halves).to(like)
        return self.table[first:last]


class Learned(nn.Module):
    """A vector for each of `longest` positions.

    Shapes: (first, last) -> (last - first, D)
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, width) * width**-0.5)

    def forward(self, first: int, last: int) -> Float[Tensor, "T D"]:
        if last > len(self.table):
            raise ShapeError(f"learned positions end at {len(self.table)}, got a text of {last}; set model.longest")
        return self.table[first:last]


def make_positions(name: str, width: int, longest: int) -> Sinusoidal | Learned:
    """The positions of this name."""
    if name == "learned":
        return Learned(width, longest)
    if name not in ("sinusoidal", "sinusoidal_halves"):
        raise UnknownName("positions", name, ("sinusoidal", "sinusoidal_halves", "learned"))
    return Sinusoidal(width, halves=name == "sinusoidal_halves")
