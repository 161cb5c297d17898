"""Products with weights laid out in panels: equal to plain products, alone as in a batch, and what 8 bits cost."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.packed_weights import PackedWeight, laid_out, rounded, times
from saccade.kernels.runtime import kernels_on
from saccade.kernels.softmax import log_softmax_

SHAPES = [(1, 1, 1), (1, 512, 40), (2, 3, 16), (5, 7, 17), (6, 64, 15), (13, 33, 100), (64, 512, 96), (301, 200, 33)]

pytestmark = pytest.mark.skipif(not kernels_on(), reason="kernels are off")


def made(rows: int, inner: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(rows, inner), torch.randn(width, inner), torch.randn(width)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_equals_a_plain_product(shape: tuple[int, int, int], threads: int) -> None:
    x, weight, bias = made(*shape)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = times(x, laid_out(weight, bias)), times(x, laid_out(weight, None)), times(x, laid_out(weight, bias), 0.0)
    finally:
        torch.set_num_threads(before)
    exact = F.linear(x.double(), weight.double(), bias.double())
    tolerance = 1e-6 * (x.abs().double() @ weight.abs().double().t()).amax() + 1e-6
    for ours, wanted in zip(found, (exact, exact - bias.double(), exact.clamp_min(0)), strict=True):
        assert (ours.double() - wanted).abs().amax() <= tolerance


@pytest.mark.parametrize("make", [laid_out, rounded])
def test_a_row_alone_is_the_row_in_a_batch_bit_for_bit(make: Callable[[Tensor, Tensor], PackedWeight]) -> None:
    x, weight, bias = made(23, 77, 50)
    panels = make(weight, bias)
    whole = times(x, panels)
    for count in (1, 2, 3, 5, 6, 7, 11):
        assert torch.equal(times(x[:count], panels), whole[:count])
        assert torch.equal(times(x[-count:], panels), whole[-count:])


def test_rows_may_stand_apart_and_in_more_dimensions() -> None:
    x, weight, bias = made(24, 20, 30)
    panels = laid_out(weight, bias)
    wanted = times(x, panels)
    wide = torch.zeros(24, 50)
    wide[:, 10:30] = x
    assert torch.equal(times(wide[:, 10:30], panels), wanted)
    assert torch.equal(times(x.t().contiguous().t(), panels), wanted)
    assert torch.equal(times(x.view(2, 3, 4, 20), panels), wanted.view(2, 3, 4, 30))


@pytest.mark.parametrize("shape", SHAPES)
def test_rounded_weights_are_as_near_as_their_steps(shape: tuple[int, int, int]) -> None:
    x, weight, bias = made(*shape)
    found = times(x, rounded(weight, bias))
    step = weight.abs().amax(1) / 127
    nearest = (weight / step[:, None]).round() * step[:, None]
    exact = F.linear(x.double(), nearest.double(), bias.double())
    # What is left is the rounding of x to 13 bits: half a step of 1/8191 of its largest number, for each product.
    bound = x.abs().amax(1, keepdim=True) / 8191 / 2 * nearest.abs().sum(1) + 1e-4
    assert ((found - exact).abs() <= bound).all()


def test_rounded_sums_do_not_overflow() -> None:
    inner = 9000
    x, weight = torch.ones(2, inner), torch.ones(17, inner)
    x[1] = -1
    found = times(x, rounded(weight, None))
    assert torch.allclose(found, torch.tensor([[float(inner)], [-float(inner)]]).expand(2, 17), rtol=1e-3)


def test_zeros_stay_zeros() -> None:
    weight = torch.zeros(5, 8)
    for make in (laid_out, rounded):
        assert torch.equal(times(torch.randn(3, 8), make(weight, None)), torch.zeros(3, 5))
        assert torch.equal(times(torch.zeros(3, 8), make(torch.randn(5, 8), None)), torch.zeros(3, 5))


def test_nothing_to_multiply() -> None:
    assert times(torch.randn(0, 8), laid_out(torch.randn(5, 8), None)).shape == (0, 5)
    bias = torch.randn(5)
    assert torch.equal(times(torch.randn(3, 0), laid_out(torch.randn(5, 0), bias)), bias.expand(3, 5))


@pytest.mark.parametrize("make", [laid_out, rounded])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_not_a_number_stays_in_its_row(make: Callable[[Tensor, Tensor], PackedWeight], wrong: float) -> None:
    x, weight, bias = made(9, 12, 20)
    weight.abs_()
    x[4, 3], x[4, 4] = wrong, -wrong
    found = times(x, make(weight, bias), 0.0)
    assert found[4].isnan().all()
    assert found[[0, 1, 2, 3, 5, 6, 7, 8]].isfinite().all()


@pytest.mark.parametrize("size", [1, 5, 1024, 1025, 5003])
def test_log_softmax(size: int) -> None:
    logits = 10 * torch.randn(3, 7, size)
    logits[0, 0, 0] = -1e9
    wanted = torch.log_softmax(logits.double(), -1)
    assert torch.allclose(log_softmax_(logits.clone()).double(), wanted, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_log_softmax_tells_what_is_not_a_number(wrong: float) -> None:
    logits = torch.randn(3, 50)
    logits[1, 20] = wrong
    found = log_softmax_(logits)
    assert found[1].isnan().all()
    assert found[[0, 2]].isfinite().all()


def test_log_softmax_knows_what_cannot_be() -> None:
    logits = torch.randn(2, 50)
    logits[0, 20] = -math.inf
    wanted = torch.log_softmax(logits, -1)
    found = log_softmax_(logits.clone())
    assert found[0, 20] == -math.inf
    assert torch.allclose(found[1], wanted[1], atol=1e-5)
