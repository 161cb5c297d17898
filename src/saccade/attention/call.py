"""One call of the operator: its inputs, and the definition of attention, score → mask → normalize, for any of its rows.

The fast paths compute outputs some other way; what they must equal, and what weights are read from, is this.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from saccade.attention.groups import OpenRows, Rows
from saccade.attention.masks import Causal, Lengths, Mask
from saccade.attention.normalizers import Normalizer
from saccade.attention.pair_positions import Positions
from saccade.attention.score import Score

# Numbers that a block of explicit scores holds at the most (16 MB of float32).
BLOCK_NUMBERS = 1 << 22
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """Queries and keys as the score takes them, with one set of leading dimensions, and the arguments of the call.

    Shapes: query (…, Q, D), key (…, K, D'), noise (…, Q, 1), spoiled (…, Q)
    """

    query: Tensor
    key: Tensor
    score: Score
    mask: Mask | None
    normalize: Normalizer
    noise: Tensor | None = None
    spoiled: Tensor | None = None
    entries: tuple[Tensor | None, ...] = ()

    @property
    def queries(self) -> int:
        """How many queries."""
        return self.query.shape[-2]

    @property
    def keys(self) -> int:
        """How many keys."""
        return self.key.shape[-2]

    @property
    def group(self) -> Rows:
        """The rows that are normalized."""
        return OpenRows() if self.mask is None and not self.score.logarithmic else Rows()

    def at(self, rows: slice | Tensor = ALL, columns: slice = ALL) -> Positions:
        """Positions of these rows and columns."""
        leading = self.query.dim() - 2
        return Positions(
            self.queries,
            self.keys,
            leading,
            rows=rows,
            columns=columns,
            entries=self.entries,
            device=self.query.device,
        )

    def only(self, entries: tuple[Tensor | None, ...]) -> "AttentionCall":
        """The same call for some samples and heads: an index for each leading dimension, or None for all of it."""
        return replace(
            self,
            query=_pick(self.query, entries),
            key=_pick(self.key, entries),
            noise=None if self.noise is None else _pick(self.noise, entries),
            spoiled=None if self.spoiled is None else _pick(self.spoiled, entries),
            entries=entries,
        )

    def scores(self, rows: slice | Tensor = ALL, columns: slice = ALL, key: Tensor | None = None) -> Tensor:
        """Scores of these rows and columns, -inf where the mask is closed; `key` if the columns are cut out already."""
        at = self.at(rows, columns)
        key = self.key[..., columns, :] if key is None else key
        query = self.query if rows is ALL else self.query[..., rows, :]
        scores: Tensor = self.score(query, key, at)
        return scores if self.mask is None else scores.masked_fill(~self.mask.allows(at), -math.inf)

    def weights(self, rows: slice | Tensor = ALL, columns: slice = ALL, key: Tensor | None = None) -> Tensor:
        """Weights of these rows. ColumnRanges that the mask closes to all of them may be left out."""
        noise = None if self.noise is None else self.noise[..., rows, :]
        weights: Tensor = self.normalize(self.scores(rows, columns, key), self.group, noise)
        if self.mask is not None and self.mask.has_factor():
            factor = self.mask.factor(self.at(rows, columns))
            weights = weights if factor is None else weights * factor.to(weights.dtype)
        return weights

    def shown(self, rows: slice | Tensor = ALL) -> Tensor:
        """Weights of these rows as they are shown: NaN for a query that saw what is not finite."""
        size = (*self.query.shape[:-2], len(self.at(rows).rows), self.keys)
        if 0 in size:
            return self.query.new_zeros(size)
        weights = self.weights(rows)
        return weights if self.spoiled is None else torch.where(self.spoiled[..., rows, None], math.nan, weights)

    def sees(self, marked: Tensor) -> Tensor:
        """(…, Q): whether each query may look at one of the marked keys, (…, K)."""
        parts = () if self.mask is None else self.mask.parts()
        if all(isinstance(part, Causal | Lengths) for part in parts):
            return self._sees_before(marked, any(isinstance(part, Causal) for part in parts))
        assert self.mask is not None
        rows = [(self.mask.allows(self.at(block)) & marked[..., None, :]).any(-1) for block, _ in self.blocks()]
        return torch.cat([row.expand(*self.query.shape[:-2], -1) for row in rows], -1)

    def _sees_before(self, marked: Tensor, causal: bool) -> Tensor:
        """The same without a matrix of pairs, under a mask of lengths, which may be causal."""
        leading, device = self.query.shape[:-2], self.query.device
        live = None if self.mask is None else self.mask.live(self.keys, len(leading), device)
        marked = (marked if live is None else marked & live).expand(*leading, -1)
        if not causal:
            return marked.any(-1, keepdim=True).expand(*leading, self.queries)
        before = torch.nn.functional.pad(marked.cumsum(-1) > 0, (1, 0))
        return before[..., (self.at().query[:, 0] + 1).clamp(min=0)]

    def fits(self) -> bool:
        """Whether all rows make one block."""
        return torch.compiler.is_exporting() or self._rows_in_budget() >= self.queries

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, slice]]:
        """Rows, a bounded number at a time, each with the range of columns that the mask may open to them."""
        if torch.compiler.is_exporting():  # sizes may not be known yet
            yield slice(0, self.queries), slice(0, self.keys)
            return
        size = max(1, rows or self._rows_in_budget())
        for first in range(0, self.queries, size):
            last = min(first + size, self.queries)
            yield slice(first, last), self._columns(first, last)

    def _columns(self, first: int, last: int) -> slice:
        if self.mask is None:
            return slice(0, self.keys)
        shift = self.keys - self.queries
        low, high = self.mask.span(first + shift, last - 1 + shift, self.keys)
        low = min(max(low, 0), self.keys - 1)
        return slice(low, max(min(high, self.keys), low + 1))

    def _rows_in_budget(self) -> int:
        samples = math.prod(self.query.shape[:-2])
        band = self.mask.band() if self.mask is not None else None
        width = self.keys if band is None else min(self.keys, 2 * band)
        rows = BLOCK_NUMBERS // max(1, samples * width * self.score.pair_numbers(self.query))
        return rows if band is None else min(rows, band_rows(band))


def band_rows(band: int) -> int:
    """Rows in a block under a mask that opens `band` neighboring keys: half as many, so little outside is computed."""
    return min(512, max(64, band // 2))


def _pick(value: Tensor, entries: tuple[Tensor | None, ...]) -> Tensor:
    for dimension, index in enumerate(entries):
        if index is not None:
            value = value.index_select(dimension, index)
    return value
