"""The lectures' worked numbers, and what they got wrong, in the corrected form."""

import math
from typing import Literal

import pytest
import torch

from saccade.attention import (
    Additive,
    Concat,
    Constant,
    Cosine,
    Dot,
    Gaussian,
    General,
    Location,
    Perceptron,
    ScaledDot,
    allow,
    attend,
    causal,
)
from saccade.errors import ShapeError
from saccade.layers import MultiHeadAttention
from saccade.layers.transformer_blocks import Residual


def test_worked_numbers() -> None:
    """q·k₁ = 112 and q·k₂ = 96, over √64: 14 and 12, softmax 0.8808 and 0.1192."""
    query = torch.zeros(1, 64)
    query[0, 0] = 1
    key = torch.zeros(2, 64)
    key[:, 0] = torch.tensor([112.0, 96.0])
    weights = attend(query, key, torch.eye(2)).weights()
    torch.testing.assert_close(weights, torch.tensor([[0.8808, 0.1192]]), atol=5e-5, rtol=0)


def test_weights_sum_to_one_not_zero() -> None:
    weights = attend(torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)).weights()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


def test_causal_keeps_the_past_and_the_printed_rule_leaks() -> None:
    """The lecture keeps a score if i ≤ j (query i, key j); that lets a position see only the future."""
    x = torch.randn(4, 3, dtype=torch.float64)
    changed = x.clone()
    changed[3] += 1
    printed = allow(torch.arange(4)[:, None] <= torch.arange(4))
    for mask, leaks in ((causal(), False), (printed, True)):
        before, after = (attend(y, y, y, mask=mask).context for y in (x, changed))
        assert torch.equal(before[:3], after[:3]) is not leaks


def test_scale_is_of_the_head_not_of_the_model() -> None:
    layer = MultiHeadAttention(8, 2)
    assert isinstance(layer.score, ScaledDot)
    assert layer.score.scale(torch.zeros(1, 4)) == 1 / math.sqrt(4)
    assert MultiHeadAttention(8, 2, score=ScaledDot(8**-0.5)).score.scale(torch.zeros(1, 4)) == 8**-0.5  # type: ignore[operator]


def test_six_heads_do_not_divide_512() -> None:
    with pytest.raises(ShapeError, match="width 512 and 6 heads"):
        MultiHeadAttention(512, 6)


def test_rows_are_multiplied_as_q_k_transposed() -> None:
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    expected = torch.softmax(query @ key.T / 2, -1) @ value
    torch.testing.assert_close(attend(query, key, value).context, expected)


def test_key_and_value_are_what_is_looked_at() -> None:
    """A single key leaves nothing to choose: its value comes back, whatever the query."""
    value = torch.randn(1, 2)
    assert torch.equal(attend(torch.randn(3, 4), torch.randn(1, 4), value).context, value.expand(3, 2))


@pytest.mark.parametrize("width", [16, 256])
def test_dot_products_grow_with_the_width(width: int) -> None:
    """E q·k = μ·μ and Var q·k = d σ⁴ + 2 σ² μ·μ, so s = √d keeps the spread of the scores at order 1."""
    torch.manual_seed(0)
    mean, sigma, count = 0.5, 0.7, 50_000
    query, key = mean + sigma * torch.randn(2, count, 1, width)
    products, scaled = (
        attend(query, key, key, score=score, normalize="none").weights().double() for score in ("dot", "scaled_dot")
    )
    variance = width * sigma**4 + 2 * sigma**2 * width * mean**2
    assert abs(products.mean() - width * mean**2) < 4 * math.sqrt(variance / count)
    assert abs(products.var() / variance - 1) < 0.05
    assert abs(scaled.var() / (variance / width) - 1) < 0.05


def test_unscaled_scores_saturate() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(200, 512), torch.randn(20, 512)
    sharp, soft = (attend(query, key, key, score=s).weights().amax(-1).mean() for s in ("dot", "scaled_dot"))
    assert sharp > 0.9 > 0.5 > soft


def test_additive_is_the_perceptron_with_its_maps_side_by_side() -> None:
    additive, perceptron = Additive(3, 4, 5), Perceptron(3, 4, 5)
    with torch.no_grad():
        additive.weight.copy_(torch.cat((perceptron.query_map.weight, perceptron.key_map.weight), 1))
        additive.vector.copy_(perceptron.vector)
    inputs = torch.randn(2, 3), torch.randn(6, 4), torch.randn(6, 2)
    torch.testing.assert_close(attend(*inputs, score=additive).weights(), attend(*inputs, score=perceptron).weights())


def test_general_with_the_identity_is_dot() -> None:
    general = General(4, 4)
    with torch.no_grad():
        general.weight.copy_(torch.eye(4))
    inputs = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    torch.testing.assert_close(attend(*inputs, score=general).context, attend(*inputs, score=Dot()).context)


def test_general_is_its_formula() -> None:
    """s'W h, with rows of W for queries and columns for keys, also where they are as many."""
    for query_width, key_width in ((4, 3), (4, 4)):
        general = General(query_width, key_width)
        query, key = torch.randn(3, query_width), torch.randn(5, key_width)
        expected = torch.einsum("qd,de,ke->qk", query, general.weight, key).softmax(-1)
        torch.testing.assert_close(attend(query, key, key, score=general).weights(), expected)


