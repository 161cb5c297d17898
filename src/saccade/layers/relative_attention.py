"""Attention that knows how far a key stands from its query (Transformer-XL, Dai et al. 2019, section 3.3), and whether both
are of one segment (XLNet, Yang et al. 2019, section 2.5)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.attention import Mask, Score
from saccade.attention.pair_positions import Positions
from saccade.attention.score import Fold
from saccade.layers.linear import Linear
from saccade.layers.multihead import MultiHeadAttention


class CarriedBias(Score):
    """s·h / √D, and what the query carries for each key: behind its D numbers, one for every key.

    Shapes: query (…, Q, D + K), key (…, K, D)
    """

    positional = True
    matrix_product = True

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        D = key.shape[-1]
        scores: Tensor = (query[..., :D] * D**-0.5) @ key.transpose(-2, -1) + query[..., D:][..., at.key]
        return scores

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold:
        D = key.shape[-1]
        carried = query[..., D:]
        return Fold(query[..., :D], key, D**-0.5, lambda at: carried[..., at.rows, :][..., at.key])


class Relations(NamedTuple):
    """How queries stand to keys: `distances`, each as a vector; which of them a pair has, and whether it is of two segments.

    Shapes: distances (T, D), steps (B, Q, K), apart (B, Q, K)
    """

    distances: Float[Tensor, "T D"]
    steps: Int[Tensor, "B Q K"]
    apart: Bool[Tensor, "B Q K"]


class RelativeAttention(MultiHeadAttention):
    """(q + u)·k + (q + v)·W r + (q + w)·s, r the distance of query and key, s one vector for pairs of one segment and
    another for those of two; u, v and w (`content_bias`, `distance_bias`, `segment_bias`) are the same for all queries.

    Shapes: query (B, Q, D), key (B, K, D) -> (B, Q, D)
    """

    SPLITS = False

    def __init__(self, width: int, heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(width, heads, score=CarriedBias(), dropout=dropout, bias=False)
        self.distance_map = Linear(width, width, bias=False)
        self.content_bias, self.distance_bias, self.segment_bias = (
            nn.Parameter(torch.zeros(heads, self.head_width)) for _ in range(3)
        )
        self.segments = nn.Parameter(torch.randn(2, heads, self.head_width) * width**-0.5)
        nn.init.xavier_uniform_(self.distance_map.weight)

    def forward(  # type: ignore[override]
        self, query: Float[Tensor, "B Q D"], key: Float[Tensor, "B K D"], relations: Relations, *, mask: Mask
    ) -> Float[Tensor, "B Q D"]:
        queries, keys, values = map(self._split, self._projected(query, key, key))
        carried = torch.cat((queries + self.content_bias[:, None], self._carried(queries, relations)), -1)
        return self._look(carried, keys, values, mask)

    def _carried(self, queries: Float[Tensor, "B H Q d"], relations: Relations) -> Float[Tensor, "B H Q K"]:
        """What a pair's score is beside that of its tokens."""
        distances = self._split(self.distance_map(relations.distances))
        far = (queries + self.distance_bias[:, None]) @ distances.transpose(-2, -1)
        kinds = (queries + self.segment_bias[:, None]) @ self.segments.permute(1, 2, 0)
        chosen = [
            scores.gather(-1, index[:, None].expand(-1, self.heads, -1, -1))
            for scores, index in ((far, relations.steps), (kinds, relations.apart.long()))
        ]
        carried: Tensor = (chosen[0] + chosen[1]) * self.head_width**-0.5
        return carried
