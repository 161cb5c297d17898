"""Recurrent layers are torch's own on the same weights, and exact whatever stands beside a sequence."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.errors import UnknownName
from saccade.layers.recurrent import Recurrent, RecurrentReader, cell_named

Torch = nn.GRU | nn.LSTM
CELLS = ("gru", "lstm")
NAMES = {"weight_ih": "input_weight", "weight_hh": "state_weight", "bias_ih": "input_bias", "bias_hh": "state_bias"}


def live_of(lengths: Tensor, steps: int) -> Tensor:
    return torch.arange(steps)[:, None] < lengths


def torch_reader(reader: RecurrentReader, width: int, cell: str) -> tuple[Torch, dict[str, str]]:
    """Torch's network with the reader's weights, and the name here of each of its weights."""
    layers, directions = len(reader.layers), len(reader.layers[0])  # type: ignore[arg-type]
    kind: Callable[..., Torch] = nn.GRU if cell == "gru" else nn.LSTM
    made = kind(width, reader.hidden, layers, bidirectional=directions == 2)
    ours, called = dict(reader.named_parameters()), {}
    with torch.no_grad():
        for layer in range(layers):
            for direction in range(directions):
                for theirs, name in NAMES.items():
                    called[f"{theirs}_l{layer}{'_reverse' * direction}"] = f"layers.{layer}.{direction}.{name}"
        for theirs, name in called.items():
            getattr(made, theirs).copy_(ours[name])
    return made, called


def disturb(module: nn.Module) -> None:
    """No bias is 0 and no weight orthogonal."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.3 * torch.randn_like(weight))


def assert_close(ours: Tensor, theirs: Tensor, tolerance: float = 1e-5) -> None:
    scale = max(1.0, theirs.abs().max().item())
    torch.testing.assert_close(ours.double(), theirs.double(), atol=tolerance * scale, rtol=tolerance)


