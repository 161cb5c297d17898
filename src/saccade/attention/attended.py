"""The result of attention: the context, and its weights, of which only what is called for is computed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.attention.call import BLOCK_NUMBERS, AttentionCall
from saccade.attention.pair_positions import Index
from saccade.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Attended:
    """The context, (…, Q, V), and what its weights are computed from.

    `rows` keeps some queries, `heads` some entries of the dimension before the queries, `batch` some of the first; each
    is an integer, a slice, a list or a tensor of integers, and keeps its dimension. Weights carry a gradient.
    """

    context: Tensor
    call: AttentionCall

    def __repr__(self) -> str:
        mask = f", mask={self.call.mask}" if self.call.mask is not None else ""
        score, normalize = (type(part).__name__ for part in (self.call.score, self.call.normalize))
        sizes = f"context={tuple(self.context.shape)}, keys={self.call.keys}"
        return f"Attended({sizes}, score={score}, normalize={normalize}{mask})"

    def weights(self, *, rows: Index = None, heads: Index = None, batch: Index = None) -> Float[Tensor, "... Q K"]:
        """The exact weights of these rows, heads and samples, (…, Q, K)."""
        call = self._call(heads, batch)
        indices = _indices(rows, call.queries, call.query.device)
        if torch.compiler.is_exporting():  # sizes may not be known yet
            return call.shown(indices)
        blocks = [call.shown(block) for block in indices.split(_rows_at_once(call))]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, -2)

    def top(
        self, count: int, *, heads: Index = None, batch: Index = None
    ) -> tuple[Float[Tensor, "... Q N"], Int[Tensor, "... Q N"]]:
        """The largest weights of each row and the keys they belong to, in memory that grows with the rows alone."""
        call = self._call(heads, batch)
        best = [block.topk(min(count, call.keys), -1) for block in _walk(call)]
        return torch.cat([b.values for b in best], -2), torch.cat([b.indices for b in best], -2)

    def entropy(self, *, heads: Index = None, batch: Index = None) -> Float[Tensor, "... Q"]:
        """How spread out each row is, in nats: 0 for one key, log K for all alike."""
        blocks = _walk(self._call(heads, batch))
        return torch.cat([torch.special.entr(block).sum(-1) for block in blocks], -1)

    def mass(self, *, heads: Index = None, batch: Index = None) -> Float[Tensor, "... K"]:
        """How much each key was looked at, summed over the queries."""
        blocks = _walk(self._call(heads, batch))
        total = next(blocks).sum(-2)
        for block in blocks:
            total = total + block.sum(-2)
        return total

    def log_prob(self) -> Float[Tensor, "... Q"]:
        """Log-probability of the keys that hard attention drew, differentiable: what REINFORCE multiplies."""
        call = self.call
        if 0 in (call.queries, call.keys):  # nothing was drawn
            return call.query.new_zeros(call.query.shape[:-1])
        logs = [call.normalize.log_prob(call.scores(rows), call.weights(rows), call.group) for rows, _ in call.blocks()]
        return torch.cat(logs, -1)

    def _call(self, heads: Index, batch: Index) -> AttentionCall:
        sizes = self.call.query.shape[:-2]
        entries: list[Tensor | None] = [None] * len(sizes)
        for name, place, index in (("batch", 0, batch), ("heads", len(sizes) - 1, heads)):
            if index is None:
                continue
            if place < 0 or entries[place] is not None:
                raise ShapeError(f"cannot choose {name}: there are {len(sizes)} dimensions before the queries")
            entries[place] = _indices(index, sizes[place], self.call.query.device)
        return self.call.only(tuple(entries))


def _indices(index: Index, size: int, device: torch.device) -> Tensor:
    everything = torch.arange(size, device=device)
    if index is None:
        return everything
    if isinstance(index, list):
        index = torch.tensor(index, dtype=torch.int64).to(device)
    try:
        return everything[index].reshape(-1)
    except IndexError:
        raise ShapeError(f"index {index} is outside 0 … {size - 1}") from None


def _rows_at_once(call: AttentionCall) -> int:
    numbers = math.prod(call.query.shape[:-2]) * call.keys * call.score.pair_numbers(call.query)
    return max(1, BLOCK_NUMBERS // max(1, numbers))


def _walk(call: AttentionCall) -> Iterator[Tensor]:
    """All weights, a bounded number of rows at a time; of no rows, one block without any."""
    for first in range(0, max(1, call.queries), _rows_at_once(call)):
        yield call.shown(slice(first, first + _rows_at_once(call)))
