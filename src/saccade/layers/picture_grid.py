"""A picture as a grid of feature vectors, by a small residual network (He et al. 2016) that is trained along."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import UsageError


class PictureGrid(nn.Module):
    """Stages of one residual block each; every stage has twice the channels of the one before, at half the height and width
    in all but the last. In training a picture is shifted by up to `max_shift` pixels.

    Shapes: pixels (B, C, H, W) -> (B, rows · columns, features), row by row
    """

    def __init__(self, channels: int, height: int, width: int, first: int, num_stages: int, max_shift: int = 0) -> None:
        super().__init__()
        least = 2**num_stages
        if min(height, width) < least:
            raise UsageError(f"num_stages: expected images of at least {least} × {least} pixels, got {height} × {width}")
        widths = [first * 2**stage for stage in range(num_stages)]
        strides = [2] * (num_stages - 1) + [1]
        self.stem = convolution(channels, first // 2, 3)
        self.stages = nn.Sequential(*map(ResidualBlock, [first // 2, *widths], widths, strides))
        self.max_shift = max_shift
        self.features = widths[-1]
        self.grid = (_halved(height, num_stages - 1), _halved(width, num_stages - 1))

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K D"]:
        pixels = shifted(pixels, self.max_shift) if self.training and self.max_shift else pixels
        grid: Tensor = self.stages(F.relu(self.stem(pixels)))
        return grid.flatten(2).transpose(1, 2).contiguous()


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with batch normalization, and a connection around them.

    Shapes: (B, C, H, W) -> (B, channels, H / stride, W / stride)
    """

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = convolution(before, channels, 3, stride), convolution(channels, channels, 3)
        self.around = convolution(before, channels, 1)
        self.stride = stride

    def forward(self, x: Float[Tensor, "B C H W"]) -> Float[Tensor, "B _ _ _"]:
        # A 1 × 1 convolution with a stride is one without, of fewer pixels.
        around = self.around(x[:, :, :: self.stride, :: self.stride])
        return F.relu(self.second(F.relu(self.first(x))) + around)


def convolution(before: int, channels: int, size: int = 3, stride: int = 1) -> nn.Sequential:
    """A convolution, and its output standardized over the batch."""
    layer = nn.Conv2d(before, channels, size, stride, size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(layer, nn.BatchNorm2d(channels))


def shifted(pixels: Float[Tensor, "B C H W"], most: int, flip: float | None = None) -> Float[Tensor, "B C H W"]:
    """Each picture shifted at random, and mirrored with the chance `flip`; what comes in at an edge repeats it."""
    count, (height, width) = len(pixels), pixels.shape[2:]
    # Drawn on the CPU, so that every device shifts alike.
    down, right = torch.randint(-most, most + 1, (2, count, 1)).to(pixels.device)
    places = torch.arange(max(height, width, count), device=pixels.device)
    columns = places[:width]
    if flip is not None:
        columns = torch.where(torch.rand(count, 1).to(pixels.device) < flip, columns.flip(0), columns)
    rows, columns = (places[:height] + down).clamp(0, height - 1), (columns + right).clamp(0, width - 1)
    in_memory = pixels.permute(0, 2, 3, 1)  # in the order in which they lie there
    return in_memory[places[:count, None, None], rows[:, :, None], columns[:, None]].permute(0, 3, 1, 2)


def _halved(size: int, times: int) -> int:
    """A height or width after so many convolutions of stride 2."""
    for _ in range(times):
        size = (size + 1) // 2
    return size
