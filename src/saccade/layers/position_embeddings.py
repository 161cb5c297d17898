"""Where a token stands, told to it by adding a vector: sinusoids (Vaswani et al. 2017, section 3.5) or learned ones."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.errors import ShapeError, UnknownName

TABLE = 1024  # positions whose sinusoids are computed once
Position = int | torch.SymInt  # a length is no number yet while torch traces


def sinusoids(
    first: Position, last: Position, width: int, *, halves: bool = False, device: torch.device | None = None
) -> Float[Tensor, "T D"]:
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos of the same, for positions first … last - 1.

    `halves` puts all sines before all cosines, as Marian's models do.
    """
    real = torch.float32 if device is not None and device.type == "mps" else torch.float64  # which has no other
    rates = torch.exp(torch.arange(0, width, 2, dtype=real, device=device) * (-math.log(10000.0) / width))
    places = torch.arange(first, last, dtype=real, device=device)  # type: ignore[arg-type]  # which takes SymInt, too
    angles = places[:, None] * rates
    waves = (angles.sin(), angles.cos()[:, : width // 2])
    if halves or width % 2:
        table = torch.cat(waves, -1) if halves else torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)[:, :width]
    else:
        table = torch.stack(waves, -1).flatten(-2)
    return table.float()


class Sinusoidal(nn.Module):
    """No parameters and no maximum length: a table of the first positions; those beyond it are computed at each call.

    Shapes: (first, last) -> (last - first, D)
    """

    table: Tensor

    def __init__(self, width: int, *, halves: bool = False) -> None:
        super().__init__()
        self.width, self.halves = width, halves
        self.register_buffer("table", sinusoids(0, TABLE, width, halves=halves), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Sinusoidal":
        """To another dtype or device: from the formula, not from numbers that were rounded before."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.table = sinusoids(0, TABLE, self.width, halves=self.halves).to(self.table)
        return self

    def forward(self, first: Position, last: Position) -> Float[Tensor, "T D"]:
        if last > TABLE:
            return sinusoids(first, last, self.width, halves=self.halves, device=self.table.device).to(self.table)
        return self.table[first:last]


class Learned(nn.Module):
    """A vector for each of `longest` positions.

    Shapes: (first, last) -> (last - first, D)
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, width) * width**-0.5)

    def forward(self, first: Position, last: Position) -> Float[Tensor, "T D"]:
        if last > len(self.table):
            raise ShapeError(f"learned positions end at {len(self.table)}, got a text of {last}; set model.max_positions")
        return self.table[first:last]

    def at(self, places: Int[Tensor, " N"]) -> Float[Tensor, "N D"]:
        """The vectors of single positions, which there must be."""
        return self.table[places]


def make_positions(name: str, width: int, longest: int) -> Sinusoidal | Learned:
    """The positions of this name."""
    if name == "learned":
        return Learned(width, longest)
    if name not in ("sinusoidal", "sinusoidal_halves"):
        raise UnknownName("positions", name, ("sinusoidal", "sinusoidal_halves", "learned"))
    return Sinusoidal(width, halves=name == "sinusoidal_halves")
