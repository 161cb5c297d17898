"""A picture as a grid of feature vectors that know where they stand, by their row and column (Liu et al. 2018)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.layers.picture_grid import PictureGrid


class PlacedGrid(nn.Module):
    """The grid of a picture; with `positions`, two more features: row and column, from -1 to 1.

    Shapes: pixels (B, C, H, W) -> (B, rows · columns, features), row by row
    """

    places: Tensor

    def __init__(self, channels: int, height: int, width: int, first: int, num_stages: int, *, positions: bool) -> None:
        super().__init__()
        self.picture = PictureGrid(channels, height, width, first, num_stages)
        self.grid = self.picture.grid
        self.features = self.picture.features + 2 * positions
        rows, columns = (torch.linspace(-1, 1, size) for size in self.grid)
        places = torch.cartesian_prod(rows, columns) if positions else torch.zeros(len(rows) * len(columns), 0)
        self.register_buffer("places", places, persistent=False)

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K D"]:
        cells = self.picture(pixels)
        return torch.cat((cells, self.places.expand(len(cells), -1, -1)), -1)
