"""Squeeze and excitation: a picture decides, channel by channel, how much of each is let through (Hu et al. 2018)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.gated import gate
from saccade.errors import ShapeError


class SqueezeExcitation(nn.Module):
    """x · σ(W₂ ReLU(W₁ z)) with z the mean of each channel over all places, for any convolutional network.

    `reduction` is the paper's r: the layer between has channels // r units, at least one; `rd_channels` says their number
    itself. With both biases that is 2C²/r + C/r + C numbers. `looking` keeps the gates, which lie between 0 and 1 and do
    not sum to one. The argument names `channels`, `rd_channels`, `bias` and the names of the weights are timm's, which
    rounds C/r up to a multiple of 8 unless rd_channels is given.

    Shapes: x (B, C, height, width) -> the same
    """

    def __init__(self, channels: int, reduction: int = 16, rd_channels: int | None = None, bias: bool = True) -> None:
        super().__init__()
        if min(channels, reduction) < 1 or (rd_channels is not None and rd_channels < 1):
            raise ShapeError(f"expected sizes of at least 1, got {channels} channels, {reduction=}, {rd_channels=}")
        inner = max(1, channels // reduction) if rd_channels is None else rd_channels
        self.fc1, self.fc2 = nn.Linear(channels, inner, bias), nn.Linear(inner, channels, bias)

    def forward(self, x: Float[Tensor, "B C height width"]) -> Float[Tensor, "B C height width"]:
        if x.shape[1] != self.fc1.in_features:
            raise ShapeError(f"expected {self.fc1.in_features} channels, got {x.shape[1]} of {tuple(x.shape)}")
        squeezed = x.mean((2, 3))
        scores: Tensor = self.fc2(F.relu(self.fc1(squeezed)))
        return gate(x, scores).context

    @classmethod
    def from_timm(cls, module: Any) -> "SqueezeExcitation":
        """The same block with the same weights as a `timm.layers.SEModule` with ReLU and sigmoid, or torchvision's."""
        weights = [module.fc1.weight, module.fc2.weight]
        inner, channels = weights[0].shape[:2]
        layer = cls(channels, rd_channels=inner, bias=module.fc1.bias is not None).to(weights[0])
        pairs = [(layer.fc1.weight, weights[0]), (layer.fc2.weight, weights[1])]
        pairs += [(layer.fc1.bias, module.fc1.bias), (layer.fc2.bias, module.fc2.bias)]
        with torch.no_grad():
            for ours, theirs in pairs:
                if ours is not None:
                    ours.copy_(theirs.view_as(ours))
        return layer.train(module.training)
