"""Pooling by attention: many vectors become one, each counting by its weight (Yang et al. 2016, eq. 5 to 7)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import Mask, Perceptron, attend, make_normalizer


def mean(x: Float[Tensor, "B K D"], mask: Mask | None = None) -> Float[Tensor, "B D"]:
    """All alike: attention with a constant score."""
    return attend(x.new_zeros(len(x), 1, x.shape[-1]), x, x, score="constant", mask=mask).context[:, 0]


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
        asked = self.query.expand(len(x), -1) if query is None else query
        return attend(asked[:, None], x, x, score=self.score, mask=mask, normalize=self.normalize).context[:, 0]
