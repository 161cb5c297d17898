"""Attention over bags: ragged, in no order, with weights that sum to one; beside other people's form of it."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from saccade.data.examples import Bag
from saccade.data.tensors import Batch, LabelTarget
from saccade.layers.pooling import BagAttention, GatedBagAttention, bag_maxima, bag_means
from saccade.readers.bag import BagColumn, Scale
from saccade.systems.attention_mil import Config, Model

from .looks import weights_of
from .samples import gradients

SIZES = (3, 1, 6, 2)
POOLS = ("attention", "gated", "mean", "max")
SHAPES = [(5,), (20, 20), (20, 20, 3)]


def bags(shape: tuple[int, ...] = (5,)) -> list[Bag]:
    dice = np.random.default_rng(0)
    return [Bag(dice.normal(size=(size, *shape)).astype(np.float32)) for size in SIZES]


def batch(shape: tuple[int, ...] = (5,), chosen: tuple[int, ...] = (0, 1, 2, 3)) -> Batch:
    every = bags(shape)
    return joined([every[i] for i in chosen], [i % 2 for i in chosen])


def joined(bags: list[Bag], labels: list[int]) -> Batch:
    """These bags as they are, not scaled."""
    column = BagColumn(bags, Scale(bags[0].items.shape[1:], [0.0], [1.0]))
    return Batch(column.batch(range(len(bags))), LabelTarget(torch.tensor(labels)))


def model(pool: str, shape: tuple[int, ...] = (5,)) -> Model:
    torch.manual_seed(0)
    return Model(Config(pool=pool, hidden_sizes=(7, 6), attention_size=4), shape, 2).eval()  # type: ignore[arg-type]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_one_bag_alone_is_the_same_as_in_a_batch(pool: str, shape: tuple[int, ...]) -> None:
    made = model(pool, shape)
    together = made.logits(batch(shape).input)
    for i in range(len(SIZES)):
        torch.testing.assert_close(made.logits(batch(shape, (i,)).input)[0], together[i], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pool", POOLS)
def test_its_loss_reaches_every_parameter(pool: str) -> None:
    made = model(pool)
    for name, grad in gradients(made, made(batch()).loss).items():
        assert grad.isfinite().all(), name
        assert grad.abs().sum() > 0, name


@pytest.mark.parametrize("pool", POOLS)
def test_the_order_of_a_bag_does_not_matter(pool: str) -> None:
    made, dice = model(pool), np.random.default_rng(1)
    expected = made.logits(batch().input)
    for _ in range(5):
        mixed = [Bag(dice.permutation(bag.items)) for bag in bags()]
        torch.testing.assert_close(made.logits(joined(mixed, [0, 1, 0, 1]).input), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pool", ["attention", "gated"])
def test_weights_are_shares_of_a_bag(pool: str) -> None:
    made = model(pool)
    weights = weights_of(made, batch())["instances"].detach()
    assert weights.shape == (sum(SIZES),)
    assert (weights > 0).all()
    for part in weights.split(SIZES):
        assert float(part.sum()) == pytest.approx(1, abs=1e-6)
    # An instance that comes twice has half the weight.
    doubled = joined([Bag(np.repeat(bag.items, 2, 0)) for bag in bags()], [0] * 4)
    torch.testing.assert_close(weights_of(made, doubled)["instances"][::2] * 2, weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(made.logits(doubled.input), made.logits(batch().input), atol=1e-5, rtol=1e-5)


def test_pools_that_weigh_nothing_do_not_look() -> None:
    assert weights_of(model("mean"), batch()) == {}
    assert weights_of(model("max"), batch()) == {}


@pytest.mark.parametrize("pool", ["mean", "max"])
def test_the_controls_are_what_their_names_say(pool: str) -> None:
    made, expected = model(pool), []
    for bag in bags():
        read = made.reader(torch.from_numpy(bag.items))
        expected.append(made.output(read.mean(0) if pool == "mean" else read.amax(0)))
    torch.testing.assert_close(made.logits(batch().input), torch.stack(expected), atol=1e-5, rtol=1e-5)


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
