"""Weights at rest: the same results, faster; nothing is kept beyond the block."""

import pytest
import torch

from saccade.kernels.runtime import kernels_on
from saccade.layers.linear import Linear, at_rest, resting
from saccade.layers.multihead import MultiHeadAttention


def test_outside_it_is_the_plain_layer() -> None:
    layer, x = Linear(8, 5), torch.randn(3, 8)
    plain = torch.nn.Linear(8, 5)
    plain.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x), plain(x))


@pytest.mark.skipif(not kernels_on(), reason="kernels are off")
def test_inside_it_is_the_same_up_to_rounding() -> None:
    layer, x = Linear(64, 50), torch.randn(3, 2, 64)
    wanted = layer(x)
    with at_rest(), torch.no_grad():
        assert torch.allclose(layer(x), wanted, atol=1e-5)
    with at_rest("int8"), torch.no_grad():
        found = layer(x)
    assert not torch.equal(found, wanted)
    assert torch.allclose(found, wanted, atol=0.05)


@pytest.mark.skipif(not kernels_on(), reason="kernels are off")
def test_a_changed_weight_is_seen_by_the_next_block() -> None:
    layer, x = Linear(8, 5), torch.randn(3, 8)
    with at_rest(), torch.no_grad():
        layer(x)
    with torch.no_grad():
        layer.weight.mul_(2)
        wanted = layer(x)
    with at_rest(), torch.no_grad():
        assert torch.allclose(layer(x), wanted, atol=1e-5)


def test_a_block_inside_a_block_keeps_what_is_laid_out() -> None:
    layer = Linear(8, 5)
    with torch.no_grad(), at_rest("int8"):
        outer = resting((layer,), torch.randn(1, 8))
        with at_rest():
            assert resting((layer,), torch.randn(1, 8)) is outer
    with torch.no_grad():
        assert resting((layer,), torch.randn(1, 8)) is None


def test_gradients_go_through_the_plain_layer() -> None:
    layer, x = Linear(8, 5), torch.randn(3, 8, requires_grad=True)
    with at_rest():
        layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is not None


def test_attention_is_the_same_at_rest() -> None:
    layer, x = MultiHeadAttention(32, 4).eval(), torch.randn(2, 7, 32)
    with torch.no_grad():
        wanted = layer(x)
        with at_rest():
            assert torch.allclose(layer(x), wanted, atol=1e-5)
