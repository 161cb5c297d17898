"""The Turing machine as a system: padding changes nothing, and its control is an LSTM that attends to nothing."""

from typing import Any

import pytest
import torch

from saccade.data.tensors import BitsInput
from saccade.errors import UsageError
from saccade.systems.neural_turing_machine import Config, Model, attends

from .tiny import tiny

CONTROL: dict[str, Any] = {"memory": "none", "controller": "lstm"}


@pytest.mark.parametrize(
    "words", [{"controller": "feedforward", "read_heads": 2, "write_heads": 2}, {"controller": "lstm"}, CONTROL]
)
def test_what_follows_a_sequence_changes_nothing(words: dict[str, Any]) -> None:
    one = tiny("neural_turing_machine", **words)
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


def test_without_a_memory_the_controller_must_remember() -> None:
    with pytest.raises(UsageError, match="expected lstm beside memory=none, got feedforward"):
        Config(memory="none")


def test_the_control_of_equal_size_has_as_many_parameters() -> None:
    machine, control = Model(Config(), 10, 8), Model(Config(memory="none", controller="lstm", hidden_size=52), 10, 8)
    sizes = [sum(parameter.numel() for parameter in model.parameters()) for model in (machine, control)]
    assert sizes[0] == 13_636
    assert abs(sizes[1] / sizes[0] - 1) < 0.01


def test_the_control_looks_at_nothing() -> None:
    assert attends(Config())
    assert not attends(Config(memory="none", controller="lstm"))
    one = tiny("neural_turing_machine", **CONTROL)
    assert one.model.looks(one.batch([0]).input, torch.zeros(1), {}) == []