@pytest.mark.parametrize("kernels", ["on", "off"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_it_is_torchs_over_packed_sequences(
    cell: str, directions: int, layers: int, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, last states, and the gradients of every weight and input."""
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    T, B, D, H = 6, 4, 3, 5
    lengths = torch.tensor([6, 1, 4, 3])
    live = live_of(lengths, T)
    reader = RecurrentReader(D, H, cell=cell, layers=layers, directions=directions)
    disturb(reader)
    other, called = torch_reader(reader, D, cell)
    x = torch.randn(T, B, D, requires_grad=True)
    ours, ends = reader(x, live)
    packed, last = other(pack_padded_sequence(x, lengths, enforce_sorted=False))
    theirs, _ = pad_packed_sequence(packed, total_length=T)
    last = last if isinstance(last, Tensor) else last[0]
    assert_close(ours[live], theirs[live])
    assert len(ends) == directions
    for end, final in zip(ends, last[-directions:], strict=True):
        assert_close(end, final)
    pull, end_pull = torch.randn(T, B, directions * H) * live[..., None], torch.randn(directions, B, H)
    weights = dict(reader.named_parameters())
    our_total = (ours * pull).sum() + (torch.stack(ends) * end_pull).sum()
    their_total = (theirs * pull).sum() + (last[-directions:] * end_pull).sum()
    found = dict(zip(["x", *weights], torch.autograd.grad(our_total, [x, *weights.values()]), strict=True))
    torch_weights = dict(other.named_parameters())
    expected = torch.autograd.grad(their_total, [x, *torch_weights.values()])
    assert len(torch_weights) == len(weights) == 4 * layers * directions
    for name, grad in zip(["x", *torch_weights], expected, strict=True):
        assert_close(found[called.get(name, name)], grad)


@settings(max_examples=30)
@given(st.sampled_from(CELLS), st.booleans(), st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(1, 9))
def test_one_direction_of_any_size(cell: str, backward: bool, T: int, B: int, D: int, H: int) -> None:
    layer = Recurrent(D, H, cell, backward=backward)
    disturb(layer)
    kind: Callable[..., Torch] = nn.GRU if cell == "gru" else nn.LSTM
    other = kind(D, H)
    with torch.no_grad():
        for theirs, name in NAMES.items():
            getattr(other, f"{theirs}_l0").copy_(getattr(layer, name))
    x = torch.randn(T, B, D)
    states = layer(x, torch.ones(T, B, dtype=torch.bool))
    assert states.shape == (T, B, H if cell == "gru" else 2 * H)
    expected, last = other(x.flip(0) if backward else x)
    assert_close(states[..., :H], expected.flip(0) if backward else expected)
    if cell == "lstm":  # the cell's own memory comes behind what is seen of it
        assert_close(states[0 if backward else -1, :, H:], last[1][0])


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_a_sequence_alone_is_the_same_as_in_a_batch(cell: str, directions: int) -> None:
    reader = RecurrentReader(3, 4, cell=cell, layers=2, directions=directions)
    lengths = [5, 1, 3]
    x = torch.randn(5, 3, 3)
    together, ends = reader(x, live_of(torch.tensor(lengths), 5))
    for row, length in enumerate(lengths):
        alone, own = reader(x[:length, row, None], torch.ones(length, 1, dtype=torch.bool))
        assert_close(together[:length, row, None], alone)
        for end, other in zip(ends, own, strict=True):
            assert_close(end[row, None], other)


@pytest.mark.parametrize("garbage", [-7.5, 1e8])
@pytest.mark.parametrize("cell", CELLS)
def test_what_stands_in_the_padding_changes_nothing(cell: str, garbage: float) -> None:
    reader = RecurrentReader(3, 4, cell=cell, layers=2)
    live = live_of(torch.tensor([5, 1, 3]), 5)
    x = torch.randn(5, 3, 3)
    found = []
    for given_x in (x, x.masked_fill(~live[..., None], garbage)):
        leaf = given_x.clone().requires_grad_()
        out, ends = reader(leaf, live)
        total = out[live].pow(2).sum() + torch.stack(ends).sum()
        found.append([out[live], *ends, *torch.autograd.grad(total, [leaf, *reader.parameters()])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=0, rtol=0)
    assert found[0][-len(list(reader.parameters())) - 1][~live].eq(0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_padding_holds_the_last_state_or_none(cell: str) -> None:
    """Forward it stands still behind the end; backward it has not begun yet."""
    live = live_of(torch.tensor([2, 4]), 4)
    x = torch.randn(4, 2, 3)
    forward, backward = (Recurrent(3, 5, cell, backward=flag)(x, live) for flag in (False, True))
    assert torch.equal(forward[2, 0], forward[1, 0])
    assert torch.equal(forward[3, 0], forward[1, 0])
    assert backward[2:, 0].eq(0).all()


def test_dropout_stands_between_layers_only() -> None:
    x, live = torch.randn(4, 2, 3), torch.ones(4, 2, dtype=torch.bool)
    one = RecurrentReader(3, 5, layers=1, dropout=0.5).train()
    assert torch.equal(one(x, live)[0], one(x, live)[0])
    two = RecurrentReader(3, 5, layers=2, dropout=0.5).train()
    assert not torch.equal(two(x, live)[0], two(x, live)[0])
    two.eval()
    assert torch.equal(two(x, live)[0], two(x, live)[0])


@pytest.mark.parametrize("cell", CELLS)
def test_it_starts_orthogonal_gate_by_gate(cell: str) -> None:
    layer = Recurrent(3, 6, cell)
    for gate in layer.state_weight.detach().split(6):
        assert_close(gate @ gate.T, torch.eye(6))
    assert layer.input_bias.eq(0).all()
    assert layer.state_bias.eq(0).all()


def test_a_cell_that_is_none_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gru'"):
        cell_named("gruu")


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_are_right_by_differences(cell: str) -> None:
    layer = Recurrent(2, 3, cell, backward=True).double()
    live = live_of(torch.tensor([3, 2]), 3)
    x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *given: layer(given[0], live), (x, *layer.parameters()))
