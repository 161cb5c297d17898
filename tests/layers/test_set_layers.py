"""Layers on sets: pools that no order changes, layers that are reordered with their input, ragged and without padding."""

import pytest
import torch
from torch import Tensor

from saccade.attention import looking
from saccade.errors import UnknownName
from saccade.layers.set_layers import POOLS, Equivariant, in_rows, owners, pool_named

SIZES = torch.tensor([3, 0, 6, 1])
PLAIN = {"sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "max": lambda x: x.amax(0)}
pools = pytest.mark.parametrize("pool", sorted(POOLS))


def items(width: int = 5) -> Tensor:
    return torch.randn(int(SIZES.sum()), width)


def mixed(sizes: Tensor) -> Tensor:
    """An order of all items in which those of a set stay together."""
    starts = (sizes.cumsum(0) - sizes).tolist()
    return torch.cat([start + torch.randperm(size) for start, size in zip(starts, sizes.tolist(), strict=True)])


@pools
def test_a_pool_is_what_a_loop_over_sets_gives(pool: str) -> None:
    x = items()
    found = POOLS[pool](x, SIZES)
    expected = [PLAIN[pool](own) if len(own) else torch.zeros(5) for own in x.split(SIZES.tolist())]
    torch.testing.assert_close(found, torch.stack(expected), atol=1e-6, rtol=1e-6)


@pools
def test_no_order_changes_a_pool(pool: str) -> None:
    x = items()
    expected = POOLS[pool](x, SIZES)
    for _ in range(20):
        torch.testing.assert_close(POOLS[pool](x[mixed(SIZES)], SIZES), expected, atol=1e-5, rtol=1e-5)


@pools
def test_the_layer_is_reordered_with_its_input(pool: str) -> None:
    layer, x = Equivariant(5, 4, pool), items()
    expected = layer(x, SIZES)
    for _ in range(20):
        order = mixed(SIZES)
        torch.testing.assert_close(layer(x[order], SIZES), expected[order], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(layer(x, SIZES), layer.own(x), atol=1e-3)  # what all have in common makes a difference


@pools
def test_the_layer_is_its_formula(pool: str) -> None:
    """x Λ − pool(x) Γ + b, set by set."""
    layer, x = Equivariant(5, 4, pool), items()
    expected = [
        own @ layer.own.weight.T + layer.own.bias - PLAIN[pool](own) @ layer.common.weight.T
        for own in x.split(SIZES.tolist())
        if len(own)
    ]
    torch.testing.assert_close(layer(x, SIZES), torch.cat(expected), atol=1e-5, rtol=1e-5)


@pools
def test_one_set_alone_is_the_same_as_in_a_batch(pool: str) -> None:
    layer, x = Equivariant(5, 4, pool), items()
    together = layer(x, SIZES).split(SIZES.tolist())
    for own, found in zip(x.split(SIZES.tolist()), together, strict=True):
        torch.testing.assert_close(layer(own, torch.tensor([len(own)])), found, atol=1e-5, rtol=1e-5)


@pools
def test_empty_sets_have_finite_gradients(pool: str) -> None:
    x = items().requires_grad_()
    POOLS[pool](x, SIZES).square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert POOLS[pool](torch.zeros(0, 5), torch.tensor([0, 0])).equal(torch.zeros(2, 5))


@pools
def test_gradients_are_right(pool: str) -> None:
    layer, x = Equivariant(2, 3, pool).double(), torch.randn(10, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: layer(given, SIZES), x)


@pytest.mark.parametrize(("pool", "weight"), [("sum", 1.0), ("mean", 1 / 6)])
def test_a_pool_that_looks_can_be_watched(pool: str, weight: float) -> None:
    layer = Equivariant(5, 4, pool)
    with looking(layer) as looks:
        layer(items(), SIZES)
    (found,) = looks.values()
    torch.testing.assert_close(found[0].weights()[3:9], torch.full((6,), weight))


def test_rows_hold_each_set_from_their_beginning() -> None:
    x = items()
    rows, there = in_rows(x, SIZES)
    assert there.sum(1).equal(SIZES)
    assert rows[there].equal(x)
    assert not rows[~there].any()
    assert in_rows(torch.zeros(0, 5), torch.tensor([0]))[0].shape == (1, 1, 5)
    assert owners(SIZES, 10).tolist() == [0] * 3 + [2] * 6 + [3]


def test_an_unknown_pool_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean 'max'"):
        pool_named("mox")
