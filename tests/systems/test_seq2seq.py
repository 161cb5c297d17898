"""Reading and writing without attention: torch's own network with the same weights, and the order of the source."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.layers.recurrent import Stack
from saccade.systems.seq2seq import Config, Model, backwards

from .samples import VOCABULARY, batch, close, gradients, learn_to_copy, model, rows, text_batch

CELLS = ("lstm", "gru")


def made(seed: int = 7, **keys: Any) -> Model:
    torch.manual_seed(seed)
    built: Model = model("seq2seq", loud=1.0, **{"embedding_size": 5, "hidden_size": 6, **keys})
    return built


def torchs(stack: Stack, width: int) -> Any:
    """Torch's network with this stack's weights."""
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}[stack.cell.name]
    network = kind(width, stack.hidden, num_layers=len(stack.layers))
    with torch.no_grad():
        for number, layer in enumerate(stack.recurrent()):
            for ours, theirs in (("input", "ih"), ("state", "hh")):
                getattr(network, f"weight_{theirs}_l{number}").copy_(getattr(layer, f"{ours}_weight"))
                getattr(network, f"bias_{theirs}_l{number}").copy_(getattr(layer, f"{ours}_bias"))
    return network


def reference(one: Model, source: list[int], target: list[int]) -> Tensor:
    """−log p of one pair, by torch's networks."""
    words = one.source_embedding(torch.tensor(source)[:, None])
    _, state = torchs(one.reader, words.shape[-1])(words)
    before = one.target_embedding(torch.tensor([1, *target[:-1]])[:, None])
    states, _ = torchs(one.writer, before.shape[-1])(before, state)
    return nn.functional.cross_entropy(one.output(states[:, 0]), torch.tensor(target), reduction="sum")


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 3])
def test_it_is_torchs_network(cell: str, layers: int) -> None:
    one = made(cell=cell, num_layers=layers, order="forward")
    with torch.no_grad():
        for source, target in zip(*rows(), strict=True):
            ours = one(text_batch([source], [target])).loss
            torch.testing.assert_close(ours, reference(one, source, target), atol=1e-5, rtol=1e-5)
        expected = sum(float(reference(one, *pair)) for pair in zip(*rows(), strict=True))
        assert float(one(batch()).loss) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_reversed_is_forward_on_the_reversed_source(cell: str) -> None:
    sources, targets = rows()
    turned = text_batch([row[::-1] for row in sources], targets)
    one, other = made(cell=cell, order="reversed"), made(cell=cell, order="forward")
    ours, theirs = one(batch()).loss, other(turned).loss
    assert ours.item() == theirs.item()
    assert ours.item() != other(batch()).loss.item()
    close(gradients(one, ours), gradients(other, theirs), 0.0)


def test_only_the_live_part_is_turned() -> None:
    source = torch.tensor([[4, 5, 6, 0, 0], [7, 0, 0, 0, 0], [3, 4, 5, 6, 7]])
    turned = backwards(source, torch.tensor([3, 1, 5]))
    assert turned.tolist() == [[6, 5, 4, 0, 0], [7, 0, 0, 0, 0], [7, 6, 5, 4, 3]]


@pytest.mark.parametrize("cell", CELLS)
def test_kernels_change_nothing_but_the_last_digits(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(cell=cell).train()
    smoothed = text_batch(*rows(), label_smoothing=0.1)
    fast = one(smoothed).loss
    found = {"loss": fast.detach(), **gradients(one, fast)}
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    slow = one(smoothed).loss
    close(found, {"loss": slow.detach(), **gradients(one, slow)}, 1e-5)


def test_dropout_strikes_out_in_training_only() -> None:
    one, without = made(dropout=0.5), made(dropout=0.0)
    without.load_state_dict(one.state_dict())
    assert one(batch()).loss.item() == without(batch()).loss.item()
    one.train()
    assert one(batch()).loss.item() != one(batch()).loss.item()


def test_a_copy_is_learned() -> None:
    torch.manual_seed(0)
    one = Model(Config(embedding_size=24, hidden_size=48, num_layers=1), source=VOCABULARY, target=VOCABULARY)
    losses = learn_to_copy(one, 100, (1, 2, 3, 2))
    assert losses[0] > 2
    assert sum(losses[-5:]) / 5 < losses[0] / 4
