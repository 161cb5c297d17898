"""Attention along an edge list: graphs and ragged bags, without padding.

An edge list is `edge_index` as in PyTorch Geometric: (2, E) integers, row 0 the key (source), row 1 the query (target).
A `Graph` of it is sorted once for many calls; it may have a self loop at every node.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.attention import looks
from saccade.attention.fused import drop
from saccade.attention.groups import Segments
from saccade.attention.masks import Mask
from saccade.attention.normalizers import Normalizer, Softmax, as_normalizer
from saccade.attention.operator import _unpacked, check_dropout, check_kinds, of_one_dtype
from saccade.attention.pair_positions import Positions, joint_leading
from saccade.attention.quarantine import clean, either, poison
from saccade.attention.score import Prepared, Score
from saccade.attention.scores import as_score
from saccade.errors import ShapeError
from saccade.kernels.edge_attention import widened
from saccade.kernels.edge_lists import Graph, as_graph


@dataclass(frozen=True, eq=False)
class AttendedEdges:
    """The context, (…, N, V), and, when somebody asks, the weight of every edge, in the caller's order of edges."""

    context: Tensor
    graph: Graph
    normalize: Normalizer
    look: Callable[[], tuple[Tensor, Tensor]] = field(repr=False)
    """Scores and weights of all edges of the graph."""

    def __repr__(self) -> str:
        sizes = f"context={tuple(self.context.shape)}, edges={self.edge_index.shape[1]}"
        return f"AttendedEdges({sizes}, normalize={type(self.normalize).__name__})"

    @property
    def edge_index(self) -> Int[Tensor, "2 E"]:
        """The edges that the caller listed."""
        return self.graph.listed

    def weights(self) -> Float[Tensor, "... E"]:
        """The weight of each edge; the edges into one target, and its self loop if one was added, sum to 1.

        A self loop that was listed, and replaced by the one that was added, weighs 0 here.
        """
        return self.graph.of_listed(self.look()[1])

    def loops(self) -> Float[Tensor, "... N"]:
        """The weight of the self loop that was added to each node; 0 if none was."""
        return self.graph.of_loops(self.look()[1])

    def entropy(self) -> Float[Tensor, "... N"]:
        """How spread out the edges into each target are, in nats; self loops count."""
        return self._segments().collect(torch.special.entr(self.look()[1]))

    def mass(self) -> Float[Tensor, "... K"]:
        """How much each source was looked at; self loops count."""
        return Segments(self.graph.edge_index[0], self.graph.sources).collect(self.look()[1])

    def log_prob(self) -> Float[Tensor, "... N"]:
        """Log-probability of the edges that hard attention drew, one number a target."""
        return self.normalize.log_prob(*self.look(), self._segments())

    def _segments(self) -> Segments:
        return Segments(self.graph.edge_index[1], self.graph.nodes)


def attend_edges(
    query: Float[Tensor, "... N _"] | Prepared,
    key: Float[Tensor, "... K _"] | Prepared,
    value: Float[Tensor, "... K _"],
    edge_index: Int[Tensor, "2 E"] | Graph,
    *,
    score: Score | str = "scaled_dot",
    mask: Mask | None = None,
    normalize: Normalizer | str = "softmax",
    dropout: float = 0.0,
    offset: Float[Tensor, "... E"] | None = None,
) -> AttendedEdges:
    """Each target looks along its edges. A mask, read at (target, source), closes edges; a target without any gets zeros.

    `offset` is what edges themselves say, one number for each edge of the graph, to a score that reads it.
    """
    score = as_score(score)
    normalize = as_normalizer(normalize, score.logarithmic)
    (query, query_ready, bad_query), (key, key_ready, bad_key) = _unpacked(query, score), _unpacked(key, score)
    query, key, value = of_one_dtype(query, key, value, key_ready is not None, query_ready is not None)
    check_kinds(query, key, value, mask)
    check_dropout(dropout)
    graph = _graph(query, key, value, edge_index)
    _check_offset(offset, score, graph)
    leading = joint_leading(query, key, value)
    at = Positions.edges(graph.edge_index[1], graph.edge_index[0], query.shape[-2], key.shape[-2], len(leading), offset)
    open_ = None if mask is None else mask.allows(at)
    query, bad_query = (query, bad_query) if query_ready else clean(query)
    key, bad_key = (key, bad_key) if key_ready else clean(key)
    value, bad_value = clean(value)
    saw = _saw_spoiled(bad_query, either(bad_key, bad_value), at, open_, Segments(at.query, graph.nodes))
    query, key = query if query_ready else score.queries(query), key if key_ready else score.keys(key)
    look = partial(_look, query, key, at, score, normalize, mask, leading)
    if mask is None and isinstance(normalize, Softmax):
        context = score.pool_edges(query, key, value, graph, offset, dropout)
    else:
        context = None
    if context is None:
        scored = look()
        context = _pool(drop(scored[1], dropout) if dropout > 0 else scored[1], value, at)
        attended = AttendedEdges(poison(context, saw), graph, normalize, lambda: _spoil(scored, saw, at, value.dtype))
    else:
        attended = AttendedEdges(poison(context, saw), graph, normalize, lambda: _spoil(look(), saw, at, value.dtype))
    looks.record(attended)
    return attended


