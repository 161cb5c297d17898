"""Products with weights laid out in panels: equal to plain products, alone as in a batch, and what 8 bits cost."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.packed_weights import (
    ACTIVATIONS,
    PackedWeight,
    byte_steps,
    laid_out,
    nibble_steps,
    rounded,
    rounded_in_groups,
    times,
)
from saccade.kernels.runtime import kernels_on

MAKERS = [laid_out, rounded, rounded_in_groups]
SHAPES = [
    (1, 1, 1),
    (1, 512, 40),
    (2, 3, 16),
    (5, 7, 17),
    (6, 64, 15),
    (13, 33, 100),
    (64, 512, 96),
    (301, 200, 33),
    (9, 70, 97),
]

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
        found = times(x, laid_out(weight, bias)), times(x, laid_out(weight, None)), times(x, laid_out(weight, bias), "relu")
    finally:
        torch.set_num_threads(before)
    exact = F.linear(x.double(), weight.double(), bias.double())
    tolerance = 1e-6 * (x.abs().double() @ weight.abs().double().t()).amax() + 1e-6
    for ours, wanted in zip(found, (exact, exact - bias.double(), exact.clamp_min(0)), strict=True):
        assert (ours.double() - wanted).abs().amax() <= tolerance


@pytest.mark.parametrize("make", MAKERS)
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


def steps_of(weight: Tensor, make: Callable[..., PackedWeight]) -> Tensor:
    """What the rounded weights stand for, in plain torch."""
    if make is rounded:
        whole, scales = byte_steps(weight)
        return torch.mul(whole, scales[:, None])
    whole, scales = nibble_steps(weight)
    steps: Tensor = (whole.unflatten(1, (scales.shape[1], -1)) * scales[..., None]).flatten(1)
    return steps[:, : weight.shape[1]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [rounded, rounded_in_groups])
def test_rounded_weights_are_what_their_definition_says(
    shape: tuple[int, int, int], make: Callable[..., PackedWeight]
) -> None:
    x, weight, bias = made(*shape)
    found, nearest = times(x, make(weight, bias)), steps_of(weight, make)
    exact = F.linear(x.double(), nearest.double(), bias.double())
    # What is left is the rounding of x to 13 bits: half a step of 1/8191 of its largest number, for each product.
    bound = x.abs().amax(1, keepdim=True) / 8191 / 2 * nearest.abs().sum(1) + 1e-4
    assert ((found - exact).abs() <= bound).all()


def test_each_size_from_1_up() -> None:
    for inner in [*range(1, 70), 95, 96, 97]:
        x, weight, bias = made(inner % 11 + 1, inner, inner)
        for make in MAKERS:
            nearest = weight if make is laid_out else steps_of(weight, make)
            wanted = F.linear(x, nearest, bias)
            assert torch.allclose(times(x, make(weight, bias)), wanted, atol=2e-2, rtol=1e-3), (inner, make)


def test_rounded_weights_are_at_most_half_a_step_off() -> None:
    weight = torch.randn(40, 100)
    groups = F.pad(weight, (0, 28)).unflatten(1, (4, 32)).abs().amax(2)
    assert ((steps_of(weight, rounded) - weight).abs() <= weight.abs().amax(1, keepdim=True) / 253).all()
    off = F.pad((steps_of(weight, rounded_in_groups) - weight).abs(), (0, 28)).unflatten(1, (4, 32))
    assert (off <= groups[..., None] / 13.99).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("make", MAKERS)
def test_an_activation_on_the_way(activation: str, make: Callable[..., PackedWeight]) -> None:
    x, weight, bias = made(7, 40, 131)
    weight[:5] *= 30  # far from zero, too
    panels = make(weight, bias)
    plain = times(x, panels)
    wanted = {
        "none": plain,
        "relu": plain.relu(),
        "gelu": F.gelu(plain),
        "gelu_tanh": F.gelu(plain, approximate="tanh"),
        "swish": F.silu(plain),
    }
    assert torch.allclose(times(x, panels, activation), wanted[activation], rtol=2e-6, atol=5e-6)


def test_rounded_sums_do_not_overflow() -> None:
    inner = 9000
    x, weight = torch.ones(2, inner), torch.ones(17, inner)
    x[1] = -1
    found = times(x, rounded(weight, None))
    assert torch.allclose(found, torch.tensor([[float(inner)], [-float(inner)]]).expand(2, 17), rtol=1e-3)


def test_zeros_stay_zeros() -> None:
    weight = torch.zeros(5, 8)
    for make in MAKERS:
        assert torch.equal(times(torch.randn(3, 8), make(weight, None)), torch.zeros(3, 5))
        assert torch.equal(times(torch.zeros(3, 8), make(torch.randn(5, 8), None)), torch.zeros(3, 5))


def test_nothing_to_multiply() -> None:
    assert times(torch.randn(0, 8), laid_out(torch.randn(5, 8), None)).shape == (0, 5)
    bias = torch.randn(5)
    assert torch.equal(times(torch.randn(3, 0), laid_out(torch.randn(5, 0), bias)), bias.expand(3, 5))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_not_a_number_stays_in_its_row(make: Callable[[Tensor, Tensor], PackedWeight], wrong: float) -> None:
    x, weight, bias = made(9, 12, 20)
    weight.abs_()
    x[4, 3], x[4, 4] = wrong, -wrong
    found = times(x, make(weight, bias), "relu")
    assert found[4].isnan().all()
    assert found[[0, 1, 2, 3, 5, 6, 7, 8]].isfinite().all()
