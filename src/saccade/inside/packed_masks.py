"""Masks of all pairs in memory that grows with the length alone, where they are of the usual kinds.

Causal masks, windows and padding open one range of keys to each query; a relative bias such as T5's (Raffel et al. 2020)
has one number for each distance. What is neither is kept as it is.
"""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.attention import Mask, Positions
from saccade.attention.call import BLOCK_NUMBERS

SMALL = 1 << 14  # numbers of a mask that is not worth it

_known: dict[int, tuple["weakref.ref[Tensor]", int, "Banded | None"]] = {}


@dataclass(frozen=True, eq=False)
class Banded(Mask):
    """Query i sees keys low[i] … high[i] - 1. As numbers: one by distance, or 0, inside, and `closed` outside.

    Shapes: low, high (…, Q); by_distance (…, Q + K - 1), from key 0 seen by the last query to the last seen by query 0
    """

    low: Tensor
    high: Tensor
    closed: Tensor
    by_distance: Tensor | None

    def allows(self, at: Positions) -> Tensor:
        low, high = (at.select(side[..., at.rows, None]) for side in (self.low, self.high))
        return (at.key >= low) & (at.key < high)

    def numbers(self, at: Positions) -> Tensor:
        """What the mask adds to scores."""
        inside = self.allows(at)
        values = self.closed.new_zeros(())
        if self.by_distance is not None:
            values = at.select(_spread(self.by_distance, at.rows, at.queries, at.keys))
        return torch.where(inside, values, self.closed)

    def __str__(self) -> str:
        return f"banded({' × '.join(map(str, self.low.shape))})"


def packed(mask: Tensor) -> Banded | Tensor:
    """The same mask, smaller if it is one of the usual kinds; what was found of a tensor is known while it lives."""
    version = 0 if mask.is_inference() else mask._version
    number = id(mask)
    entry = _known.get(number)
    if entry is None or entry[0]() is not mask or entry[1] != version:
        entry = (weakref.ref(mask, lambda _: _known.pop(number, None)), version, _packed(mask))
        _known[number] = entry
    return mask if entry[2] is None else entry[2]


@torch.no_grad()
def _packed(mask: Tensor) -> Banded | None:
    if mask.dim() < 2 or mask.requires_grad or min(mask.shape[-2:]) < 2 or _stored(mask) < SMALL:
        return None
    for dimension, stride in enumerate(mask.stride()[:-2]):  # what is only expanded is looked at once
        mask = mask.narrow(dimension, 0, 1) if stride == 0 else mask
    closed = mask.new_zeros(()) if mask.dtype == torch.bool else mask.amin()
    ranges = [_range(block, closed) for _, block in _blocks(mask)]
    if any(one is None for one in ranges):
        return None
    low, high = (torch.cat(side, -1) for side in zip(*(one for one in ranges if one is not None), strict=True))
    plain = mask.dtype == torch.bool or all(((block == 0) | (block == closed)).all() for _, block in _blocks(mask))
    found = Banded(low, high, closed, None if plain else _by_distance(mask, closed))
    return found if plain or _same(found, mask) else None


def _stored(mask: Tensor) -> int:
    return mask.untyped_storage().nbytes() // mask.element_size() if mask.stride(-2) else 0


def _blocks(mask: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows of the mask, and their indices, a bounded number at a time."""
    rows = max(1, BLOCK_NUMBERS // 4 // max(1, mask[..., 0, :].numel()))
    for indices in torch.arange(mask.shape[-2], device=mask.device).split(rows):
        yield indices, mask[..., indices[0] : indices[-1] + 1, :]


def _open(block: Tensor, closed: Tensor) -> Tensor:
    """What is not closed; a mask without large negative numbers closes nothing."""
    if block.dtype == torch.bool:
        return block
    return block > closed if closed <= torch.finfo(block.dtype).min / 2 else torch.ones_like(block, dtype=torch.bool)


def _range(block: Tensor, closed: Tensor) -> tuple[Tensor, Tensor] | None:
    """The range of open keys of each row, or None where one has two ranges."""
    seen = _open(block, closed)
    count = seen.sum(-1)
    low = seen.byte().argmax(-1)
    high = torch.where(count > 0, seen.shape[-1] - seen.flip(-1).byte().argmax(-1), low)
    return (low, high) if torch.equal(high - low, count) else None


def _by_distance(mask: Tensor, closed: Tensor) -> Tensor:
    """A number for each distance, from the first and last row and column, where they are open."""
    queries, keys = mask.shape[-2:]
    found = closed.expand(*mask.shape[:-2], queries + keys - 1).clone()
    sides = (
        (mask[..., :, 0].flip(-1), slice(0, queries)),
        (mask[..., :, -1].flip(-1), slice(keys - 1, None)),
        (mask[..., 0, :], slice(queries - 1, None)),
        (mask[..., -1, :], slice(0, keys)),
    )
    for values, places in sides:
        found[..., places] = torch.where(_open(values, closed), values, found[..., places])
    return found


def _spread(by_distance: Tensor, rows: Tensor, queries: int, keys: int) -> Tensor:
    """The numbers of these rows, (…, rows, K)."""
    return by_distance.unfold(-1, keys, 1)[..., queries - 1 - rows, :]


def _same(found: Banded, mask: Tensor) -> bool:
    queries, keys = mask.shape[-2:]
    for rows, block in _blocks(mask):
        at = Positions(queries, keys, mask.dim() - 2, rows=rows, device=mask.device)
        if not torch.equal(found.numbers(at).expand_as(block), block):
            return False
    return True
