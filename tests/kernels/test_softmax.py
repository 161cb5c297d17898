"""The cross-entropy kernel equals its definition and torch's, and never hides a number that is not finite."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from saccade.errors import ShapeError
from saccade.kernels.softmax import cross_entropy_, cross_entropy_definition, log_totals


@given(st.integers(1, 40), st.sampled_from([1, 2, 15, 700]), st.sampled_from([0.1, 3.0, 40.0]), st.sampled_from([0.0, 0.1]))
def test_kernel_is_its_definition(rows: int, size: int, spread: float, smoothing: float) -> None:
    logits, bias = spread * torch.randn(rows, size), torch.randn(size)
    target = torch.randint(0, size, (rows,))
    exact = logits.double()
    expected = cross_entropy_definition(exact, bias.double(), target, smoothing)
    found = cross_entropy_(logits, bias, target, smoothing)
    torch.testing.assert_close(found.double(), expected, atol=1e-5 * max(1.0, spread), rtol=1e-5)
    torch.testing.assert_close(logits.double(), exact, atol=1e-5, rtol=0)


def test_definition_is_that_of_torch() -> None:
    logits, bias = torch.randn(9, 30, dtype=torch.float64), torch.randn(30, dtype=torch.float64)
    target = torch.randint(0, 30, (9,))
    leaf = (logits + bias).requires_grad_()
    losses = F.cross_entropy(leaf, target, reduction="none", label_smoothing=0.2)
    (gradient,) = torch.autograd.grad(losses.sum(), leaf)
    torch.testing.assert_close(cross_entropy_definition(logits, bias, target, 0.2), losses.detach())
    torch.testing.assert_close(logits, gradient)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_shows(bad: float) -> None:
    logits = torch.randn(5, 64)
    logits[2, 7] = bad
    losses = cross_entropy_(logits, torch.zeros(64), torch.randint(0, 64, (5,)), 0.0)
    assert losses.isfinite().tolist() == [True, True, False, True, True]
    assert not logits[2].isfinite().any()
    assert logits[[0, 1, 3, 4]].isfinite().all()


def test_no_denormal_numbers() -> None:
    """They would slow every product with the gradient."""
    logits = 1000 * torch.randn(20, 300)
    cross_entropy_(logits, torch.zeros(300), torch.zeros(20, dtype=torch.int64), 0.0)
    assert ((logits == 0) | (logits.abs() > torch.finfo(torch.float32).tiny)).all()


@pytest.mark.parametrize("wrong", [-100, -1, 5, 2**40])
def test_targets_outside_are_refused_and_nothing_is_written(wrong: int) -> None:
    logits = torch.zeros(3, 5)
    with pytest.raises(ShapeError, match=f"expected 0 … 4, got {wrong}"):
        cross_entropy_(logits, torch.zeros(5), torch.tensor([0, wrong, 1]), 0.0)
    assert logits.abs().sum() == 0


@pytest.mark.parametrize(("targets", "classes"), [(2, 5), (4, 5), (3, 4), (3, 6)])
def test_as_many_targets_as_rows_and_as_wide_a_bias(targets: int, classes: int) -> None:
    with pytest.raises(ShapeError, match=r"expected .* got"):
        cross_entropy_(torch.zeros(3, 5), torch.zeros(classes), torch.zeros(targets, dtype=torch.long), 0.0)


@pytest.mark.parametrize("size", [1, 2, 5, 1024, 1025, 5003])
@pytest.mark.parametrize("spread", [0.1, 10.0, 1000.0])
def test_log_totals(size: int, spread: float) -> None:
    logits = spread * torch.randn(3, 7, size)
    logits[0, 0, 0], logits[1, 1, 0] = -1e9, -math.inf
    wanted = torch.logsumexp(logits.double(), -1)
    found, kept = log_totals(logits).double(), wanted.isfinite()
    torch.testing.assert_close(found[kept], wanted[kept], rtol=1e-6, atol=2e-6)
    assert kept.sum() >= 20
    assert not found[~kept].isfinite().any()


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 20, 1500])
def test_log_totals_tell_what_is_not_a_number(wrong: float, place: int) -> None:
    logits = torch.randn(3, 2000)
    logits[1, place] = wrong
    found = log_totals(logits)
    assert not found[1].isfinite()
    torch.testing.assert_close(found[[0, 2]], torch.logsumexp(logits[[0, 2]], -1))
