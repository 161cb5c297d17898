"""What is seen around a place of a picture: windows of several scales, the nearest the sharpest (Mnih et al. 2014)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import looks as recording
from saccade.kernels.windows import windows


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
    shares = (locations + 1) / 2
    if height == width:  # fewer steps, and a glimpse takes few
        return shares.mul_(height).round_().long()
    rows, columns = shares.unbind(-1)
    return torch.stack((rows * height, columns * width), -1).round().long()


class Retina(nn.Module):
    """What is seen around a location, and a record of it: windows of `size`, 2 · `size` … pixels, all scaled to `size`.

    `samples` says in which image each location is: several may be in one. What is outside of an image is 0.

    Shapes: images (N, C, H, W), samples (B), locations (B, 2) -> (B, scales · C, size, size)
    """

    def __init__(self, size: int, scales: int) -> None:
        super().__init__()
        self.sizes = tuple(size << scale for scale in range(scales))

    def forward(
        self, images: Float[Tensor, "N C H W"], samples: Int[Tensor, " B"], locations: Float[Tensor, "B 2"]
    ) -> Float[Tensor, "B _ _ _"]:
        at = middles(locations, images.shape[2], images.shape[3])
        recording.record(Glimpse(at, self.sizes))
        return windows(images, samples, at, self.sizes[0], len(self.sizes))
