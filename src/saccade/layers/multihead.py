"""Multi-head attention over any score (Vaswani et al. 2017, section 3.2.2)."""

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import Attended, Mask, Normalizer, ScaledDot, Score, Softmax, attend, lengths, make_normalizer
from saccade.attention.masks import Causal
from saccade.attention.operator import check_dropout
from saccade.attention.quarantine import clean
from saccade.attention.scores import as_score
from saccade.errors import ShapeError
from saccade.kernels.beams import beams_on, pool_beams
from saccade.kernels.packed_weights import times
from saccade.kernels.wide_products import linear
from saccade.layers.cache import KeyValueCache, KeyValues, Past
from saccade.layers.linear import Linear, joined, resting


class StepOutput(NamedTuple):
    """What a layer gives W hypotheses of B inputs in a step: the output (B, W, D) and, when called, weights (B, W, H, T)."""

    output: Float[Tensor, "B W D"]
    weights: Callable[[], Tensor]


def project(layer: Callable[[Tensor], Tensor], vectors: Float[Tensor, "B T _"]) -> Float[Tensor, "B T _"]:
    """The layer's output; vectors that are not finite stay so, but do not reach the gradient of its weights."""
    vectors, spoiled = clean(vectors)
    projected = layer(vectors)
    return projected if spoiled is None else torch.where(spoiled[..., None], math.nan, projected)


