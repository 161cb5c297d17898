"""The Turing machine's heads: what erases and adds overwrites, and padding changes nothing."""

import pytest
import torch

from saccade.data.tensors import BitsInput
from saccade.errors import UsageError
from saccade.systems.neural_turing_machine import Config, Heads

from .tiny import tiny


def test_erasing_and_adding_at_one_row_overwrites_it_and_no_other() -> None:
    heads, memory = Heads(Config(memory_rows=5, memory_width=3)), torch.randn(1, 5, 3)
    weights = torch.eye(5)[None, None, 2]
    numbers = torch.tensor([[50.0, 50.0, 50.0, 0.5, -0.5, 0.0]])  # erases everything, adds this
    changed = heads.changed(memory, weights, numbers)
    torch.testing.assert_close(changed[0, 2], numbers[0, 3:].tanh())
    torch.testing.assert_close(changed[0, [0, 1, 3, 4]], memory[0, [0, 1, 3, 4]])


def test_heads_that_look_nowhere_change_nothing() -> None:
    heads, memory = Heads(Config(memory_rows=5, memory_width=3, write_heads=2)), torch.randn(1, 5, 3)
    assert torch.equal(heads.changed(memory, torch.zeros(1, 2, 5), torch.randn(1, 12)), memory)


@pytest.mark.parametrize("controller", ["feedforward", "lstm"])
def test_what_follows_a_sequence_changes_nothing(controller: str) -> None:
    one = tiny("neural_turing_machine", controller=controller, read_heads=2, write_heads=2)
    given = one.batch([0]).input
    longer = BitsInput(
        torch.nn.functional.pad(given.vectors, (0, 0, 0, 3), value=1.0),
        given.lengths,
        torch.nn.functional.pad(given.blanks, (0, 3)),
    )
    with torch.no_grad():
        torch.testing.assert_close(one.model.vectors(longer)[:, :-3], one.model.vectors(given))


def test_a_shift_must_fit_the_circle() -> None:
    with pytest.raises(UsageError, match="max_shift: expected less than half of 4 rows, got 2"):
        Config(memory_rows=4, max_shift=2)
