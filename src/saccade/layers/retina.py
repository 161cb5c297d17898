"""What is seen around a place of a picture: windows of several scales, the nearest the sharpest (Mnih et al. 2014, section 3.1).

A window around every place is a view of the padded picture, and all scales share their middle. So a glimpse is one copy of
the largest windows, whatever the number of scales; the others are cut out of it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import looks as recording


@dataclass(frozen=True)
class Glimpse:
    """Where one glimpse was: the pixels in the middle of its windows, and how large these are.

    Shapes: at (B, 2)
    """

    at: Int[Tensor, "B 2"]
    sizes: tuple[int, ...]

    def boxes(self) -> Int[Tensor, "B scales 4"]:
        """Row, column, height and width of every window, in pixels."""
        return torch.stack([torch.cat((self.at - size // 2, torch.full_like(self.at, size)), -1) for size in self.sizes], 1)


def middles(locations: Float[Tensor, "B 2"], height: int, width: int) -> Int[Tensor, "B 2"]:
    """The pixel whose upper left corner is nearest to each location; (−1, −1) is the picture's own, (1, 1) its other end."""
    rows, columns = ((locations + 1) / 2).unbind(-1)
    return torch.stack((rows * height, columns * width), -1).round().long()


def surroundings(images: Float[Tensor, "B C H W"], reach: int) -> Float[Tensor, "B C _ _ R R"]:
    """A view with the window of `reach` pixels around every place, zero outside of the image.

    Shapes: -> (B, C, H + 1, W + 1, reach, reach)
    """
    before, after = reach // 2, reach - reach // 2
    # Where channels lie last, a window would be copied pixel by pixel.
    return F.pad(images.contiguous(), (before, after) * 2).unfold(2, reach, 1).unfold(3, reach, 1)


def glimpses(
    around: Float[Tensor, "N C _ _ R R"], samples: Int[Tensor, " B"], at: Int[Tensor, "B 2"], scales: int
) -> Tensor:
    """Windows of 1, 2, 4 … times R / 2^(scales − 1) pixels in `surroundings`, all scaled to that; `samples`: of which image.

    Shapes: -> (B, scales · C, size, size)
    """
    largest = around[samples, :, at[:, 0], at[:, 1]]
    reach = largest.shape[-1]
    windows = []
    for scale in range(scales):
        own, step = reach >> (scales - 1 - scale), 2**scale
        first = reach // 2 - own // 2
        window = largest[:, :, first : first + own, first : first + own]
        windows.append(F.avg_pool2d(window.contiguous(), step) if scale else window)
    return torch.cat(windows, 1)


class Retina(nn.Module):
    """What is seen around a location, and a record of it.

    Shapes: around (N, C, H + 1, W + 1, reach, reach), samples (B), locations (B, 2) -> (B, scales · C, size, size)
    """

    def __init__(self, size: int, scales: int) -> None:
        super().__init__()
        self.sizes = tuple(size << scale for scale in range(scales))

    def surroundings(self, images: Float[Tensor, "N C H W"]) -> Tensor:
        """All windows of some images, of which `forward` shows one for each location."""
        return surroundings(images, self.sizes[-1])

    def forward(
        self, around: Tensor, samples: Int[Tensor, " B"], locations: Float[Tensor, "B 2"]
    ) -> Float[Tensor, "B _ _ _"]:
        at = middles(locations, around.shape[2] - 1, around.shape[3] - 1)
        recording.record(Glimpse(at, self.sizes))
        return glimpses(around, samples, at, len(self.sizes))