class MultiHeadAttention(nn.Module):
    """H heads of width D/H look in parallel; their contexts are joined and projected.

    `key_width` and `value_width` are those of what is looked at, if they differ from `width`; `score` compares heads, so
    it is made for width // heads. What a head saw is recorded by `saccade.attention.looking`.

    Shapes: query (B, Q, D), key (B, K, key_width), value (B, K, value_width) -> (B, Q, D)
    """

    SPLITS: ClassVar[bool] = True
    "Whether several processes may have heads of it."

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        key_width: int | None = None,
        value_width: int | None = None,
        score: Score | str = "scaled_dot",
        normalize: Normalizer | str = "softmax",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ShapeError(f"width must be a multiple of heads, got width {width} and {heads} heads")
        self.heads, self.head_width = heads, width // heads
        self.split = False  # whether other processes have heads of this layer: maps are not joined then
        self.dropout = dropout
        check_dropout(dropout)
        self.score = as_score(score)
        self.normalize = make_normalizer(normalize) if isinstance(normalize, str) else normalize
        self.query_map = Linear(width, width, bias)
        self.key_map = Linear(width if key_width is None else key_width, width, bias)
        self.value_map = Linear(width if value_width is None else value_width, width, bias)
        self.output_map = Linear(width, width, bias)
        for layer in (self.query_map, self.key_map, self.value_map):
            nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        query: Float[Tensor, "B Q D"],
        key: Float[Tensor, "B K _"] | None = None,
        value: Float[Tensor, "B K _"] | None = None,
        *,
        mask: Mask | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """Self-attention without a key; a value defaults to the key."""
        key = query if key is None else key
        value = key if value is None else value
        queries, keys, values = map(self._split, self._projected(query, key, value))
        return self._look(queries, keys, values, mask)

    def step(self, x: Float[Tensor, "B W D"], past: Past, cache: KeyValueCache, *, mask: Mask | None = None) -> StepOutput:
        """Self-attention of the newest position of B × W hypotheses, or of the last W positions of B × 1 (a prompt).

        `past` has places for them already; their keys and values join the cache. A causal mask closes nothing to the newest.
        """
        if cache.project is None:
            cache.project = self.joint(self.query_map, self.key_map, self.value_map)
        query, key, value = cache.project(x)
        cache.append(key, value)
        newest = x.shape[1] == past.places.shape[1]
        return self.look_at(query, cache.at(past), mask=None if newest and isinstance(mask, Causal) else mask)

    def look_at(self, query: Float[Tensor, "B W D"], kept: KeyValues, *, mask: Mask | None = None) -> StepOutput:
        """Projected queries attend to what is kept; with a mask, the last query stands at the last key."""
        score, plain = self.score, isinstance(self.normalize, Softmax) and mask is None
        fast = plain and beams_on(query, kept.key, kept.value) and kept.places.shape[2] > 0
        if not isinstance(score, ScaledDot) or not fast:
            attended = self._attended(query, kept, mask)
            return StepOutput(self._joined(attended.context, query), lambda: self._weights(attended))
        B, M, T = kept.places.shape
        counts = kept.places.new_full((B * M,), T) if kept.counts is None else kept.counts.int().repeat_interleave(M)
        scale = score.scale(query[..., : query.shape[-1] // self.heads])
        context = pool_beams(query.flatten(0, 1), kept.key, kept.value, kept.places.flatten(0, 1), counts, self.heads, scale)
        output: Tensor = self.output_map(context).view(query.shape)
        return StepOutput(output, lambda: self.weights_at(query, kept))

    def weights_at(self, query: Float[Tensor, "B W D"], kept: KeyValues) -> Float[Tensor, "B W H T"]:
        """Where projected queries look in what is kept."""
        return self._weights(self._attended(query, kept, None))

    def _attended(self, query: Tensor, kept: KeyValues, mask: Mask | None) -> Attended:
        """The same through the operator: queries (B, M, H, W / M, D), keys (B, M, H, T, D)."""
        B, M, _ = kept.places.shape
        places = kept.places.long()
        if kept.counts is not None:
            mask = lengths(kept.counts) if mask is None else mask & lengths(kept.counts)
        queries = self._split(query.view(B, M, -1, query.shape[-1]))
        keys, values = self._split(kept.key[places]), self._split(kept.value[places])
        return attend(queries, keys, values, score=self.score, mask=mask, normalize=self.normalize)

    def _joined(self, context: Tensor, query: Tensor) -> Tensor:
        output: Tensor = self.output_map(context.transpose(-3, -2).reshape(query.shape))
        return output

    def _weights(self, attended: Attended) -> Tensor:
        return attended.weights().transpose(2, 3).flatten(1, 2)

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values; those that are read from one tensor in one product, which is larger and so quicker."""
        if value is not key or self.split:
            return tuple(map(project, (self.query_map, self.key_map, self.value_map), (query, key, value)))
        if key is query:
            return self.joint(self.query_map, self.key_map, self.value_map)(query)
        return project(self.query_map, query), *self.joint(self.key_map, self.value_map)(key)

    def joint(self, *maps: nn.Linear) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """Several maps of one tensor as one product; what is joined is joined once, for as many calls as you like."""
        if panels := resting(maps, maps[0].weight.detach()):
            return lambda vectors: times(vectors, panels).chunk(len(maps), -1)
        weight, bias = joined(maps)
        return lambda vectors: project(lambda x: linear(x, weight, bias), vectors).chunk(len(maps), -1)

    def _look(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask | None) -> Tensor:
        attended = attend(
            queries,
            keys,
            values,
            score=self.score,
            mask=mask,
            normalize=self.normalize,
            dropout=self.dropout if self.training else 0.0,
        )
        return project(self.output_map, attended.context.transpose(-3, -2).flatten(-2))

    def _split(self, projected: Float[Tensor, "... T D"]) -> Float[Tensor, "... H T _"]:
        heads = projected.shape[-1] // self.head_width
        return projected.view(*projected.shape[:-1], heads, self.head_width).transpose(-3, -2)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """The same layer with the same weights as a `torch.nn.MultiheadAttention`; it takes (B, T, D) whatever that took."""
        if module.bias_k is not None or module.add_zero_attn:
            raise ShapeError("add_bias_kv and add_zero_attn of nn.MultiheadAttention have no counterpart here")
        layer = cls(
            module.embed_dim,
            module.num_heads,
            key_width=module.kdim,
            value_width=module.vdim,
            dropout=module.dropout,
            bias=module.in_proj_bias is not None,
        ).to(module.out_proj.weight)
        maps = (layer.query_map, layer.key_map, layer.value_map)
        joined = module.in_proj_weight
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight) if joined is None else joined.chunk(3)
        with torch.no_grad():
            for ours, weight in zip(maps, weights, strict=True):
                ours.weight.copy_(weight)
            layer.output_map.weight.copy_(module.out_proj.weight)
            if module.in_proj_bias is not None:
                for ours, bias in zip(maps, module.in_proj_bias.chunk(3), strict=True):
                    ours.bias.copy_(bias)
                layer.output_map.bias.copy_(module.out_proj.bias)
        return layer.train(module.training)