def test_concat_does_not_depend_on_the_query() -> None:
    score = Concat(4, 3)
    weights = attend(torch.randn(6, 4), torch.randn(5, 3), torch.randn(5, 2), score=score).weights()
    torch.testing.assert_close(weights, weights[:1].expand(6, 5))


def test_cosine_is_blind_to_size_and_sharpened_by_beta() -> None:
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    plain = attend(query, key, value, score=Cosine()).weights()
    torch.testing.assert_close(attend(query, key * 7, value, score=Cosine()).weights(), plain)
    dull, sharp = (attend(query, key, value, score=Cosine(beta)).entropy() for beta in (1.0, 20.0))
    assert (sharp < dull).all()
    extremes = torch.tensor([[0.0] * 4, [1e-30] * 4, [1e30] * 4], requires_grad=True)
    context = attend(extremes, key, value, score=Cosine()).context
    context.sum().backward()
    assert context.isfinite().all()
    assert extremes.grad is not None
    assert (extremes.grad[0] == 0).all()


def test_location_looks_at_places_and_knows_how_many() -> None:
    score = Location(4, places=5)
    query = torch.randn(3, 4)
    one, other = (attend(query, torch.randn(5, 4), torch.randn(5, 2), score=score).weights() for _ in range(2))
    assert torch.equal(one, other)
    with pytest.raises(ShapeError, match="5 places, got 6 keys"):
        attend(query, torch.randn(6, 4), torch.randn(6, 2), score=score)


def test_nadaraya_watson_is_softmax_attention() -> None:
    x, y, query = torch.rand(50, 1) * 5, torch.randn(50, 1), torch.rand(20, 1) * 5
    weights = torch.softmax(-((query - x.T) ** 2) / (2 * 0.3**2), -1)
    attended = attend(query, x, y, score=Gaussian(0.3))
    torch.testing.assert_close(attended.context, weights @ y, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(attended.weights(), weights, atol=1e-6, rtol=1e-5)


def test_constant_kernel_is_the_mean() -> None:
    y = torch.randn(50, 1)
    context = attend(torch.randn(3, 1), torch.randn(50, 1), y, score=Constant()).context
    torch.testing.assert_close(context, y.mean().expand(3, 1), atol=1e-6, rtol=1e-6)


def test_raw_and_normalized_kernels() -> None:
    x, y, query = torch.rand(9, 1), torch.randn(9, 1), torch.rand(4, 1)
    raw = torch.exp(-((query - x.T) ** 2) / 2)
    torch.testing.assert_close(attend(query, x, y, score=Gaussian(), normalize="none").weights(), raw)
    torch.testing.assert_close(
        attend(query, x, y, score=Gaussian(), normalize="kernel").weights(), raw / raw.sum(-1, keepdim=True)
    )


def test_a_query_far_from_all_data_takes_the_nearest() -> None:
    x, y = torch.tensor([[0.0], [1.0]]), torch.tensor([[3.0], [5.0]])
    far = torch.tensor([[1e4]])
    assert attend(far, x, y, score=Gaussian(0.1)).context.item() == pytest.approx(5)
    assert attend(far, x, y, score="boxcar").context.item() == 0


def test_bandwidth_is_learned_by_gradient() -> None:
    bandwidth = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    score = Gaussian(bandwidth)
    assert list(score.parameters()) == [bandwidth]
    data = torch.randn(8, 2, dtype=torch.float64)
    attend(data, data, data, score=score, mask=causal()).context.sum().backward()
    assert bandwidth.grad is not None
    assert (bandwidth.grad != 0).all()


@pytest.mark.parametrize("place", ["post", "pre"])
def test_layer_norm_divides_by_the_width(place: Literal["post", "pre"]) -> None:
    """The printed σ lacks 1/D and ε: taken literally, the result is too small by √D."""
    layer = Residual(64, 0.0, place).double()
    vector = torch.randn(64, dtype=torch.float64)
    found = layer.enter(vector) if place == "pre" else layer.leave(vector, torch.zeros_like(vector))
    centered = vector - vector.mean()
    torch.testing.assert_close(found, centered / (centered.square().mean() + 1e-5).sqrt())
    printed = centered / centered.square().sum().sqrt()
    torch.testing.assert_close(found, 8 * printed, atol=1e-4, rtol=1e-4)


def test_soft_attention_is_the_mean_of_hard_attention() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 4), torch.randn(5, 4), torch.randn(5, 2)
    draws = attend(query.expand(40_000, 4), key, value, normalize="hard")
    assert ((draws.weights() == 0) | (draws.weights() == 1)).all()
    soft = attend(query, key, value)
    torch.testing.assert_close(draws.weights().mean(0, keepdim=True), soft.weights(), atol=0.01, rtol=0)
    torch.testing.assert_close(draws.context.mean(0, keepdim=True), soft.context, atol=0.03, rtol=0)
