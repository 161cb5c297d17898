"""The recurrent reader and writer: every score and cell learns, and its loss is that of its steps, gradients included."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.attention.scores import SCORES
from saccade.data.tensors import Batch, TextInput
from saccade.errors import ShapeError, UnknownName
from saccade.systems.bahdanau import Config, Model

from .samples import VOCABULARY, batch, close, gradients, learn_to_copy, model, rows, text_batch

CELLS = ("gru", "lstm")
NORMALIZERS = ("softmax", "sparsemax", "entmax15")


def stepped_loss(made: Model, given: Batch) -> Tensor:
    """The loss by the writer's own steps, one token after the other, with plain autograd all the way."""
    state = made.start(made.read(given.input))
    target = given.target
    before, total = target.first[:, None], torch.zeros(())
    for place in range(target.tokens.shape[1]):
        step = made.step(before, state)
        before, state = target.tokens[:, place, None], step.state
        chosen = step.log_probs[:, 0].gather(1, before)[:, 0]
        total = total - chosen[place < target.lengths].sum()
    return total


def made(seed: int = 7, **keys: Any) -> Model:
    torch.manual_seed(seed)
    built: Model = model("bahdanau", loud=1.0, **{"embedding_size": 5, "hidden_size": 6, "readout_size": 4, **keys})
    return built


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("cell", CELLS)
def test_every_score_learns(score: str, cell: str) -> None:
    for normalize, directions, readout in product(NORMALIZERS, (1, 2), (0, 4)):
        one = made(score=score, normalize=normalize, cell=cell, directions=directions, readout_size=readout).train()
        optimizer = torch.optim.SGD(one.parameters(), 0.02)
        losses = []
        for _ in range(2):
            loss = one(batch()).loss
            grads = gradients(one, loss)
            assert all(grad.isfinite().all() for grad in grads.values()), (normalize, directions, readout)
            for weight, grad in zip(one.parameters(), grads.values(), strict=True):
                weight.grad = grad / batch().target.lengths.sum()
            optimizer.step()
            losses.append(loss.item())
        assert losses[1] < losses[0], (normalize, directions, readout)


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize(("cell", "directions", "readout"), [("gru", 2, 4), ("lstm", 1, 0), ("gru", 1, 4), ("lstm", 2, 4)])
def test_its_loss_is_plain_autograd_over_its_steps(score: str, cell: str, directions: int, readout: int) -> None:
    """In double precision no kernel runs, and only the way through the loop differs: one product for each weight."""
    one = made(score=score, cell=cell, directions=directions, readout_size=readout).double()
    ours, theirs = one(batch()).loss, stepped_loss(one, batch())
    torch.testing.assert_close(ours, theirs.to(ours.dtype), atol=1e-9, rtol=1e-9)
    close(gradients(one, ours), gradients(one, theirs), 1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_the_deep_output_may_read_the_state_before(cell: str) -> None:
    """As the paper's appendix has it; search and training agree on it, and it is another model."""
    one = made(cell=cell, readout_reads="last").double()
    ours, theirs = one(batch()).loss, stepped_loss(one, batch())
    torch.testing.assert_close(ours, theirs.to(ours.dtype), atol=1e-9, rtol=1e-9)
    close(gradients(one, ours), gradients(one, theirs), 1e-9)
    assert (made(cell=cell).double()(batch()).loss - ours).abs().item() > 1e-3


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize(("cell", "directions", "layers"), [("gru", 2, 1), ("lstm", 2, 2), ("gru", 1, 1), ("lstm", 1, 1)])
def test_kernels_change_nothing_but_the_last_digits(
    score: str, cell: str, directions: int, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = made(score=score, cell=cell, directions=directions, num_layers=layers).train()
    smoothed = text_batch(*rows(), label_smoothing=0.1)
    fast = one(smoothed).loss
    found = {"loss": fast.detach(), **gradients(one, fast)}
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    slow = one(smoothed).loss
    close(found, {"loss": slow.detach(), **gradients(one, slow)}, 1e-5)
    exact = one.double()(smoothed).loss
    close(found, {"loss": exact.detach(), **gradients(one, exact)}, 1e-4)


@pytest.mark.parametrize("normalize", NORMALIZERS)
@pytest.mark.parametrize("cell", CELLS)
def test_its_steps_in_sequence_are_its_training_loss(cell: str, normalize: str) -> None:
    one = made(cell=cell, normalize=normalize)
    with torch.no_grad():
        assert float(stepped_loss(one, batch())) == pytest.approx(float(one(batch()).loss), abs=1e-4)


@pytest.mark.parametrize("normalize", ["softmax", "chain", "chain_mean"])
def test_the_decoder_may_be_given_embeddings_alone(normalize: str) -> None:
    one = made(values="embeddings", normalize=normalize)
    given = batch().input
    torch.testing.assert_close(one.read(given).annotations.values, one.source_embedding(given.tokens))
    with torch.no_grad():
        assert float(stepped_loss(one, batch())) == pytest.approx(float(one(batch()).loss), abs=1e-4)
    one.double()
    ours, theirs = one(batch()).loss, stepped_loss(one, batch())
    torch.testing.assert_close(ours, theirs.to(ours.dtype), atol=1e-9, rtol=1e-9)
    close(gradients(one, ours), gradients(one, theirs), 1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_a_copy_is_learned(cell: str) -> None:
    torch.manual_seed(0)
    one = Model(Config(embedding_size=24, hidden_size=32, readout_size=16, cell=cell), source=VOCABULARY, target=VOCABULARY)  # type: ignore[arg-type]
    losses = learn_to_copy(one, 60, (2, 3, 4, 3))
    assert losses[0] > 2
    assert sum(losses[-5:]) / 5 < losses[0] / 4


def test_dropout_strikes_out_in_training_only() -> None:
    one, without = made(dropout=0.5), made(dropout=0.0)
    without.load_state_dict(one.state_dict())
    assert one(batch()).loss.item() == without(batch()).loss.item()
    one.train()
    assert one(batch()).loss.item() != one(batch()).loss.item()
    torch.manual_seed(3)
    first = one(batch()).loss.item()
    torch.manual_seed(3)
    assert one(batch()).loss.item() == first


def test_a_reader_of_two_directions_knows_the_end_from_the_beginning() -> None:
    source = torch.tensor([[4, 5, 6, 7]])
    other = torch.tensor([[4, 5, 6, 8]])
    sizes = torch.tensor([4])
    for directions in (1, 2):
        one = made(directions=directions)
        with torch.no_grad():
            values = [one.read(TextInput(ids, sizes)).annotations.values[0, 0] for ids in (source, other)]
        assert torch.equal(*values) == (directions == 1)


def test_names_that_are_none_are_told() -> None:
    for keys in ({"score": "adittive"}, {"normalize": "sofmax"}):
        with pytest.raises(UnknownName, match="did you mean"):
            Model(Config(**keys), source=VOCABULARY, target=VOCABULARY)  # type: ignore[arg-type]


def test_the_location_score_has_as_many_places_as_it_was_given() -> None:
    with pytest.raises(ShapeError, match="knows 3 places, got 7 keys"):
        made(score="location", max_positions=3)(batch())
