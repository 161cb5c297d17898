"""The retina: pixel for pixel what slices of the picture are, at every place and scale, and a record of where it was."""

import pytest
import torch
from torch import Tensor

from saccade.attention import looking
from saccade.layers.retina import Glimpse, Retina, middles


def sliced(image: Tensor, row: int, column: int, size: int, step: int) -> Tensor:
    """The window of size · step pixels around a pixel, cut out of a picture with a wide black edge, each step² averaged."""
    edge, reach = 200, size * step
    wide = torch.zeros(len(image), image.shape[1] + 2 * edge, image.shape[2] + 2 * edge)
    wide[:, edge : edge + image.shape[1], edge : edge + image.shape[2]] = image
    top, left = edge + row - reach // 2, edge + column - reach // 2
    window = wide[:, top : top + reach, left : left + reach]
    rows = [window[:, first : first + step] for first in range(0, reach, step)]
    return torch.stack(
        [torch.stack([part[:, :, at : at + step].mean((1, 2)) for at in range(0, reach, step)], -1) for part in rows], 1
    )


@pytest.mark.parametrize(("size", "scales", "channels"), [(8, 1, 1), (5, 3, 1), (4, 2, 3), (12, 3, 1), (1, 1, 2)])
def test_it_is_plain_slicing_at_200_places(size: int, scales: int, channels: int) -> None:
    torch.manual_seed(0)
    images = torch.randint(0, 256, (10, channels, 30, 21)).float()  # whole numbers, whose sums are exact
    corners = torch.tensor([[-1.0, -1], [1, 1], [-1, 1], [1, -1], [0, 0], [-1, 0], [0, 1]])
    locations = torch.cat((corners, torch.rand(193, 2) * 2 - 1))
    samples, at = torch.randint(0, 10, (200,)), middles(locations, 30, 21)
    found = Retina(size, scales)(images, samples, locations)
    assert found.shape == (200, scales * channels, size, size)
    for window, sample, (row, column) in zip(found, samples, at.tolist(), strict=True):
        expected = [sliced(images[sample], row, column, size, 2**scale) for scale in range(scales)]
        assert torch.equal(window, torch.cat(expected))


def test_locations_reach_from_edge_to_edge() -> None:
    locations = torch.tensor([[-1.0, -1.0], [0.0, 0.5], [1.0, 1.0]])
    assert middles(locations, 10, 8).tolist() == [[0, 0], [5, 6], [10, 8]]


def test_it_keeps_where_it_looked() -> None:
    retina = Retina(4, 3)
    with looking(retina) as seen:
        retina(torch.rand(1, 1, 20, 30), torch.tensor([0]), torch.tensor([[0.0, -1.0]]))
    (glimpse,) = seen[""]
    assert isinstance(glimpse, Glimpse)
    assert glimpse.boxes().tolist() == [[[8, -2, 4, 4], [6, -4, 8, 8], [2, -8, 16, 16]]]


def test_memory_order_of_the_picture_does_not_count() -> None:
    images = torch.rand(2, 3, 9, 9)
    places = torch.tensor([0, 1]), torch.tensor([[0.3, -0.9], [0.7, 0.1]])
    retina = Retina(4, 2)
    last = images.to(memory_format=torch.channels_last)
    assert torch.equal(retina(last, *places), retina(images, *places))
