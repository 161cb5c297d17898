"""A grid whose cells have their row and column beside them, and the last state of a question."""

import pytest
import torch

from saccade.layers.picture_and_question import LastState, PlacedGrid
from saccade.layers.picture_grid import PictureGrid


@pytest.mark.parametrize("positions", [False, True])
def test_a_cell_has_its_row_and_column(positions: bool) -> None:
    torch.manual_seed(0)
    grid = PlacedGrid(PictureGrid(3, 8, 12, 4, 2), positions=positions).eval()
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


def test_padding_behind_a_question_does_not_count() -> None:
    torch.manual_seed(0)
    question, words = LastState(5, 4), torch.randn(2, 6, 5)
    last = question(words, torch.tensor([3, 6]))
    assert last.shape == (2, 4)
    torch.testing.assert_close(question(words[:1, :3], torch.tensor([3])), last[:1])
    assert not torch.allclose(question(words[:1], torch.tensor([6])), last[:1], atol=1e-3)
