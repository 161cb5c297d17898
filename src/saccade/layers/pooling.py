"""Pooling by attention: many vectors become one, each counting by its weight.

Of padded rectangles (Yang et al. 2016, eq. 5 to 7), and of ragged bags without padding (Ilse et al. 2018, eq. 8 and 9).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import Mask, Perceptron, attend, attend_edges, bags, make_normalizer


def mean(x: Float[Tensor, "B K D"], mask: Mask | None = None) -> Float[Tensor, "B D"]:
    """All alike: attention with a constant score."""
    return attend(x.new_zeros(x.shape[0], 1, x.shape[-1]), x, x, score="constant", mask=mask).context[:, 0]


class MeanPool(nn.Module):
    """The same as a part of a model, so that its looks have a name: the control for `AttentionPool`.

    Shapes: x (B, K, D) -> (B, D)
    """

    def forward(self, x: Float[Tensor, "B K D"], mask: Mask | None = None) -> Float[Tensor, "B D"]:
        return mean(x, mask)


class AttentionPool(nn.Module):
    """Σ αᵢ xᵢ with α the normalized v'tanh(W q + U xᵢ); the query q is learned, or given with each call.

    Shapes: x (B, K, D), query (B, D) -> (B, D)
    """

    def __init__(self, width: int, hidden: int, normalize: str = "softmax") -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(width) * width**-0.5)
        self.score = Perceptron(width, width, hidden)
        self.normalize = make_normalizer(normalize)

    def forward(
        self, x: Float[Tensor, "B K D"], mask: Mask | None = None, query: Float[Tensor, "B D"] | None = None
    ) -> Float[Tensor, "B D"]:
        queries = self.query.expand(x.shape[0], -1) if query is None else query
        return attend(queries[:, None], x, x, score=self.score, mask=mask, normalize=self.normalize).context[:, 0]


class BagAttention(nn.Module):
    """Σ αᵢ xᵢ over each bag with α the normalized w'tanh(V xᵢ): one learned query, w, looks at the items of every bag.

    Shapes: x (N, D), sizes (B) -> (B, D)
    """

    def __init__(self, width: int, hidden: int, normalize: str = "softmax") -> None:
        super().__init__()
        self.key_map = nn.Linear(width, hidden)
        self.query = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))
        self.normalize = make_normalizer(normalize)

    def keys(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N _"]:
        """What the query is compared with."""
        return torch.tanh(self.key_map(x))

    def forward(self, x: Float[Tensor, "N D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        queries = self.query.expand(sizes.shape[0], -1)
        return attend_edges(queries, self.keys(x), x, bags(sizes, x.shape[0]), score="dot", normalize=self.normalize).context


class GatedBagAttention(BagAttention):
    """The same with α the normalized w'(tanh(V xᵢ) ⊙ sigmoid(U xᵢ)): tanh alone is almost linear around 0."""

    def __init__(self, width: int, hidden: int, normalize: str = "softmax") -> None:
        super().__init__(width, hidden, normalize)
        self.gate_map = nn.Linear(width, hidden)

    def keys(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N _"]:
        return super().keys(x) * torch.sigmoid(self.gate_map(x))


def bag_means(x: Float[Tensor, "N D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """All items of a bag alike: attention with a constant score."""
    return attend_edges(x.new_zeros(sizes.shape[0], x.shape[-1]), x, x, bags(sizes, x.shape[0]), score="constant").context


def bag_sums(x: Float[Tensor, "N D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """The same without a normalizer: each item counts 1, and an empty bag gives zeros."""
    return attend_edges(
        x.new_zeros(sizes.shape[0], 1), x[:, :1].detach(), x, bags(sizes, x.shape[0]), score="constant", normalize="none"
    ).context


def bag_maxima(x: Float[Tensor, "N D"], sizes: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
    """The largest of each feature in a bag; zeros for an empty one."""
    return torch.segment_reduce(x, "max", lengths=sizes, axis=0).masked_fill((sizes == 0)[:, None], 0)
