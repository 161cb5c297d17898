"""Attention over bags: ragged, in no order, with weights that sum to one; beside other people's form of it."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from saccade.data.examples import Bag
from saccade.data.ragged import BagBatch, joined
from saccade.layers.pooling import BagAttention, GatedBagAttention, bag_maxima, bag_means
from saccade.systems.attention_mil import Config, Model

from .samples import gradients

SIZES = (3, 1, 6, 2)
POOLS = ("attention", "gated", "mean", "max")
SHAPES = [(5,), (20, 20), (20, 20, 3)]


def bags(shape: tuple[int, ...] = (5,)) -> list[Bag]:
    dice = np.random.default_rng(0)
    return [Bag(dice.normal(size=(size, *shape)).astype(np.float32), "") for size in SIZES]


def batch(shape: tuple[int, ...] = (5,), chosen: tuple[int, ...] = (0, 1, 2, 3)) -> BagBatch:
    found = bags(shape)
    return joined([found[i] for i in chosen], [i % 2 for i in chosen])


def model(pool: str, shape: tuple[int, ...] = (5,)) -> Model:
    torch.manual_seed(0)
    return Model(Config(pool=pool, widths=(7, 6), hidden=4), shape, 2).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_bag_alone_is_the_same_as_in_a_batch(pool: str, shape: tuple[int, ...]) -> None:
    made = model(pool, shape)
    together = made(batch(shape))
    for i in range(len(SIZES)):
        torch.testing.assert_close(made(batch(shape, (i,)))[0], together[i], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pool", POOLS)
def test_its_loss_reaches_every_weight(pool: str) -> None:
    made = model(pool)
    for name, grad in gradients(made, made.loss(batch())).items():
        assert grad.isfinite().all(), name
        assert grad.abs().sum() > 0, name


@pytest.mark.parametrize("pool", POOLS)
def test_the_order_of_a_bag_does_not_matter(pool: str) -> None:
    made, dice = model(pool), np.random.default_rng(1)
    expected = made(batch())
    for _ in range(5):
        mixed = [Bag(dice.permutation(bag.items), "") for bag in bags()]
        torch.testing.assert_close(made(joined(mixed, [0, 1, 0, 1])), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pool", ["attention", "gated"])
def test_weights_are_shares_of_a_bag(pool: str) -> None:
    made = model(pool)
    weights = made.glance(batch())["instances"].detach()
    assert weights.shape == (sum(SIZES),)
    assert (weights > 0).all()
    for part in weights.split(SIZES):
        assert float(part.sum()) == pytest.approx(1, abs=1e-6)
    doubled = [Bag(np.repeat(bag.items, 2, 0), "") for bag in bags()]  # an instance that comes twice has half the weight
    torch.testing.assert_close(made.glance(joined(doubled, [0] * 4))["instances"][::2] * 2, weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(made(joined(doubled, [0] * 4)), made(batch()), atol=1e-5, rtol=1e-5)


def test_pools_that_weigh_nothing_do_not_look() -> None:
    assert model("mean").glance(batch()) == {}
    assert model("max").glance(batch()) == {}


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_the_controls_are_what_their_names_say(pool: str) -> None:
    made, found = model(pool), []
    for bag in bags():
        read = made.reader(torch.from_numpy(bag.items))
        found.append(made.output(read.mean(0) if pool == "mean" else read.amax(0)))
    torch.testing.assert_close(made(batch()), torch.stack(found), atol=1e-5, rtol=1e-5)


def test_an_empty_bag_is_defined() -> None:
    sizes, x = torch.tensor([2, 0]), torch.randn(2, 6)
    for pool in (BagAttention(6, 4), GatedBagAttention(6, 4), bag_means, bag_maxima):
        pooled = pool(x, sizes)
        assert pooled.isfinite().all()
        assert not pooled[1].any()


def test_a_gate_without_weights_is_half_the_plain_score() -> None:
    torch.manual_seed(0)
    plain, gated, x = BagAttention(6, 4), GatedBagAttention(6, 4), torch.randn(5, 6)
    gated.load_state_dict({**plain.state_dict(), "gate_map.weight": torch.zeros(4, 6), "gate_map.bias": torch.zeros(4)})
    torch.testing.assert_close(gated.keys(x), plain.keys(x) / 2)


def test_it_is_the_attentional_aggregation_of_pytorch_geometric() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses what torch has deprecated
        from torch_geometric.nn import AttentionalAggregation

    torch.manual_seed(0)
    pool, x, sizes = BagAttention(6, 4), torch.randn(12, 6), torch.tensor(SIZES)
    score = nn.Linear(4, 1, bias=False)
    score.weight.data.copy_(pool.query[None])
    other = AttentionalAggregation(nn.Sequential(pool.key_map, nn.Tanh(), score))
    expected = other(x, torch.repeat_interleave(torch.arange(4), sizes))
    torch.testing.assert_close(pool(x, sizes), expected, atol=1e-6, rtol=1e-5)
