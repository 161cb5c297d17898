"""A memory that is written: what erases and adds overwrites, and where heads stood can be looked at in both forms."""

import pytest
import torch

from saccade.attention import looking
from saccade.layers.written_memory import WrittenMemory, changed


def test_erasing_and_adding_at_one_row_overwrites_it_and_no_other() -> None:
    memory, weights = torch.randn(1, 5, 3), torch.eye(5)[None, None, 2]
    numbers = torch.tensor([[50.0, 50.0, 50.0, 0.5, -0.5, 0.0]])  # erases everything, adds this
    found = changed(memory, weights, numbers)
    torch.testing.assert_close(found[0, 2], numbers[0, 3:].tanh())
    torch.testing.assert_close(found[0, [0, 1, 3, 4]], memory[0, [0, 1, 3, 4]])


def test_all_heads_erase_before_any_adds() -> None:
    memory, weights = torch.ones(1, 1, 1), torch.ones(1, 2, 1)
    adds_then_erases = torch.tensor([[-50.0, 0.5, 50.0, 0.0]])
    torch.testing.assert_close(changed(memory, weights, adds_then_erases)[0, 0], torch.tensor([0.5]).tanh())


def test_heads_that_look_nowhere_change_nothing() -> None:
    memory = torch.randn(1, 5, 3)
    assert torch.equal(changed(memory, torch.zeros(1, 2, 5), torch.randn(1, 12)), memory)


@pytest.mark.parametrize("kernels", ["on", "off"])
def test_where_heads_stood_sums_to_1_at_every_step(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    sizes = {"rows": 6, "width": 3, "read_heads": 2, "write_heads": 1, "max_shift": 1}
    machine, x = WrittenMemory(4, 5, remembers=False, **sizes), torch.randn(7, 2, 4)
    with looking(machine) as looks:
        machine(x)
    weights = looks[""][-1].weights()
    assert weights.shape == (2, 3, 7, 6)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 7))
