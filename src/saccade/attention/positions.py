"""Where the pairs that are being scored stand: which queries, which keys, which samples and heads."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

# Rows, heads or samples to keep: all of them, one, some.
Index = int | slice | list[int] | Tensor | None


@dataclass(frozen=True, eq=False)
class Positions:
    """Positions of queries and keys, broadcast against each other: (Q,1) with (K) in a rectangle, (E) with (E) on edges.

    In a rectangle the last query stands where the last key stands, so that a query decoded behind a cache of keys
    knows its own place. `chosen` lists, for each leading dimension, the entries that are kept (None: all).
    """

    query: Tensor
    key: Tensor
    queries: int
    keys: int
    leading: int
    chosen: tuple[Tensor | None, ...] = field(default=())

    @classmethod
    def rectangle(
        cls,
        queries: int,
        keys: int,
        leading: int,
        *,
        rows: slice | Tensor = slice(None),
        columns: slice = slice(None),
        chosen: tuple[Tensor | None, ...] = (),
        device: torch.device | None = None,
    ) -> "Positions":
        """The pairs of these rows and columns of a queries × keys rectangle."""
        query = torch.arange(queries, device=device)[rows] + (keys - queries)
        return cls(query[:, None], torch.arange(keys, device=device)[columns], queries, keys, leading, chosen)

    @classmethod
    def edges(cls, target: Tensor, source: Tensor, queries: int, keys: int, leading: int) -> "Positions":
        """One pair an edge: the query at `target` looks at the key at `source`."""
        return cls(target, source, queries, keys, leading)

    @property
    def on_edges(self) -> bool:
        """Whether pairs are listed one by one rather than spanned by rows and columns."""
        return self.query.dim() == 1

    @property
    def rows(self) -> Tensor:
        """Index of each query among the queries (its position, but counted from the first query)."""
        return self.query if self.on_edges else self.query[:, 0] - (self.keys - self.queries)

    def per_sample(self, value: Tensor) -> Tensor:
        """Align one value a sample, (B), (B,H), …, with the scores."""
        return self.choose(value.reshape(*value.shape, *[1] * (self.leading - value.dim() + (1 if self.on_edges else 2))))

    def per_query(self, value: Tensor) -> Tensor:
        """Align one value a query, (…, Q) with samples first, with the scores."""
        value = value[..., self.rows]
        spread = value.reshape(*value.shape[:-1], *[1] * (self.leading - value.dim() + 1), value.shape[-1])
        return self.choose(spread if self.on_edges else spread[..., None])

    def choose(self, value: Tensor) -> Tensor:
        """Keep the chosen samples and heads of a tensor that has the scores' leading dimensions, or broadcasts to them."""
        trailing = 1 if self.on_edges else 2
        for dimension, index in enumerate(self.chosen):
            place = value.dim() - trailing - self.leading + dimension
            if index is not None and place >= 0 and value.shape[place] > 1:
                value = value.index_select(place, index)
        return value
