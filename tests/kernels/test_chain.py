"""Marginals of a linear chain of yes and no: by enumeration, by the gradient of log Z, and kernel against definition."""

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.chain import chain_marginals, marginals_definition
from saccade.kernels.runtime import kernels_on


def log_partition(scores: Tensor, transitions: Tensor) -> Tensor:
    """log Σ over all chains of those members that are there, one after the other."""
    own = scores[scores > -torch.inf]
    sums = []
    for states in product((0, 1), repeat=len(own)):
        pairs = [transitions[one, other] for one, other in pairwise(states)]
        sums.append((own * own.new_tensor(states)).sum() + sum(pairs))
    return torch.stack(sums).logsumexp(0)


@pytest.mark.parametrize("form", [chain_marginals, marginals_definition])
@pytest.mark.parametrize("count", range(1, 9))
def test_marginals_are_the_gradient_of_log_z_by_enumeration(form: object, count: int) -> None:
    torch.manual_seed(count)
    scores = (2 * torch.randn(count, dtype=torch.float64)).requires_grad_()
    transitions = torch.randn(2, 2, dtype=torch.float64)
    (expected,) = torch.autograd.grad(log_partition(scores, transitions), scores)
    assert callable(form)
    torch.testing.assert_close(form(scores, transitions), expected, atol=1e-12, rtol=1e-12)


def test_members_that_are_not_there_are_passed_over() -> None:
    scores, transitions = torch.randn(2, 6, dtype=torch.float64), torch.randn(2, 2, dtype=torch.float64)
    there = torch.tensor([False, True, True, False, True, False])
    holed = scores.masked_fill(~there, -torch.inf)
    found = chain_marginals(holed, transitions)
    torch.testing.assert_close(found[:, there], chain_marginals(scores[:, there], transitions))
    assert (found[:, ~there] == 0).all()
    torch.testing.assert_close(marginals_definition(holed, transitions), found)


def test_chains_that_begin_inside_a_row_are_chains_of_their_own() -> None:
    scores, transitions = torch.randn(3, 7), torch.randn(2, 2)
    starts = torch.tensor([True, False, False, True, True, False, False])
    alone = torch.cat([chain_marginals(scores[:, part], transitions) for part in (slice(3), slice(3, 4), slice(4, 7))], -1)
    torch.testing.assert_close(chain_marginals(scores, transitions, starts), alone)
    torch.testing.assert_close(marginals_definition(scores, transitions, starts), alone)


@pytest.mark.parametrize("starting", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rows", "count"), [(1, 2), (5, 3), (40, 23)])
def test_the_kernel_is_the_definition(rows: int, count: int, dtype: torch.dtype, starting: bool) -> None:
    torch.manual_seed(rows)
    scores = (3 * torch.randn(rows, count, dtype=dtype)).masked_fill(torch.rand(rows, count) < 0.2, -torch.inf)
    scores, transitions = scores.requires_grad_(), torch.randn(2, 2, dtype=dtype, requires_grad=True)
    starts = (torch.rand(count) < 0.3) if starting else None
    if not kernels_on(scores, dtype=dtype):
        pytest.skip("no kernels here")
    close = {torch.float32: 1e-5, torch.float64: 1e-11}[dtype]
    pull = torch.randn(rows, count, dtype=dtype)
    found, expected = (form(scores, transitions, starts) for form in (chain_marginals, marginals_definition))
    torch.testing.assert_close(found, expected, atol=close, rtol=close)
    for one, other in zip(
        *(torch.autograd.grad(marginals, (scores, transitions), pull) for marginals in (found, expected)), strict=True
    ):
        torch.testing.assert_close(one, other, atol=20 * close, rtol=20 * close)


def test_gradients_are_derivatives_twice() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    transitions = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(chain_marginals, (scores, transitions))
    assert torch.autograd.gradgradcheck(chain_marginals, (scores, transitions))


@pytest.mark.parametrize("loud", [1.0, 50.0, 1e4])
def test_long_chains_of_any_loudness_are_safe_in_float32(loud: float) -> None:
    torch.manual_seed(1)
    scores, transitions = loud * torch.randn(4, 200), 3 * torch.randn(2, 2)
    exact = marginals_definition(scores.double(), transitions.double())
    for form in (chain_marginals, marginals_definition):
        given = scores.clone().requires_grad_()
        found = form(given, transitions)
        torch.testing.assert_close(found.double(), exact, atol=2e-5 * min(loud, 50), rtol=1e-4)
        found.sum().backward()
        assert given.grad is not None
        assert given.grad.isfinite().all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("count", [9, 40, 200])
def test_it_is_what_torch_struct_computes(count: int) -> None:
    import torch_struct

    torch.manual_seed(count)
    scores, transitions = torch.randn(3, count), torch.randn(2, 2)
    potentials = transitions.t().expand(3, count - 1, 2, 2).clone()  # of the later member, of the earlier one
    potentials[:, :, 1] += scores[:, 1:, None]
    potentials[:, 0, :, 1] += scores[:, :1]
    pairs = torch_struct.LinearChainCRF(potentials).marginals
    expected = torch.cat((pairs[:, :1, :, 1].sum(-1), pairs[:, :, 1].sum(-1)), 1)
    torch.testing.assert_close(chain_marginals(scores, transitions), expected, atol=1e-5, rtol=1e-5)


def test_transitions_of_another_shape_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected 2 × 2 numbers, from no and yes to both, got \(3, 3\)"):
        chain_marginals(torch.zeros(4), torch.zeros(3, 3))
