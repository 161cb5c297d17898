"""What the hypotheses of a search have behind them: keys and values in a pool, and the places of each hypothesis in it.

A step adds its rows to the pool; a selection reorders the lists of places alone. Nothing in the pool is ever changed, so an
older state goes on being right whatever is done with a newer one.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass
class Pool:
    """Rows of vectors that only become more; room is doubled when it runs out.

    Shapes: rows (R, D)
    """

    used: int = 0
    _room: Tensor | None = field(default=None, repr=False)

    def append(self, rows: Float[Tensor, "N D"]) -> None:
        """Add these behind what is there."""
        end = self.used + len(rows)
        if self._room is None or len(self._room) < end:
            room = rows.new_empty(max(256, 2 * end), rows.shape[1])
            if self._room is not None:
                room[: self.used] = self._room[: self.used]
            self._room = room
        self._room[self.used : end] = rows
        self.used = end

    @property
    def rows(self) -> Float[Tensor, "R D"]:
        """All of them."""
        assert self._room is not None
        return self._room[: self.used]


@dataclass(frozen=True)
class Past:
    """Places in pools: of each of B × W hypotheses one for each of its T steps; the same for all layers.

    Shapes: places (B, W, T)
    """

    places: Int[Tensor, "B W T"]

    @classmethod
    def none(cls, inputs: int) -> "Past":
        """Nothing is behind anyone."""
        return cls(torch.zeros(inputs, 1, 0, dtype=torch.int32))

    @property
    def steps(self) -> int:
        """How many."""
        return self.places.shape[2]

    def with_step(self, first: int) -> "Past":
        """One step more, whose rows stand in the pools from `first` on."""
        B, W, _ = self.places.shape
        new = torch.arange(first, first + B * W, dtype=torch.int32).view(B, W, 1)
        return Past(torch.cat((self.places, new), 2))

    def last(self, count: int) -> "Past":
        """The last so many steps."""
        return Past(self.places[..., -count:])

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "Past":
        """These inputs, and of each these hypotheses."""
        return Past(self.places[inputs[:, None], hypotheses])
