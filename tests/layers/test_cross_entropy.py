"""Cross-entropy without logits is torch's cross-entropy of the logits, whatever the blocks."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from saccade.errors import ShapeError
from saccade.kernels.runtime import kernels_on
from saccade.layers import cross_entropy
from saccade.layers.cross_entropy import IGNORED, linear_cross_entropy
from saccade.layers.linear import Linear, at_rest, logits

Loss = Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]
smoothings = st.sampled_from([0.0, 0.1, 0.5, 0.99])


def plain(hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(F.linear(hidden, weight, bias), target, label_smoothing=smoothing, reduction="sum")


def made(N: int, D: int, V: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> list[Tensor]:
    """Hidden vectors, weight, bias and targets."""
    generator = torch.Generator().manual_seed(N + 7 * D + 31 * V)
    sizes = ((N, D), (V, D), (V,))
    floats = [scale * torch.randn(size, generator=generator, dtype=torch.float64).to(dtype) for size in sizes]
    return [*floats, torch.randint(V, (N,), generator=generator)]


def found(loss: Loss, tensors: list[Tensor], smoothing: float, pull: float = 1.0) -> list[Tensor]:
    """The loss and the gradients of everything that has one."""
    hidden, weight, bias = (tensor.detach().clone().requires_grad_() for tensor in tensors[:3])
    value = loss(hidden, weight, bias, tensors[3], smoothing)
    return [value.detach(), *torch.autograd.grad(value * pull, [hidden, weight, bias])]


def check(tensors: list[Tensor], smoothing: float, tolerance: float = 1e-5, pull: float = 1.0) -> None:
    exact = found(plain, [tensor.double() for tensor in tensors[:3]] + tensors[3:], smoothing, pull)
    for ours, theirs in zip(found(linear_cross_entropy, tensors, smoothing, pull), exact, strict=True):
        scale = float(theirs.abs().max()) if theirs.numel() else 1.0
        torch.testing.assert_close(ours.double(), theirs, atol=tolerance * max(1.0, scale), rtol=tolerance)


@given(st.integers(0, 9), st.integers(1, 8), st.integers(1, 12), smoothings, st.sampled_from([1, 5, 24, 1 << 23]))
def test_it_is_torchs_in_value_and_gradients(N: int, D: int, V: int, smoothing: float, numbers: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_entropy, "BLOCK_NUMBERS", numbers)
        check(made(N, D, V), smoothing)
        check(made(N, D, V, torch.float64), smoothing, 1e-10, pull=-2.5)


@pytest.mark.parametrize("by", ["torch", "oneDNN"])
def test_large_enough_for_many_real_blocks(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "BLOCK_NUMBERS", 1 << 14)
    monkeypatch.setattr(cross_entropy, "wide", lambda x, weight: by == "oneDNN" and x.dtype == torch.float32)
    check(made(700, 24, 513), 0.1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("distance", [50.0, 59.0, 61.0, 87.0, 103.0, 104.0, 500.0, 1e4, 1e30])
def test_a_target_of_no_probability_has_its_loss(distance: float, smoothing: float) -> None:
    """Its share underflows to a small number of few digits, or to 0; −log of it is the distance all the same."""
    hidden, weight = torch.eye(2), torch.zeros(3, 2)
    bias = torch.tensor([distance, 0.0, distance / 2])
    target = torch.tensor([1, 0])
    check([hidden, weight, bias, target], smoothing)
    if not smoothing:
        alone = linear_cross_entropy(hidden[:1], weight, bias, target[:1])
        assert float(alone) == pytest.approx(distance, rel=1e-6)


def test_zero_rows_give_zero_and_zero_gradients() -> None:
    for part in found(linear_cross_entropy, made(0, 3, 5), 0.1):
        assert part.eq(0).all()
    assert found(linear_cross_entropy, made(0, 3, 5), 0.1)[2].shape == (5, 3)


def test_one_class_costs_nothing() -> None:
    hidden, weight, bias, target = made(4, 3, 1)
    assert float(linear_cross_entropy(hidden, weight, bias, target)) == pytest.approx(0, abs=1e-6)


def test_only_what_is_learned_gets_a_gradient() -> None:
    hidden, weight, bias, target = made(3, 2, 4)
    linear_cross_entropy(hidden, weight, bias.requires_grad_(), target).backward()
    assert hidden.grad is weight.grad is None
    assert bias.grad is not None
    torch.testing.assert_close(bias.grad, F.softmax(F.linear(hidden, weight, bias), -1).sum(0) - F.one_hot(target, 4).sum(0))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_only_the_logits_are_computed(mode: Callable[[], torch.no_grad]) -> None:
    hidden, weight, bias, target = made(6, 4, 10)
    weight.requires_grad_()
    with mode(), FlopCounterMode(display=False) as count:
        value = linear_cross_entropy(hidden, weight, bias, target)
    assert count.get_total_flops() == 2 * 6 * 4 * 10
    assert float(value) == pytest.approx(float(plain(hidden, weight.detach(), bias, target, 0.0)), rel=1e-5)


def test_views_are_taken_as_they_are() -> None:
    hidden, weight, bias, target = made(6, 4, 10)
    turned = [hidden.t().contiguous().t(), torch.stack((weight, weight), -1)[..., 0], torch.stack((bias, bias), -1)[..., 0]]
    check([*turned, torch.stack((target, target), -1)[:, 0]], 0.1)


def test_inputs_are_left_alone() -> None:
    tensors = made(6, 4, 10)
    before = [tensor.clone() for tensor in tensors]
    found(linear_cross_entropy, tensors, 0.1)
    assert all(torch.equal(one, other) for one, other in zip(tensors, before, strict=True))


def test_a_second_backward_is_refused() -> None:
    """The gradients are given away with the first."""
    hidden, weight, bias, target = made(6, 4, 10)
    loss = linear_cross_entropy(hidden, weight.requires_grad_(), bias, target)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        loss.backward()


def test_nan_is_not_hidden() -> None:
    hidden, weight, bias, target = made(6, 4, 10)
    hidden[2, 1] = math.nan
    assert math.isnan(float(linear_cross_entropy(hidden, weight, bias, target)))


@pytest.mark.parametrize("ignored", [-100, 0, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_rows_that_do_not_count(ignored: int, smoothing: float) -> None:
    hidden, weight, bias, target = made(12, 5, 7, torch.float64)
    target[::3] = ignored
    spoiled = hidden.clone()
    spoiled[::3] = math.nan
    spoiled, weight, bias = ours = [part.clone().requires_grad_() for part in (spoiled, weight, bias)]
    theirs = [part.detach().clone().requires_grad_() for part in (hidden, weight, bias)]
    loss = linear_cross_entropy(spoiled, weight, bias, target, smoothing, ignored)
    settings = {"label_smoothing": smoothing, "ignore_index": ignored, "reduction": "sum"}
    expected = F.cross_entropy(F.linear(*theirs), target, **settings)  # type: ignore[arg-type]
    torch.testing.assert_close(loss, expected)
    for one, other in zip(torch.autograd.grad(loss, ours), torch.autograd.grad(expected, theirs), strict=True):
        torch.testing.assert_close(one, other)


def test_all_rows_may_be_ignored() -> None:
    hidden, weight, bias, target = made(4, 5, 7)
    hidden.requires_grad_()
    loss = linear_cross_entropy(hidden, weight, bias, torch.full_like(target, -100))
    assert float(loss.detach()) == 0
    assert torch.autograd.grad(loss, hidden)[0].abs().sum() == 0


@pytest.mark.parametrize("wrong", [-1, 7, 2**40, -(2**40)])
def test_a_target_outside_of_the_vocabulary_is_refused(wrong: int) -> None:
    hidden, weight, bias, target = made(9, 5, 7)
    target[4] = wrong
    with pytest.raises(ShapeError, match=f"expected 0 … 6, got {wrong}"):
        linear_cross_entropy(hidden, weight, bias, target)


@pytest.mark.parametrize("wrong", ["short", "long", "float", "bias", "narrow", "deep"])
def test_what_does_not_fit_is_refused_in_one_line(wrong: str) -> None:
    """Without the checks of shapes that tests run under."""
    hidden, weight, bias, target = made(9, 5, 7)
    parts = {
        "short": (hidden, weight, bias, target[:4]),
        "long": (hidden, weight, bias, torch.cat((target, target))),
        "float": (hidden, weight, bias, target.float()),
        "bias": (hidden, weight, bias[:3], target),
        "narrow": (hidden[:, :3], weight, bias, target),
        "deep": (hidden[None], weight, bias, target),
    }[wrong]
    with pytest.raises(ShapeError, match=r"expected .*got"):
        cross_entropy._check(*parts)


@pytest.mark.skipif(not kernels_on(), reason="kernels are off")
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_rounded_weights_at_rest_are_those_that_write(precision: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    output, hidden, target = Linear(24, 70), torch.randn(9, 24), torch.randint(0, 70, (9,))
    target[4] = IGNORED
    monkeypatch.setattr(cross_entropy, "BLOCK_NUMBERS", 280)  # blocks of four rows
    with torch.no_grad(), at_rest(precision):
        found = linear_cross_entropy(hidden, output.weight, output.bias, target, 0.1)
        wanted = F.cross_entropy(logits(hidden, output), target, reduction="sum", label_smoothing=0.1, ignore_index=IGNORED)
    torch.testing.assert_close(found, wanted)
    with torch.no_grad():
        assert not torch.equal(linear_cross_entropy(hidden, output.weight, output.bias, target, 0.1), found)
    with at_rest(precision):
        linear_cross_entropy(hidden, output.weight, output.bias, target, 0.1).backward()
    assert output.weight.grad is not None