def _look(
    query: Tensor, key: Tensor, at: Positions, score: Score, normalize: Normalizer, mask: Mask | None, leading: torch.Size
) -> tuple[Tensor, Tensor]:
    """Scores and weights of all edges, (…, E), half precision widened: small weights of many edges add up."""
    target, source = at.query, at.key
    scores = widened(score.pairs(query[..., target, :], key[..., source, :], at)).expand(*leading, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask.allows(at), -math.inf)
    noise = 1 - torch.rand(*leading, at.queries, dtype=torch.float64, device=query.device) if normalize.draws else None
    weights: Tensor = normalize(scores, Segments(target, at.queries), None if noise is None else noise[..., target])
    if mask is not None and (factor := mask.factor(at)) is not None:
        weights = weights * factor.to(weights.dtype)
    return scores, weights


def _pool(weights: Tensor, value: Tensor, at: Positions) -> Tensor:
    dtype, value = value.dtype, widened(value)
    pooled = widened(weights)[..., None] * value[..., at.key, :]
    empty = value.new_zeros(*weights.shape[:-1], at.queries, value.shape[-1])
    return empty.index_add(-2, at.query, pooled).to(dtype)


def _spoil(scored: tuple[Tensor, Tensor], saw: Tensor | None, at: Positions, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """NaN for the weights of targets that saw what is not finite; all in the values' own dtype."""
    scores, weights = scored
    if saw is not None:
        weights = torch.where(saw.expand(*weights.shape[:-1], -1)[..., at.query], math.nan, weights)
    return scores.to(dtype), weights.to(dtype)


def bags(sizes: Int[Tensor, " B"], instances: int | None = None) -> Int[Tensor, "2 E"]:
    """Edges that let query b look at the instances of bag b, where the bags' instances stand one after the other.

    With the number of `instances` of all bags, the host need not read it from an accelerator.
    """
    bag = torch.arange(sizes.shape[0], device=sizes.device)
    target = torch.repeat_interleave(bag, sizes, output_size=instances)
    return torch.stack((torch.arange(target.shape[0], device=sizes.device), target))


def _saw_spoiled(
    query: Tensor | None, key: Tensor | None, at: Positions, open_: Tensor | None, segments: Segments
) -> Tensor | None:
    if query is None and key is None:
        return None
    ends = [bad[..., index] for bad, index in ((query, at.query), (key, at.key)) if bad is not None]
    spoiled = ends[0] if len(ends) == 1 else ends[0] | ends[1]
    seen = spoiled if open_ is None else spoiled & open_
    return segments.collect(seen.float()) > 0


def _graph(query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor | Graph) -> Graph:
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"as many values as keys are needed, got {key.shape[-2]} keys and {value.shape[-2]} values")
    return as_graph(edge_index, key.shape[-2], query.shape[-2])


def _check_offset(offset: Tensor | None, score: Score, graph: Graph) -> None:
    if offset is None:
        return
    if not score.reads_edges:
        raise ShapeError(f"score {type(score).__name__} does not read what edges say; leave out offset, or use LeakyConcat")
    if offset.shape[-1] != graph.edge_index.shape[1]:
        raise ShapeError(f"offset must have a number for each edge, got {offset.shape[-1]} for {graph.edge_index.shape[1]}")
