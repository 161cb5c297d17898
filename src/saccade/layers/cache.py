"""Keys and values of what was written so far, in pools of rows, and the places of each hypothesis of a search in them.

A step adds its rows to the pools; a selection reorders the lists of places alone. Nothing in a pool is ever changed, so an
older state goes on being right whatever is done with a newer one. A prompt comes in at once, as several steps of one
hypothesis of each input.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad


@dataclass
class Pool:
    """Rows of vectors that only become more; room is doubled when it runs out.

    Shapes: rows (R, D)
    """

    used: int = 0
    _room: Tensor | None = field(default=None, repr=False)

    def append(self, rows: Float[Tensor, "N D"]) -> None:
        """Add these behind what is there."""
        self.extend(rows)
        self.rows[self.used - len(rows) :] = rows

    def extend(self, rows: Float[Tensor, "N D"]) -> None:
        """Room for rows like these behind what is there; somebody else fills it."""
        end = self.used + len(rows)
        if self._room is None or len(self._room) < end:
            room = rows.new_empty(max(256, 2 * end), rows.shape[1])
            if self._room is not None:
                room[: self.used] = self._room[: self.used]
            self._room = room
        self.used = end

    @property
    def rows(self) -> Float[Tensor, "R D"]:
        """All of them."""
        assert self._room is not None
        return self._room[: self.used]


@dataclass(frozen=True)
class Past:
    """Places in pools: of each of B × W hypotheses one for each of its T steps; the same for all layers.

    Texts that began with prompts of different lengths have the first `counts` of their T places, one at least all of them.

    Shapes: places (B, W, T), counts (B), None: all T
    """

    places: Int[Tensor, "B W T"]
    counts: Int[Tensor, " B"] | None = None

    @classmethod
    def none(cls, inputs: int, device: torch.device | None = None) -> "Past":
        """Nothing is behind anyone: one hypothesis of each input."""
        return cls(torch.zeros(inputs, 1, 0, dtype=torch.int32, device=device))

    @property
    def steps(self) -> int:
        """How many."""
        return self.places.shape[2]

    def with_steps(self, first: int, steps: int = 1) -> "Past":
        """So many steps more, whose rows stand in the pools from `first` on, those of one hypothesis side by side."""
        (B, W, _), device = self.places.shape, self.places.device
        new = torch.arange(first, first + B * W * steps, dtype=torch.int32, device=device).view(B, W, steps)
        joined = torch.cat((self.places, new), 2)
        if self.counts is None:
            return Past(joined)
        assert steps == 1, "a prompt is read before it is joined"
        return Past(joined.scatter_(2, self.counts[:, None, None].expand(B, W, 1), new), self.counts + 1)

    def last(self, count: int) -> "Past":
        """The last so many steps."""
        return Past(self.places[..., -count:])

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "Past":
        """These inputs, and of each these hypotheses."""
        places = self.places[inputs[:, None], hypotheses]
        if self.counts is None:
            return Past(places)
        counts = self.counts[inputs]
        return Past(places[..., : int(counts.max())] if len(counts) else places, counts)

    @classmethod
    def joined(cls, pasts: Sequence["Past"]) -> "Past":
        """Inputs of several lengths, whose rows stand in the same pools."""
        longest = max(past.steps for past in pasts)
        places = torch.cat([pad(past.places, (0, longest - past.steps)) for past in pasts])
        counts = [torch.full((len(past.places),), past.steps, device=places.device) for past in pasts]
        return cls(places, torch.cat(counts))


@dataclass
class KeyValueCache:
    """The keys and values of one layer, of all hypotheses, and the map that makes them, laid out once for a search."""

    key: Pool = field(default_factory=Pool)
    value: Pool = field(default_factory=Pool)
    project: Callable[[Tensor], tuple[Tensor, ...]] | None = None

    @property
    def used(self) -> int:
        """Rows in each pool."""
        return self.key.used

    def append(self, key: Float[Tensor, "B T D"], value: Float[Tensor, "B T D"]) -> None:
        """The newest step of B × T hypotheses, or T steps of one hypothesis of each input."""
        self.key.append(key.flatten(0, 1))
        self.value.append(value.flatten(0, 1))

    def at(self, past: Past) -> "KeyValues":
        """What these hypotheses have behind them."""
        return KeyValues(self.key.rows, self.value.rows, past.places, past.counts)


class KeyValues(NamedTuple):
    """Keys and values of all heads, and which of them B × M queries attend to: the first `counts` of each list of places.

    Shapes: key, value (R, D), places (B, M, T) with M = 1 or W, counts (B), None: all T
    """

    key: Float[Tensor, "R D"]
    value: Float[Tensor, "R D"]
    places: Int[Tensor, "B M T"]
    counts: Int[Tensor, " B"] | None = None

    @classmethod
    def of(cls, key: Float[Tensor, "B K D"], value: Float[Tensor, "B K D"], counts: Tensor) -> "KeyValues":
        """What was read: of each input as many as `counts` says, for all its hypotheses."""
        B, K, _ = key.shape
        places = torch.arange(B * K, dtype=torch.int32, device=key.device).view(B, 1, K)
        return cls(key.flatten(0, 1).contiguous(), value.flatten(0, 1).contiguous(), places, counts)

    def select(self, inputs: Tensor) -> "KeyValues":
        """Those of some inputs; only the lists of places are chosen, nothing is copied."""
        counts = None if self.counts is None else self.counts[inputs]
        return self._replace(places=self.places[inputs], counts=counts)
