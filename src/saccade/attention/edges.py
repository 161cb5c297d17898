"""The same verbs on an edge list: graphs and ragged bags, without padding.

An edge list is `edge_index` as in PyTorch Geometric: (2, E) integers, row 0 the key (source), row 1 the query (target).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.attention import looks
from saccade.attention.fused import drop
from saccade.attention.groups import Segments
from saccade.attention.masks import Mask
from saccade.attention.normalizers import Normalizer, as_normalizer
from saccade.attention.operator import check_dropout, check_kinds
from saccade.attention.positions import Positions, joint_leading
from saccade.attention.quarantine import clean, either, poison
from saccade.attention.score import Score
from saccade.attention.scores import as_score
from saccade.errors import ShapeError


@dataclass(frozen=True, eq=False)
class AttendedEdges:
    """The context, (…, N, V), and the weight of every edge, in the caller's order of edges."""

    context: Tensor
    edge_index: Tensor
    edge_weights: Tensor
    edge_scores: Tensor
    normalize: Normalizer
    keys: int

    def __repr__(self) -> str:
        sizes = f"context={tuple(self.context.shape)}, edges={self.edge_index.shape[1]}"
        return f"AttendedEdges({sizes}, normalize={type(self.normalize).__name__})"

    def weights(self) -> Float[Tensor, "... E"]:
        """The weight of each edge; the edges into one target sum to 1."""
        return self.edge_weights

    def entropy(self) -> Float[Tensor, "... N"]:
        """How spread out the edges into each target are, in nats."""
        return self._segments().collect(torch.special.entr(self.edge_weights))

    def mass(self) -> Float[Tensor, "... K"]:
        """How much each source was looked at."""
        return Segments(self.edge_index[0], self.keys).collect(self.edge_weights)

    def log_prob(self) -> Float[Tensor, "... N"]:
        """Log-probability of the edges that hard attention drew, one number a target."""
        return self.normalize.log_prob(self.edge_scores, self.edge_weights, self._segments())

    def _segments(self) -> Segments:
        return Segments(self.edge_index[1], self.context.shape[-2])


def attend_edges(
    query: Float[Tensor, "... N _"],
    key: Float[Tensor, "... K _"],
    value: Float[Tensor, "... K _"],
    edge_index: Int[Tensor, "2 E"],
    *,
    score: Score | str = "scaled_dot",
    mask: Mask | None = None,
    normalize: Normalizer | str = "softmax",
    dropout: float = 0.0,
) -> AttendedEdges:
    """Each target looks along its edges. A mask, read at (target, source), closes edges; a target without any gets zeros."""
    score = as_score(score)
    normalize = as_normalizer(normalize, score.logarithmic)
    check_kinds(query, key, value, mask)
    check_dropout(dropout)
    _check(query, key, value, edge_index)
    source, target = edge_index
    leading = joint_leading(query, key, value)
    at = Positions.edges(target, source, query.shape[-2], key.shape[-2], len(leading))
    segments = Segments(target, query.shape[-2])
    open_ = None if mask is None else mask.allows(at)
    (query, bad_query), (key, bad_key), (value, bad_value) = clean(query), clean(key), clean(value)
    saw = _saw_spoiled(bad_query, either(bad_key, bad_value), at, open_, segments)

    scores = score.pairs(score.queries(query)[..., target, :], score.keys(key)[..., source, :], at)
    scores = scores.expand(*leading, -1)
    if open_ is not None:
        scores = scores.masked_fill(~open_, -math.inf)
    noise = 1 - torch.rand(*leading, query.shape[-2], dtype=torch.float64, device=query.device) if normalize.draws else None
    weights = normalize(scores, segments, None if noise is None else noise[..., target])
    if mask is not None and (factor := mask.factor(at)) is not None:
        weights = weights * factor.to(weights.dtype)
    pooled = (drop(weights, dropout) if dropout > 0 else weights)[..., None] * value[..., source, :]
    context = value.new_zeros(*leading, query.shape[-2], value.shape[-1]).index_add(-2, target, pooled)
    if saw is not None:
        weights = torch.where(saw.expand(*leading, -1)[..., target], math.nan, weights)
    attended = AttendedEdges(poison(context, saw), edge_index, weights, scores, normalize, key.shape[-2])
    looks.record(attended)
    return attended


def bags(sizes: Int[Tensor, " B"]) -> Int[Tensor, "2 E"]:
    """Edges that let query b look at the instances of bag b, where the bags' instances stand one after the other."""
    target = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
    return torch.stack((torch.arange(len(target), device=sizes.device), target))


def _saw_spoiled(
    query: Tensor | None, key: Tensor | None, at: Positions, open_: Tensor | None, segments: Segments
) -> Tensor | None:
    if query is None and key is None:
        return None
    ends = [bad[..., index] for bad, index in ((query, at.query), (key, at.key)) if bad is not None]
    spoiled = ends[0] if len(ends) == 1 else ends[0] | ends[1]
    seen = spoiled if open_ is None else spoiled & open_
    return segments.collect(seen.float()) > 0


def _check(query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor) -> None:
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"as many values as keys are needed, got {key.shape[-2]} keys and {value.shape[-2]} values")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ShapeError(f"edge_index must be (2, E): sources, targets; got {tuple(edge_index.shape)}")
    if edge_index.shape[1] == 0:
        return
    low, high = edge_index.amin(1).tolist(), edge_index.amax(1).tolist()
    if min(low) < 0 or high[0] >= key.shape[-2] or high[1] >= query.shape[-2]:
        raise ShapeError(
            f"edges name sources {low[0]} … {high[0]} of {key.shape[-2]} keys and targets {low[1]} … {high[1]} of "
            f"{query.shape[-2]} queries"
        )
