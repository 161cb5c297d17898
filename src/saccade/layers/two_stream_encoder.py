"""The encoder of XLNet (Yang et al. 2019, sections 2.3 to 2.5): a content stream that knows its tokens, and a query stream
that knows a place only, through the same layers; both see the memory of the tokens before."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.attention import Mask, allow
from saccade.layers.dropout import Dropout
from saccade.layers.feed_forward import FeedForward
from saccade.layers.position_embeddings import sinusoids
from saccade.layers.relative_attention import Relations, RelativeAttention
from saccade.layers.transformer_blocks import Residual

NEVER = 1 << 30  # the rank of a token that nobody may see


class Memory(NamedTuple):
    """What each layer reads of the tokens before, and which of these there are.

    Shapes: states (B, M, D) of each layer, live (B, M)
    """

    states: Sequence[Tensor]
    live: Bool[Tensor, "B M"]


class Queries(NamedTuple):
    """Places that are asked about, the rank of each in the order in which they are predicted (from 1 on; 0: of none), and
    the vector that stands in the place of each one's token.

    Shapes: places (B, P), ranks (B, P), hidden (1, D)
    """

    places: Int[Tensor, "B P"]
    ranks: Int[Tensor, "B P"]
    hidden: Float[Tensor, "1 D"]


class TwoStreamLayer(nn.Module):
    """Relative attention to what comes first of x, and a network for each position alone.

    Shapes: x (B, Q, D), key (B, K, D) -> (B, Q, D)
    """

    def __init__(self, width: int, heads: int, hidden: int, activation: str, dropout: float, eps: float) -> None:
        super().__init__()
        self.attention = RelativeAttention(width, heads, dropout=dropout)
        self.network = FeedForward(width, hidden, activation, dropout)
        self.mixed, self.worked = (Residual(width, dropout, "post", eps) for _ in range(2))

    def forward(
        self, x: Float[Tensor, "B Q D"], key: Float[Tensor, "B K D"], relations: Relations, mask: Mask
    ) -> Float[Tensor, "B Q D"]:
        x = self.mixed.leave(x, self.attention(x, key, relations, mask=mask))
        return self.worked.leave(x, self.network(x))


class TwoStreamEncoder(nn.Module):
    """A token has a rank: 0 if it is given, or its number in the order in which tokens are predicted. The content stream
    at a place sees all tokens of no higher rank than its own, the query stream those of lower rank, and so never its own.

    Shapes: tokens (B, K), live (B, K), segments (B, K) -> content (B, K, D), queries (B, P, D)
    """

    def __init__(
        self, size: int, width: int, *, layers: int, heads: int, hidden: int, activation: str, dropout: float, eps: float
    ) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(size, width)
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(TwoStreamLayer(width, heads, hidden, activation, dropout, eps) for _ in range(layers))

    def forward(
        self,
        tokens: Int[Tensor, "B K"],
        live: Bool[Tensor, "B K"],
        segments: Int[Tensor, "B K"],
        queries: Queries | None = None,
        memory: Memory | None = None,
    ) -> tuple[Float[Tensor, "B K D"], Float[Tensor, "B P D"]]:
        x = self.dropout(self._states(tokens, live, segments, queries, memory, len(self.layers))[-1])
        return x[:, : tokens.shape[1]], x[:, tokens.shape[1] :]

    def remember(self, tokens: Int[Tensor, "B M"], live: Bool[Tensor, "B M"]) -> Memory:
        """What each layer reads of these tokens, without a gradient; they have no memory of their own."""
        with torch.no_grad():
            own = self._states(tokens, live, torch.zeros_like(tokens), None, None, len(self.layers) - 1)
        return Memory(own, live)

    def _states(
        self, tokens: Tensor, live: Tensor, segments: Tensor, queries: Queries | None, memory: Memory | None, count: int
    ) -> list[Float[Tensor, "B Q D"]]:
        """What the first layer reads, both streams one behind the other, and what each of so many layers gives."""
        K = tokens.shape[1]
        content, nothing = self.embedding(tokens), tokens[:, :0]
        asked = Queries(nothing, nothing, self.embedding.weight[:1]) if queries is None else queries
        states = [self.dropout(torch.cat((content, asked.hidden.expand(*asked.places.shape, -1)), 1))]
        relations, mask = self._surroundings(live, segments, asked, live[:, :0] if memory is None else memory.live)
        for number in range(count):
            key = states[-1][:, :K]
            key = key if memory is None else torch.cat((memory.states[number], key), 1)
            states.append(self.layers[number](states[-1], key, relations, mask))
        return states

    def _surroundings(self, live: Tensor, segments: Tensor, asked: Queries, remembered: Tensor) -> tuple[Relations, Mask]:
        """How all queries, of both streams, stand to all keys, those of the memory first; and who sees whom."""
        K, M = live.shape[1], remembered.shape[1]
        keys = torch.arange(M + K, device=live.device)
        places = torch.cat((keys[M:].expand_as(live), asked.places + M), 1)
        steps = places[..., None] - keys + K - 1
        distances = sinusoids(1 - K, M + K, self.width, halves=True, device=live.device).to(self.embedding.weight)
        before = segments.new_zeros(remembered.shape)
        own = torch.cat((segments, segments.gather(1, asked.places)), 1)
        apart = own[..., None] != torch.cat((before, segments), 1)[:, None]
        ranks = torch.zeros_like(segments).scatter_add(1, asked.places, asked.ranks)
        known = torch.cat((before, ranks), 1).masked_fill(~torch.cat((remembered, live), 1), NEVER)
        seen = known[:, None] < torch.cat((ranks + 1, asked.ranks), 1)[..., None]
        return Relations(self.dropout(distances), steps, apart), allow(seen[:, None])
