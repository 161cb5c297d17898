"""A grid whose cells have their row and column beside them."""

import pytest
import torch

from saccade.layers.placed_grid import PlacedGrid


@pytest.mark.parametrize("positions", [False, True])
def test_a_cell_has_its_row_and_column(positions: bool) -> None:
    torch.manual_seed(0)
    grid = PlacedGrid(3, 8, 12, 4, 2, positions=positions).eval()
    pixels = torch.randn(2, 3, 8, 12)
    cells = grid(pixels)
    assert grid.grid == (4, 6)
    assert cells.shape == (2, 24, grid.features)
    assert torch.equal(cells[..., :8], grid.picture(pixels))
    if positions:
        assert cells[1, 0, 8:].tolist() == [-1, -1]
        assert cells[1, 5, 8:].tolist() == [-1, 1]
        assert cells[0, 18, 8:].tolist() == [1, -1]
    assert not grid.state_dict().keys() & {"places"}
