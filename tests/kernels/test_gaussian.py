"""Gaussian pooling equals its definition, forward and backward, in float32 and float64."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from saccade.attention import Gaussian, attend, others
from saccade.kernels.gaussian import gaussian_on, gaussian_pool, pool_definition

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13}


def _inputs(
    batch: int, queries: int, keys: int, width: int, values: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    def numbers(*size: int) -> Tensor:
        return torch.randn(size, dtype=dtype, requires_grad=True)

    return numbers(batch, queries, width), numbers(batch, keys, width), numbers(batch, keys, values)


@given(
    st.sampled_from([(1, 1, 1, 1, 1), (2, 3, 5, 4, 2), (1, 40, 1030, 1, 1), (2, 33, 33, 7, 3), (1, 9, 2, 16, 1)]),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_kernel_is_its_definition(size: tuple[int, int, int, int, int], alone: bool, dtype: torch.dtype) -> None:
    batch, queries, keys, width, values = size
    alone = alone and queries <= keys
    inputs = _inputs(batch, queries, keys, width, values, dtype)
    query, key, value = (part.detach().double().requires_grad_() for part in inputs)
    exact = (query, key, value)
    found, expected = gaussian_pool(*inputs, alone), pool_definition(*exact, alone)
    pull = torch.randn_like(found)
    torch.testing.assert_close(found.double(), expected, atol=TOLERANCE[dtype], rtol=0)
    for one, other in zip(
        torch.autograd.grad(found, inputs, pull), torch.autograd.grad(expected, exact, pull.double()), strict=True
    ):
        torch.testing.assert_close(one.double(), other, atol=10 * TOLERANCE[dtype], rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_power_of_two(dtype: torch.dtype) -> None:
    import numba

    from saccade.kernels.loops import gaussian_loops

    raise_ = gaussian_loops._raise  # a part: only compiled code may call it
    powers = numba.njit(lambda scores, top: raise_(scores, top))
    exponents = torch.linspace(-125, 0, 5000, dtype=dtype)
    found = exponents.clone()
    powers(found.numpy(), np.float32(0))
    exact = exponents.double().exp2()
    torch.testing.assert_close(found.double(), exact, atol=0, rtol=2 * torch.finfo(dtype).eps)


def test_operator_takes_it_and_agrees_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = (part.detach() for part in _inputs(1, 50, 60, 3, 2, torch.float64))
    assert gaussian_on(query, key, value)
    found = attend(query, key, value, score=Gaussian(0.7), mask=others()).context
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    assert not gaussian_on(query, key, value)
    torch.testing.assert_close(attend(query, key, value, score=Gaussian(0.7), mask=others()).context, found)


def test_one_left_out_sees_nothing() -> None:
    query, key, value = _inputs(1, 1, 1, 2, 1, torch.float32)
    context = gaussian_pool(query, key, value, others=True)
    assert context.item() == 0
    assert all((grad == 0).all() for grad in torch.autograd.grad(context.sum(), (query, key, value)))


def test_left_out_value_does_not_leak() -> None:
    """However large it is: a weight that is almost nothing would show."""
    query, key, value = (part.detach() for part in _inputs(1, 4, 4, 2, 1, torch.float32))
    found = gaussian_pool(query, key, value, others=True)
    value[0, 3] = 1e38
    assert gaussian_pool(query, key, value, others=True)[0, 3] == found[0, 3]


def test_far_from_all_others_the_nearest_of_them_counts() -> None:
    """Its own score, which is the largest there could be, must not be what the others are measured by."""
    place = torch.tensor([[[0.0], [100.0], [230.0], [900.0]]])
    value = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    assert gaussian_pool(place, place, value, others=True).flatten().tolist() == [2.0, 1.0, 2.0, 3.0]


def test_what_is_not_finite_shows() -> None:
    query, key, value = (part.detach() for part in _inputs(1, 4, 6, 2, 1, torch.float32))
    query[0, 1] = torch.nan
    assert attend(query, key, value, score="gaussian").context[0, :, 0].isnan().tolist() == [False, True, False, False]
