"""Multi-head attention over any score (Vaswani et al. 2017, section 3.2.2)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import Mask, Normalizer, Score, attend, make_normalizer
from saccade.attention.operator import check_dropout
from saccade.attention.quarantine import clean
from saccade.attention.scores import as_score
from saccade.errors import ShapeError
from saccade.layers.cache import KeyValueCache


def project(layer: nn.Linear, vectors: Float[Tensor, "B T _"]) -> Float[Tensor, "B T _"]:
    """The layer's output; vectors that are not finite stay so, but do not reach the gradient of its weights."""
    vectors, spoiled = clean(vectors)
    projected: Tensor = layer(vectors)
    return projected if spoiled is None else torch.where(spoiled[..., None], math.nan, projected)


class MultiHeadAttention(nn.Module):
    """H heads of width D/H look in parallel; their contexts are joined and projected.

    `key_width` and `value_width` are those of what is looked at, if they differ from `width`; `score` compares heads, so
    it is made for width // heads. What a head saw is recorded by `saccade.attention.looking`.

    Shapes: query (B, Q, D), key (B, K, key_width), value (B, K, value_width) -> (B, Q, D)
    """

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
        self.heads = heads
        self.dropout = dropout
        check_dropout(dropout)
        self.score = as_score(score)
        self.normalize = make_normalizer(normalize) if isinstance(normalize, str) else normalize
        self.query_map = nn.Linear(width, width, bias)
        self.key_map = nn.Linear(width if key_width is None else key_width, width, bias)
        self.value_map = nn.Linear(width if value_width is None else value_width, width, bias)
        self.output_map = nn.Linear(width, width, bias)
        for layer in (self.query_map, self.key_map, self.value_map):
            nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        query: Float[Tensor, "B Q D"],
        key: Float[Tensor, "B K _"] | None = None,
        value: Float[Tensor, "B K _"] | None = None,
        *,
        mask: Mask | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B Q D"]:
        """Self-attention without a key; a value defaults to the key. With a cache, keys and values join what it holds."""
        key = query if key is None else key
        value = key if value is None else value
        keys, values = self._split(project(self.key_map, key)), self._split(project(self.value_map, value))
        if cache is not None:
            keys, values = cache.append(keys, values)
        return self._look(query, keys, values, mask)

    def look_again(
        self, query: Float[Tensor, "B Q D"], cache: KeyValueCache, *, mask: Mask | None = None
    ) -> Float[Tensor, "B Q D"]:
        """Look at what a cache holds already, and add nothing: a source that was projected once for many steps."""
        return self._look(query, cache.key, cache.value, mask)

    def _look(self, query: Tensor, keys: Tensor, values: Tensor, mask: Mask | None) -> Tensor:
        attended = attend(
            self._split(project(self.query_map, query)),
            keys,
            values,
            score=self.score,
            mask=mask,
            normalize=self.normalize,
            dropout=self.dropout if self.training else 0.0,
        )
        return project(self.output_map, attended.context.transpose(-3, -2).flatten(-2))

    def _split(self, projected: Float[Tensor, "B T D"]) -> Float[Tensor, "B H T _"]:
        return projected.view(*projected.shape[:-1], self.heads, projected.shape[-1] // self.heads).transpose(-3, -2)

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
        )
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
