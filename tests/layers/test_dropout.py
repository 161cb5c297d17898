"""Dropout of numbers and of words: so many as asked for, in training only, up to all of them; no other chance is taken."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import Additive, attend, attend_edges
from saccade.errors import ShapeError
from saccade.layers import MultiHeadAttention
from saccade.layers.convolution import Convolution
from saccade.layers.dropout import Dropout, WordDropout
from saccade.layers.feed_forward import FeedForward
from saccade.layers.gat_conv import GATConv, drop_features
from saccade.layers.recurrent import RecurrentReader, Stack
from saccade.layers.transformer_blocks import Residual

WORDS = torch.arange(4, 10_004).view(100, 100)
ROWS = torch.ones(4, 4)


def test_so_many_words_are_read_as_unknown() -> None:
    torch.manual_seed(0)
    read = WordDropout(0.2, 3).train()(WORDS)
    changed = read != WORDS
    assert (read[changed] == 3).all()
    assert 0.18 < changed.float().mean().item() < 0.22


def test_none_is_when_it_counts_or_none_is_asked_for() -> None:
    assert torch.equal(WordDropout(0.5, 3).eval()(WORDS), WORDS)
    assert torch.equal(WordDropout(0.0, 3).train()(WORDS), WORDS)


def test_all_words_may_be_unknown() -> None:
    assert WordDropout(1.0, 3).train()(WORDS).eq(3).all()


def test_words_elsewhere_are_struck_out_there() -> None:
    assert WordDropout(0.5, 3).train()(WORDS.to("meta")).device.type == "meta"


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_numbers_are_struck_out_and_the_others_scaled_up(chance: float) -> None:
    x = torch.randn(300, 301).requires_grad_()
    found = Dropout(chance).train()(x)
    kept = found != 0
    assert kept.double().mean().item() == pytest.approx(1 - chance, abs=0.01)
    torch.testing.assert_close(found, x * kept / (1 - chance))
    (grad,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(grad, kept / (1 - chance))
    assert torch.equal(Dropout(chance).eval()(x), x)


MADE: dict[str, Callable[[float], object]] = {
    "Dropout": Dropout,
    "WordDropout": lambda chance: WordDropout(chance, 3),
    "FeedForward": lambda chance: FeedForward(4, 8, dropout=chance),
    "Residual": lambda chance: Residual(4, chance, "post"),
    "Convolution": lambda chance: Convolution(4, 2, 3, dropout=chance),
    "MultiHeadAttention": lambda chance: MultiHeadAttention(4, 2, dropout=chance),
    "GATConv": lambda chance: GATConv(4, 2, dropout=chance),
    "GATConv values": lambda chance: GATConv(4, 2, value_dropout=chance),
    "RecurrentReader": lambda chance: RecurrentReader(4, 3, dropout=chance),
    "Stack": lambda chance: Stack(4, 3, cell="gru", layers=2, dropout=chance),
    "drop_features": lambda chance: drop_features(ROWS, chance),
    "drop_features, sparse": lambda chance: drop_features(ROWS.to_sparse(), chance),
    "attend": lambda chance: attend(ROWS, ROWS, ROWS, dropout=chance),
    "attend_edges": lambda chance: attend_edges(ROWS, ROWS, ROWS, torch.zeros(2, 1, dtype=torch.int64), dropout=chance),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("chance", [-0.1, 1.0001, 2.0, float("nan"), float("inf")])
def test_what_is_no_probability_is_refused_in_one_line(name: str, chance: float) -> None:
    with pytest.raises(ShapeError, match="dropout must be a probability from 0 to 1, got") as told:
        MADE[name](chance)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_all_and_nothing_are_probabilities(name: str, chance: float) -> None:
    MADE[name](chance)


def _edges(x: Tensor, chance: float) -> Tensor:
    return attend_edges(x, x, x, torch.arange(len(x)).expand(2, -1), dropout=chance).context


# Every way by which numbers are struck out, but the kernel of heads: (N, 4) -> (N, 4).
WAYS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "Dropout": lambda x, chance: Dropout(chance).train()(x),
    "plain": lambda x, chance: attend(x[:, None], x[:, None], x[:, None], dropout=chance).context[:, 0],
    "explicit": lambda x, chance: attend(x, x, x, score=Additive(4, 4), dropout=chance).context,
    "long": lambda x, chance: attend(x, x, x, dropout=chance).context,
    "edges": _edges,
    "features": drop_features,
}


@pytest.mark.parametrize("name", WAYS)
def test_struck_out_altogether_it_is_zeros_and_zero_gradients(name: str) -> None:
    x = torch.randn(300, 4).requires_grad_()
    found = WAYS[name](x, 1.0)
    assert found.eq(0).all()
    found.sum().backward()
    assert x.grad is not None
    assert x.grad.eq(0).all()


def test_no_neighbor_is_left_of_a_convolution() -> None:
    layer, x = Convolution(4, 2, 3, dropout=1.0).train(), torch.randn(2, 5, 4).requires_grad_()
    found = layer(x, None)
    assert torch.equal(found, layer.out.bias.expand(2, 5, 4))
    found.sum().backward()
    assert x.grad is not None
    assert x.grad.eq(0).all()


@pytest.mark.parametrize(
    "kind", [lambda: FeedForward(4, 8, dropout=1.0).train(), lambda: MultiHeadAttention(4, 2, dropout=1.0)]
)
def test_a_layer_of_which_all_is_struck_out_gives_its_bias(kind: Callable[[], nn.Module]) -> None:
    layer, x = kind().train().double(), torch.randn(2, 5, 4, dtype=torch.float64).requires_grad_()
    out = layer.out if isinstance(layer, FeedForward) else layer.output_map
    assert isinstance(out, nn.Linear)
    found = layer(x)
    torch.testing.assert_close(found, out.bias.expand(2, 5, 4))
    found.sum().backward()
    assert x.grad is not None
    assert x.grad.eq(0).all()


@pytest.mark.parametrize("name", WAYS)
def test_near_one_almost_all_is_struck_out_and_the_mean_stays(name: str) -> None:
    """Nothing is kept by a chance that was rounded up to more than there are, and what is kept counts for all."""
    x = torch.ones(300, 4)
    for chance in (0.99999, 0.999999, 1 - 1e-9):
        found = WAYS[name](x, chance)
        assert found.isfinite().all()
        assert found.eq(0).double().mean().item() > 0.95
    means = [WAYS[name](x, 0.99).mean().item() for _ in range(60)]
    spread = (99 / (4 * 300 * 60)) ** 0.5  # where each number is kept by itself; where rows are, four times as much counts
    assert sum(means) / len(means) == pytest.approx(1, abs=10 * spread)
