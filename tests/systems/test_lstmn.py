"""LSTMN as a language model: steps are the whole, the control is an LSTM, and what is forgotten is the oldest."""

from typing import Any

import pytest
import torch

from .tiny import tiny


def logs_by_steps(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """The log-probabilities of what follows each token, one step after the other."""
    state, found = model.start(len(tokens)), []
    for column in tokens.t():
        step = model.step(column[:, None], state)
        state = step.state
        found.append(step.log_probs[:, 0])
    return torch.stack(found, 1)


@pytest.mark.parametrize("memory", ["tapes", "last"])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_steps_are_the_whole(memory: str, num_layers: int) -> None:
    model = tiny("lstmn", memory=memory, num_layers=num_layers).model
    tokens = torch.randint(4, 9, (2, 7))
    with torch.no_grad():
        torch.testing.assert_close(logs_by_steps(model, tokens), model.log_probs(tokens), atol=1e-5, rtol=1e-5)


def test_every_step_says_where_it_looked() -> None:
    model = tiny("lstmn", num_layers=2).model
    state = model.start(2)
    for count in range(4):
        step = model.step(torch.tensor([[5], [6]]), state)
        state = step.state
        looks = step.glance()
        assert [look.name for look in looks] == ["intra-attention, layer 1", "intra-attention, layer 2"]
        for look in looks:
            assert look.weights.shape == (2, 1, 1, count + 1)
            assert (look.weights[..., -1] == 0).all()  # nobody looks at itself
            torch.testing.assert_close(look.weights.sum(-1), torch.full((2, 1, 1), float(count > 0)))


def test_beyond_the_context_the_oldest_states_are_forgotten() -> None:
    model = tiny("lstmn").model
    state = model.start(1)
    for _ in range(model.context_length + 3):
        step = model.step(torch.tensor([[5]]), state)
        state = step.state
    assert state.layers[0].states.shape[1] == model.context_length + 1
    weights = step.glance()[0].weights[0, 0, 0]
    assert len(weights) == model.context_length + 3
    assert (weights[:2] == 0).all()
    assert (weights[2:-1] > 0).all()


def test_the_control_has_nothing_to_show() -> None:
    model = tiny("lstmn", memory="last").model
    assert list(model.step(torch.tensor([[5]]), model.start(1)).glance()) == []
    assert not any("score" in name for name, _ in model.named_parameters())
