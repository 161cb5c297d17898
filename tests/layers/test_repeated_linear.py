"""A map that is used at every step of a loop has the gradients of plain autograd."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from saccade.layers.repeated_linear import RepeatedLinear


def leaves(B: int, D: int, T: int) -> list[Tensor]:
    """Start, recurrent weight, input weight, bias and inputs."""
    sizes = ((B, D), (D, D), (D, D), (D,), (T, B, D))
    generator = torch.Generator().manual_seed(B + 7 * D + 31 * T)
    return [torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_() for size in sizes]


def repeated_loop(start: Tensor, recurrent: Tensor, mixing: Tensor, bias: Tensor, inputs: Tensor) -> list[Tensor]:
    """A recurrent network with two maps, the one after the other in each step; states of all steps."""
    first, second = RepeatedLinear(recurrent), RepeatedLinear(mixing)
    state, states = second.begin(first.begin(start)), []
    for x in inputs.unbind():
        state = torch.tanh(second.map(torch.sin(first.map(state, x)), bias) + 0.5 * first.map(state))
        states.append(state)
    return states


def plain_loop(start: Tensor, recurrent: Tensor, mixing: Tensor, bias: Tensor, inputs: Tensor) -> list[Tensor]:
    state, states = start, []
    for x in inputs.unbind():
        state = torch.tanh(torch.sin(state @ recurrent.T + x) @ mixing.T + bias + 0.5 * state @ recurrent.T)
        states.append(state)
    return states


def assert_equal(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-8)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_two_maps_in_one_loop(B: int, D: int, T: int) -> None:
    given_leaves = leaves(B, D, T)
    found = []
    for loop in (repeated_loop, plain_loop):
        states = torch.stack(loop(*given_leaves))
        found.append([states, *torch.autograd.grad(states.pow(3).sum(), given_leaves)])
    assert_equal(*found)


def test_gradients_are_right_by_differences() -> None:
    assert torch.autograd.gradcheck(lambda *tensors: torch.stack(repeated_loop(*tensors)), tuple(leaves(2, 3, 3)))


def test_two_losses_one_after_the_other() -> None:
    """Each backward takes its own notes, all of them, once: gradients add up as they should."""
    found = []
    for loop in (repeated_loop, plain_loop):
        mine = leaves(3, 4, 5)
        states = loop(*mine)
        states[-1].sum().backward(retain_graph=True)
        first = [leaf.grad.clone() for leaf in mine if leaf.grad is not None]
        states[2].pow(2).sum().backward()
        second = [leaf.grad.clone() for leaf in mine if leaf.grad is not None]
        assert len(first) == len(second) == 5
        found.append([*first, *second])
    assert_equal(*found)


def test_two_loops_over_one_weight() -> None:
    found = []
    for loop in (repeated_loop, plain_loop):
        mine = leaves(2, 3, 4)
        total = loop(*mine)[-1].sum() + (loop(*mine)[-1] * 2).sum() * loop(*mine)[1].sum()
        found.append(list(torch.autograd.grad(total, mine)))
    assert_equal(*found)


def test_a_loop_that_was_not_finished_leaves_nothing_behind() -> None:
    """One loss of an early state, and never one of the last."""
    found = []
    for loop in (repeated_loop, plain_loop):
        mine = leaves(2, 3, 6)
        found.append(list(torch.autograd.grad(loop(*mine)[1].sum(), mine)))
    assert_equal(*found)


def test_a_part_of_the_gradient_first_does_not_spoil_the_rest() -> None:
    """Asked for the gradient of a late input alone, autograd does not come to the loop's beginning."""
    found = []
    for loop in (repeated_loop, plain_loop):
        start, recurrent, mixing, bias, inputs = leaves(2, 3, 4)
        late = inputs[3].detach().requires_grad_()
        states = loop(start, recurrent, mixing, bias, torch.stack([*inputs[:3], late]))
        (alone,) = torch.autograd.grad(states[-1].sum(), late, retain_graph=True)
        found.append([alone, *torch.autograd.grad(states[-1].sum(), [start, recurrent, mixing])])
    assert_equal(*found)


def test_a_frozen_weight_gets_none_and_the_rest_goes_on() -> None:
    found = []
    for loop in (repeated_loop, plain_loop):
        start, recurrent, mixing, bias, inputs = leaves(2, 3, 4)
        states = loop(start, recurrent.detach(), mixing, bias, inputs)
        found.append(list(torch.autograd.grad(states[-1].sum(), [start, mixing, bias, inputs])))
        assert recurrent.grad is None
    assert_equal(*found)


def test_a_start_without_gradient_does() -> None:
    found = []
    for loop in (repeated_loop, plain_loop):
        start, recurrent, mixing, bias, inputs = leaves(2, 3, 4)
        states = loop(start.detach(), recurrent, mixing, bias, inputs)
        found.append(list(torch.autograd.grad(states[-1].sum(), [recurrent, mixing, bias, inputs])))
    assert_equal(*found)


def test_a_slice_of_a_larger_weight() -> None:
    """As the additive score has it: the columns of the query are a part of W."""
    whole = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    start = torch.randn(2, 3, dtype=torch.float64)
    repeated = RepeatedLinear(whole[:, :3])
    state = plain = repeated.begin(start)
    for _ in range(4):
        state = torch.tanh(repeated.map(state))
    (ours,) = torch.autograd.grad(state.sum(), whole)
    plain = start
    for _ in range(4):
        plain = torch.tanh(plain @ whole[:, :3].T)
    (theirs,) = torch.autograd.grad(plain.sum(), whole)
    assert_equal([state, ours], [plain, theirs])
    assert ours[:, 3:].eq(0).all()


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4)])
def test_what_is_added_is_broadcast(shape: tuple[int, ...]) -> None:
    weight, add, start = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((4, 4), shape, (3, 4)))
    repeated = RepeatedLinear(weight)
    ours = repeated.map(repeated.begin(start), add)
    theirs = start @ weight.T + add
    pull = torch.randn(3, 4, dtype=torch.float64)
    assert_equal(
        [ours, *torch.autograd.grad(ours, [weight, add, start], pull)],
        [theirs, *torch.autograd.grad(theirs, [weight, add, start], pull)],
    )


def test_without_gradients_nothing_is_kept() -> None:
    weight, start = torch.randn(3, 3, requires_grad=True), torch.randn(2, 3)
    repeated = RepeatedLinear(weight)
    with torch.no_grad():
        state = repeated.begin(start)
        for _ in range(3):
            state = repeated.map(state)
    assert not state.requires_grad
    torch.testing.assert_close(state, start @ weight.detach().T @ weight.detach().T @ weight.detach().T)
