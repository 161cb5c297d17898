"""Self-attention over a feature map: the identity at first, then torch's attention over all places."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.attention import looking
from saccade.errors import ShapeError
from saccade.layers.spatial_attention import SpatialAttention


def layer(channels: int = 16, gamma: float = 0.7) -> SpatialAttention:
    torch.manual_seed(0)
    made = SpatialAttention(channels)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
        made.gamma.fill_(gamma)
    return made


def features() -> Tensor:
    return torch.randn(3, 16, 5, 4, generator=torch.Generator().manual_seed(1))


def test_a_new_one_changes_nothing_and_learns() -> None:
    made, x = SpatialAttention(16), features()
    assert torch.equal(made(x), x)
    (made(x) * torch.randn(x.shape)).sum().backward()
    assert made.gamma.grad is not None
    assert made.gamma.grad.abs() > 0


def test_it_is_torchs_attention_over_all_places() -> None:
    made, x = layer(), features()
    query, key, value = (one(x).flatten(2).transpose(1, 2) for one in (made.query, made.key, made.value))
    assert (query.shape[-1], value.shape[-1]) == (2, 8)  # C/8 and C/2
    context = F.scaled_dot_product_attention(query, key, value, scale=1.0)
    expected = x + 0.7 * made.output(context.transpose(1, 2).reshape(3, 8, 5, 4))
    torch.testing.assert_close(made(x), expected)


def test_the_order_of_places_plays_no_part() -> None:
    made, x = layer(), features()
    order = torch.randperm(20, generator=torch.Generator().manual_seed(2))
    moved = x.flatten(2)[:, :, order].view(3, 16, 5, 4)
    torch.testing.assert_close(made(moved), made(x).flatten(2)[:, :, order].view(3, 16, 5, 4))


def test_every_place_has_weights_over_all() -> None:
    made = layer()
    with looking(made) as seen:
        made(features())
    (look,) = seen[""]
    assert look.weights().shape == (3, 20, 20)
    torch.testing.assert_close(look.weights().sum(-1), torch.ones(3, 20))


def test_it_fits_between_the_layers_of_any_network() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), SpatialAttention(16), torch.nn.ReLU())
    assert network(torch.randn(2, 3, 9, 7)).shape == (2, 16, 7, 5)


def test_other_widths_and_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match="at least 1, got 8 channels, key_channels=0"):
        SpatialAttention(8, 0)
    with pytest.raises(ShapeError, match=r"expected a feature map \(B, 16, height, width\), got \(3, 8, 5, 4\)"):
        layer()(features()[:, :8])
