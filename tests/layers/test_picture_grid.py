"""A picture as a grid of feature vectors."""

import pytest
import torch

from saccade.errors import UsageError
from saccade.layers.picture_grid import PictureGrid, shifted


def test_training_pictures_are_mirrored_and_shifted() -> None:
    x = torch.arange(2 * 3 * 5 * 4.0).view(2, 3, 5, 4)
    assert torch.equal(shifted(x, 0, 0.0), x)
    assert torch.equal(shifted(x, 0, 1.0), x.flip(-1))
    many = x[:1].expand(256, 3, 5, 4)
    torch.manual_seed(0)
    one, two = shifted(many, 1, 0.5), shifted(many, 1, 0.5)
    assert not torch.equal(one, two)
    torch.manual_seed(0)
    assert torch.equal(shifted(many, 1, 0.5), one)
    mirrored = [x[0], x[0].flip(-1)]
    padded = [torch.nn.functional.pad(image, (1, 1, 1, 1), mode="replicate") for image in mirrored]
    windows = [image[:, row : row + 5, column : column + 4] for image in padded for row in range(3) for column in range(3)]
    found = [[place for place, window in enumerate(windows) if torch.equal(picture, window)] for picture in one]
    assert all(found)
    assert {places[0] for places in found} == set(range(18))


@pytest.mark.parametrize(("height", "width", "stages"), [(32, 32, 3), (17, 30, 2), (8, 8, 1)])
def test_the_grid_has_the_places_that_it_names(height: int, width: int, stages: int) -> None:
    grid = PictureGrid(3, height, width, first=8, num_stages=stages).eval()
    rows, columns = grid.grid
    features = grid(torch.randn(2, 3, height, width))
    assert features.shape == (2, rows * columns, grid.features)
    assert grid.features == 8 * 2 ** (stages - 1)


def test_a_picture_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 8 × 8 pixels, got 7 × 9"):
        PictureGrid(1, 7, 9, first=8, num_stages=3)


def test_only_training_shifts() -> None:
    grid = PictureGrid(1, 16, 16, first=4, num_stages=1, max_shift=3).eval()
    picture = torch.randn(1, 1, 16, 16)
    assert torch.equal(grid(picture), grid(picture))
