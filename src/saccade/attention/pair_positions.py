"""Where the pairs that are being scored stand: which queries, which keys, which samples and heads."""

import torch
from torch import Tensor

from saccade.errors import ShapeError

# Rows, heads or samples to keep: all of them, one, some.
Index = int | slice | list[int] | Tensor | None


class Positions:
    """Positions of queries and keys, broadcast against each other: (Q,1) with (K) in a rectangle, (E) with (E) on edges.

    In a rectangle the last query stands where the last key stands, so that a query decoded behind a cache of keys
    knows its own place. `offset` is what edges themselves add to a score, (…, E). `entries` lists, for each leading
    dimension, the entries that are kept (None: all). The tensors are made when they are asked for: many scores never ask.
    """

    def __init__(
        self,
        queries: int,
        keys: int,
        leading: int,
        *,
        rows: slice | Tensor = slice(None),
        columns: slice | Tensor = slice(None),
        entries: tuple[Tensor | None, ...] = (),
        on_edges: bool = False,
        offset: Tensor | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.queries = queries
        self.keys = keys
        self.leading = leading
        self.entries = entries
        self.on_edges = on_edges
        self.offset = offset
        self._rows, self._columns, self._device = rows, columns, device

    @classmethod
    def edges(
        cls, target: Tensor, source: Tensor, queries: int, keys: int, leading: int, offset: Tensor | None = None
    ) -> "Positions":
        """One pair an edge: the query at `target` looks at the key at `source`."""
        return cls(queries, keys, leading, rows=target, columns=source, on_edges=True, offset=offset)

    @property
    def rows(self) -> Tensor:
        """Index of each query among the queries."""
        if not isinstance(self._rows, Tensor):
            self._rows = torch.arange(self.queries, device=self._device)[self._rows]
        return self._rows

    @property
    def query(self) -> Tensor:
        """Position of each query, on the scale of the keys."""
        return self.rows if self.on_edges else self.rows[:, None] + (self.keys - self.queries)

    @property
    def key(self) -> Tensor:
        """Position of each key."""
        if not isinstance(self._columns, Tensor):
            self._columns = torch.arange(self.keys, device=self._device)[self._columns]
        return self._columns

    def per_sample(self, value: Tensor) -> Tensor:
        """Align one value a sample, (B), (B,H), …, with the scores."""
        return self.select(value.reshape(*value.shape, *[1] * (self.leading - value.dim() + (1 if self.on_edges else 2))))

    def per_query(self, value: Tensor) -> Tensor:
        """Align one value a query, (…, Q) with samples first, with the scores."""
        value = value[..., self.rows]
        aligned = value.reshape(*value.shape[:-1], *[1] * (self.leading - value.dim() + 1), value.shape[-1])
        return self.select(aligned if self.on_edges else aligned[..., None])

    def select(self, value: Tensor) -> Tensor:
        """Keep the selected samples and heads of a tensor that has the scores' leading dimensions, or broadcasts to them."""
        trailing = 1 if self.on_edges else 2
        for dimension, index in enumerate(self.entries):
            place = value.dim() - trailing - self.leading + dimension
            if index is not None and place >= 0 and value.shape[place] > 1:
                value = value.index_select(place, index)
        return value


def joint_leading(*tensors: Tensor) -> torch.Size:
    """The leading dimensions (all but the last two) that tensors have in common, or broadcast to."""
    first = tensors[0].shape[:-2]
    if all(tensor.shape[:-2] == first for tensor in tensors):
        return first
    try:
        return torch.Size(torch.broadcast_shapes(*(tensor.shape[:-2] for tensor in tensors)))
    except RuntimeError:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
        raise ShapeError(f"the leading dimensions of query, key and value must broadcast, got {shapes}") from None


def spread(tensor: Tensor, leading: torch.Size) -> Tensor:
    """The tensor with these leading dimensions."""
    return tensor if tensor.shape[:-2] == leading else tensor.expand(*leading, *tensor.shape[-2:])
