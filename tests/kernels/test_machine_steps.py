"""The Turing machine's steps in one call: the plain form's numbers and gradients, for any sizes, and twice."""

import pytest
import torch
from torch import Tensor

from saccade.kernels.runtime import kernels_on
from saccade.layers.written_memory import WrittenMemory

# Rows, width, heads that read and write, shifts; units, whether the controller remembers; sequences and steps.
SIZES = [
    ((128, 20, 1, 1, 1), 100, False, 4, 6),
    ((7, 3, 1, 1, 1), 5, False, 2, 3),
    ((9, 4, 2, 2, 2), 6, True, 3, 5),
    ((17, 5, 1, 3, 0), 6, True, 1, 4),
    ((3, 1, 3, 1, 1), 1, False, 2, 1),
    ((1, 1, 1, 1, 0), 1, True, 1, 2),
]


def made(shape: tuple[int, ...], hidden: int, remembers: bool, rows: int, steps: int) -> tuple[WrittenMemory, Tensor]:
    """A machine whose heads are moved with force, and its input."""
    torch.manual_seed(hidden)
    names = ("rows", "width", "read_heads", "write_heads", "max_shift")
    machine = WrittenMemory(4, hidden, remembers=remembers, **dict(zip(names, shape, strict=True)))
    with torch.no_grad():
        machine.heads.weight.mul_(5)
        machine.first_weights.normal_()
        machine.first_read.normal_()
    return machine, torch.randn(steps, rows, 4, requires_grad=True)


def gradients(machine: WrittenMemory, x: Tensor, output: Tensor) -> tuple[Tensor, ...]:
    pull = torch.linspace(-1, 2, output.numel()).view(output.shape)
    return torch.autograd.grad((output * pull).sum(), [x, *machine.parameters()])


@pytest.mark.parametrize(("shape", "hidden", "remembers", "rows", "steps"), SIZES)
def test_the_kernel_is_the_plain_form(
    shape: tuple[int, ...], hidden: int, remembers: bool, rows: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, x = made(shape, hidden, remembers, rows, steps)
    if not kernels_on(x):
        pytest.skip("no kernels here")
    found = machine(x)
    slopes = gradients(machine, x, found)
    with torch.no_grad():
        torch.testing.assert_close(machine(x), found, atol=0, rtol=0)  # what is not kept for a gradient changes nothing
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    expected = machine(x)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    for one, other in zip(slopes, gradients(machine, x, expected), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5 * float(other.abs().max()) + 1e-7, rtol=1e-4)


def test_a_gradient_can_be_differentiated() -> None:
    machine, x = made(*SIZES[1])
    (slope,) = torch.autograd.grad(machine(x).square().sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(slope.square().sum(), x)
    assert twice.isfinite().all()
    assert twice.abs().sum() > 0


def test_two_threads_give_the_bits_of_one() -> None:
    machine, x = made(*SIZES[2])
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            output = machine(x)
            found.append((output, *gradients(machine, x, output)))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_rows_of_zeros_and_far_numbers_stay_finite() -> None:
    machine, x = made(SIZES[0][0], 8, False, 2, 30)
    with torch.no_grad():
        machine.heads.weight.mul_(20)
        machine.heads.bias.normal_(std=30)
    output = machine(x)
    assert output.isfinite().all()
    assert all(slope.isfinite().all() for slope in gradients(machine, x, output))
