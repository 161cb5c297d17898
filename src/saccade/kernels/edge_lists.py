"""A graph's edges in the orders that loops over them need, sorted once for as many calls as you like.

`Graph(edge_index, nodes)` can stand wherever an `edge_index` can; what it sorts is kept on it, nowhere else.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.runtime import traced

# Nodes are shared out in so many stretches, with about as many edges each.
TASKS = 64


class Order(NamedTuple):
    """Edges sorted by target (slots), and by source.

    Shapes: order, source, slots, target, places (E), starts (N + 1), firsts (K + 1), blocks and source_blocks (tasks + 1)
    """

    blocks: Tensor
    starts: Tensor
    "The first slot of each target."
    order: Tensor
    "The number of each slot's edge in the list."
    source: Tensor
    "The source of each slot."
    source_blocks: Tensor
    firsts: Tensor
    "The first edge of each source."
    slots: Tensor
    "The slots, sorted by source."
    target: Tensor
    "Their targets."
    places: Tensor
    "Where each slot stands among them."


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges, (2, E): sources in row 0, targets in row 1, as in PyTorch Geometric; `sources` if they are other nodes.

    `loops` tells that the last N edges are self loops that were added; before them stand the edges of the caller's list,
    `given`, that are named by `kept` (None: all).
    """

    edge_index: Int[Tensor, "2 E"]
    nodes: int
    sources: int = -1
    loops: bool = False
    given: Tensor | None = field(default=None, repr=False)
    kept: Tensor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", self.nodes if self.sources < 0 else self.sources)
        check_edges(self.edge_index, self.sources, self.nodes)

    # What is kept must serve training, too, also where it was first asked for while predicting: no inference tensors.
    @cached_property
    @torch.inference_mode(mode=False)
    def looped(self) -> "Graph":
        """The same graph with one self loop at every node, in place of those that it has."""
        if self.sources != self.nodes:
            raise ShapeError(
                f"self loops need sources that are targets, got {self.sources} sources and {self.nodes} targets"
            )
        own = self.edge_index[0] == self.edge_index[1]
        kept = (~own).nonzero().squeeze(1) if bool(own.any()) else None
        edges = self.edge_index if kept is None else self.edge_index[:, kept]
        loops = torch.arange(self.nodes, device=edges.device).expand(2, -1)
        return Graph(torch.cat((edges, loops), 1), self.nodes, loops=True, given=self.edge_index, kept=kept)

    @cached_property
    @torch.inference_mode(mode=False)
    def sorted(self) -> Order:
        """The edges by target and by source."""
        source, target = self.edge_index
        order = target.argsort(stable=True)
        by_source = source[order].argsort(stable=True)
        places = torch.empty_like(order)
        places[by_source] = torch.arange(len(order), device=order.device)
        starts, firsts = _starts(target, self.nodes), _starts(source, self.sources)
        return Order(
            blocks=_blocks(starts),
            starts=starts,
            order=order,
            source=source[order].int(),
            source_blocks=_blocks(firsts),
            firsts=firsts,
            slots=by_source.int(),
            target=target[order][by_source].int(),
            places=places.int(),
        )

    @property
    def listed(self) -> Tensor:
        """The edges that the caller listed."""
        return self.edge_index if self.given is None else self.given

    def of_listed(self, values: Tensor) -> Tensor:
        """One value for every edge that the caller listed, of values (…, E); self loops that were replaced have 0."""
        values = values[..., : values.shape[-1] - self.nodes] if self.loops else values
        if self.kept is None:
            return values
        return values.new_zeros(*values.shape[:-1], self.listed.shape[1]).index_copy(-1, self.kept, values)

    def of_loops(self, values: Tensor) -> Tensor:
        """The value of every self loop that was added, (…, N); 0 if none was."""
        if not self.loops:
            return values.new_zeros(*values.shape[:-1], self.nodes)
        return values[..., values.shape[-1] - self.nodes :]


def as_graph(edges: Tensor | Graph, sources: int, targets: int) -> Graph:
    """The graph itself, if it is one of so many nodes, or one made of an edge list."""
    if not isinstance(edges, Graph):
        return Graph(edges, targets, sources)
    if (edges.sources, edges.nodes) != (sources, targets):
        sizes = f"{edges.sources} sources and {edges.nodes} targets"
        raise ShapeError(f"the graph was made for {sizes}, got {sources} keys and {targets} queries")
    return edges


def check_edges(edge_index: Tensor, sources: int, targets: int) -> None:
    """Refuse what is not a list of edges between these nodes."""
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ShapeError(f"edge_index must be (2, E): sources, targets; got {tuple(edge_index.shape)}")
    # While torch traces, and on an accelerator, the host does not read numbers: indexing itself refuses them there.
    if traced() or not edge_index.is_cpu or edge_index.shape[1] == 0:
        return
    low, high = edge_index.amin(1).tolist(), edge_index.amax(1).tolist()
    if min(low) < 0 or high[0] >= sources or high[1] >= targets:
        raise ShapeError(
            f"edges name sources {low[0]} … {high[0]} of {sources} keys and targets {low[1]} … {high[1]} of "
            f"{targets} queries"
        )


def _starts(ends: Tensor, count: int) -> Tensor:
    """Where the edges of each node begin, once they are sorted by it."""
    return torch.nn.functional.pad(ends.bincount(minlength=count).cumsum(0), (1, 0))


def _blocks(starts: Tensor) -> Tensor:
    """Stretches of nodes with about the same work each: a unit for a node, one for each of its edges."""
    work = starts + torch.arange(len(starts), device=starts.device)
    tasks = min(TASKS, len(starts) - 1)
    share = torch.arange(tasks + 1, device=starts.device) * work[-1] // max(1, tasks)
    return torch.searchsorted(work, share).clamp(max=len(starts) - 1)
