"""Self-attention between all places of a feature map, for any convolutional network (Zhang et al. 2019, section 3)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import Normalizer, Score, attend
from saccade.errors import ShapeError


class SpatialAttention(nn.Module):
    """x + γ W (Σ over places, by softmax of query · key, of their values): every place looks at every place.

    Queries, keys and values are 1 × 1 convolutions of x; the paper's widths are C/8 for queries and keys and C/2 for values.
    γ begins at 0, so that a new layer changes nothing in a network that is trained already. The order of places plays no
    part. `looking` keeps the weights, (B, height · width, height · width), row by row.

    Shapes: x (B, C, height, width) -> the same
    """

    def __init__(
        self,
        channels: int,
        key_channels: int | None = None,
        value_channels: int | None = None,
        *,
        score: Score | str = "dot",
        normalize: Normalizer | str = "softmax",
    ) -> None:
        super().__init__()
        keys = max(1, channels // 8) if key_channels is None else key_channels
        values = max(1, channels // 2) if value_channels is None else value_channels
        if min(channels, keys, values) < 1:
            raise ShapeError(f"expected sizes of at least 1, got {channels} channels, {key_channels=}, {value_channels=}")
        self.query, self.key, self.value = (nn.Conv2d(channels, width, 1, bias=False) for width in (keys, keys, values))
        self.output = nn.Conv2d(values, channels, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.score, self.normalize = score, normalize

    def forward(self, x: Float[Tensor, "B C height width"]) -> Float[Tensor, "B C height width"]:
        if x.dim() != 4 or x.shape[1] != self.query.in_channels:
            expected = f"(B, {self.query.in_channels}, height, width)"
            raise ShapeError(f"expected a feature map {expected}, got {tuple(x.shape)}")
        query, key, value = (layer(x).flatten(2).transpose(1, 2) for layer in (self.query, self.key, self.value))
        context = attend(query, key, value, score=self.score, normalize=self.normalize).context
        seen: Tensor = self.output(context.transpose(1, 2).unflatten(2, x.shape[2:]))
        return x + self.gamma * seen
