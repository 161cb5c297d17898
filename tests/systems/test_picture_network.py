"""Networks that see a whole picture: of the paper's sizes, and refused where a filter does not fit."""

import pytest
import torch
from torch.nn import functional as F

from saccade.data.tensors import PictureInput
from saccade.errors import UsageError
from saccade.systems.picture_network import Config, Model


def test_their_sizes_are_the_papers() -> None:
    def count(config: Config) -> int:
        return sum(parameter.numel() for parameter in Model(config, 1, 60, 60, 10).parameters())

    assert count(Config(kind="fully_connected")) == 3600 * 256 + 256 + 256 * 256 + 256 + 2570
    assert count(Config()) == 8 * 100 + 8 + 8 * 11 * 11 * 256 + 256 + 2570


def test_the_convolution_is_what_it_says() -> None:
    torch.manual_seed(0)
    made, pixels = Model(Config(), 3, 20, 15, 4), torch.randn(2, 3, 20, 15)
    assert made.filters is not None
    maps = F.relu(F.conv2d(pixels, made.filters.weight, made.filters.bias, stride=5))
    assert maps.shape == (2, 8, 3, 2)
    expected = made.label(F.relu(made.hidden[0](maps.flatten(1))))
    torch.testing.assert_close(made.logits(PictureInput(pixels)), expected)


def test_a_filter_that_is_larger_than_the_picture_is_refused() -> None:
    with pytest.raises(UsageError, match="filter_size: expected at most 9 pixels, got 10"):
        Model(Config(), 1, 12, 9, 2)
