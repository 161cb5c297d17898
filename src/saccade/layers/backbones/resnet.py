"""ResNet (He et al. 2016) as Hugging Face's classes `ResNet…` store it: names of parameters and config are theirs."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import DataError

PIXELS = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and deviation where nothing else is said
NARROWER = 4  # how many times fewer channels the middle of a bottleneck has


class StandardizedConvolution(nn.Module):
    """A convolution without bias, standardized. Shapes: (B, C, H, W) -> (B, channels, H / stride, W / stride)"""

    def __init__(self, before: int, channels: int, size: int, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, channels, size, stride, size // 2, bias=False)
        self.normalization = nn.BatchNorm2d(channels)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B _ _ _"]:
        out: Tensor = self.normalization(self.convolution(x))
        return out


class ResNetBlock(nn.Module):
    """Two convolutions of 3 × 3, or a bottleneck of three, and a way around them."""

    def __init__(self, before: int, channels: int, stride: int, *, bottleneck: bool, early: bool) -> None:
        super().__init__()
        if bottleneck:
            narrow = channels // NARROWER
            first, second = (stride, 1) if early else (1, stride)
            parts = [(before, narrow, 1, first), (narrow, narrow, 3, second), (narrow, channels, 1, 1)]
        else:
            parts = [(before, channels, 3, stride), (channels, channels, 3, 1)]
        self.layer = nn.ModuleList(StandardizedConvolution(*sizes) for sizes in parts)
        same = before == channels and stride == 1
        self.shortcut = nn.Identity() if same else StandardizedConvolution(before, channels, 1, stride)

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B _ _ _"]:
        residual = x
        for number, part in enumerate(self.layer, 1):
            residual = part(residual)
            residual = F.relu(residual) if number < len(self.layer) else residual
        return F.relu(residual + self.shortcut(x))


class Stage(nn.Module):
    """Blocks, one after the other. Shapes: (B, C, H, W) -> (B, channels, H / stride, W / stride)"""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B _ _ _"]:
        out: Tensor = self.layers(x)
        return out


class ResNet(nn.Module):
    """A stem that quarters the picture, and stages that halve it, the first perhaps not.

    Shapes: pixels (B, C, H, W) -> (B, D, rows, columns)
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        widths, depths = config["hidden_sizes"], config["depths"]
        kinds = {"bottleneck": config["layer_type"] == "bottleneck", "early": config.get("downsample_in_bottleneck", False)}
        strides = [2 if config.get("downsample_in_first_stage") else 1] + [2] * (len(widths) - 1)
        stem = StandardizedConvolution(config.get("num_channels", 3), config["embedding_size"], 7, 2)
        self.embedder = nn.ModuleDict({"embedder": stem})
        stages = list[nn.Module]()
        for before, width, depth, stride in zip([config["embedding_size"], *widths], widths, depths, strides, strict=False):
            sizes = [(before, width, stride)] + [(width, width, 1)] * (depth - 1)
            stages.append(Stage(nn.Sequential(*(ResNetBlock(*own, **kinds) for own in sizes))))
        self.encoder = nn.ModuleDict({"stages": nn.Sequential(*stages)})

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D _ _"]:
        x = F.max_pool2d(F.relu(self.embedder["embedder"](pixels)), 3, 2, 1)
        out: Tensor = self.encoder["stages"](x)
        return out


def network(config: Mapping[str, Any]) -> ResNet:
    """That of a config.json."""
    try:
        if config.get("hidden_act", "relu") != "relu":
            raise DataError(f"hidden_act: expected relu, got {config['hidden_act']!r}; take another ResNet")
        return ResNet(config)
    except (KeyError, TypeError) as error:
        raise DataError(f"config.json: expected the sizes of a ResNet ({error}); take the file as it is published") from None
