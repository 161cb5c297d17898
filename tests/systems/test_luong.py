"""Attention after the writer's step: the paper's loop written out, every kind of window, with and without feeding."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.data.tensors import TextInput, padded
from saccade.data.tokenizers import START
from saccade.errors import ShapeError, UnknownName
from saccade.search import forced
from saccade.systems.luong import Config, Model

from .samples import VOCABULARY, batch, close, gradients, model, rows
from .test_bahdanau import stepped_loss

ATTENTIONS = ("global", "local_m", "local_p")
FEEDINGS = ("none", "input")
KINDS = [*product(ATTENTIONS, FEEDINGS)]
SCORES = ("dot", "general", "additive", "location")


def made(seed: int = 7, **keys: Any) -> Model:
    torch.manual_seed(seed)
    built: Model = model("luong", loud=1.0, **{"embedding_size": 5, "hidden_size": 6, "window": 2, **keys})
    return built


def by_hand(one: Model, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
    """The attentional vectors and contexts of one pair (T, D), by the paper's equations 5 and 7, with torch's cells."""
    cells = []
    for stack in (one.reader, one.decoder.layers):
        (layer,) = stack.recurrent()
        cell = nn.LSTMCell(layer.input_weight.shape[1], layer.hidden)
        names = {"weight_ih": "input_weight", "weight_hh": "state_weight", "bias_ih": "input_bias", "bias_hh": "state_bias"}
        cell.load_state_dict({theirs: getattr(layer, ours) for theirs, ours in names.items()})
        cells.append(cell)
    reader, writer = cells
    state, annotations = (torch.zeros(1, 6), torch.zeros(1, 6)), []
    for word in source:
        state = reader(one.source_embedding.weight[word][None], state)
        annotations.append(state[0][0])
    keys, vector = torch.stack(annotations), torch.zeros(6)
    vectors, contexts = [], []
    for word in [1, *target[:-1]]:
        x = one.target_embedding.weight[word]
        state = writer((torch.cat((x, vector)) if one.config.feeding == "input" else x)[None], state)
        hidden = state[0][0]
        context = torch.softmax(keys @ hidden, 0) @ keys
        vector = torch.tanh(one.decoder.combine.weight @ torch.cat((context, hidden)))
        vectors.append(vector)
        contexts.append(context)
    return torch.stack(vectors), torch.stack(contexts)


@pytest.mark.parametrize("feeding", FEEDINGS)
@torch.no_grad()
def test_it_is_the_papers_loop(feeding: str) -> None:
    one, given = made(score="dot", feeding=feeding), batch()
    memory = one.read(given.input)
    words = one.target_embedding(given.target.before().t())
    vectors, contexts = (part.transpose(0, 1) for part in one.decoder(words, memory.annotations, memory.states))
    total = 0.0
    for place, (source, target) in enumerate(zip(*rows(), strict=True)):
        own = by_hand(one, source, target)
        torch.testing.assert_close(vectors[place, : len(target)], own[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(contexts[place, : len(target)], own[1], atol=1e-5, rtol=1e-5)
        total += float(nn.functional.cross_entropy(one.output(own[0]), torch.tensor(target), reduction="sum"))
    assert float(one(given).loss) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("attention", "feeding"), KINDS)
def test_every_kind_learns(attention: str, feeding: str, score: str) -> None:
    one = made(attention=attention, feeding=feeding, score=score).train()
    first = one(batch()).loss
    grads = gradients(one, first)
    for name, weight in one.named_parameters():
        assert grads[name].isfinite().all(), name
        assert grads[name].abs().sum() > 0, name
        weight.grad = grads[name] / batch().target.lengths.sum()
    torch.optim.SGD(one.parameters(), 0.02).step()
    assert one(batch()).loss.item() < first.item()


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("attention", "feeding"), KINDS)
def test_alone_is_as_in_a_batch_and_the_steps_are_the_loss(attention: str, feeding: str, score: str) -> None:
    one, (sources, targets) = made(attention=attention, feeding=feeding, score=score), rows()
    together, alone = one(batch()).loss, [one(batch([i])).loss for i in range(len(sources))]
    assert sum(loss.item() for loss in alone) == pytest.approx(together.item(), rel=1e-5)
    found = [gradients(one, loss) for loss in alone]
    summed = {name: torch.stack([each[name] for each in found]).sum(0) for name in found[0]}
    close(gradients(one, together), summed, 1e-5)
    told = forced(one, one.read(TextInput(*padded(sources))), targets, start=START)
    assert -sum(float(each.log_probs.sum()) for each in told) == pytest.approx(together.item(), rel=1e-5)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("attention", "feeding"), KINDS)
@pytest.mark.parametrize(("cell", "layers"), [("lstm", 1), ("gru", 3)])
def test_its_loss_is_plain_autograd_over_its_steps(attention: str, feeding: str, score: str, cell: str, layers: int) -> None:
    """In double precision no kernel runs, and only the way through the loop differs: one product for each weight."""
    one = made(attention=attention, feeding=feeding, score=score, cell=cell, num_layers=layers).double()
    ours, theirs = one(batch()).loss, stepped_loss(one, batch())  # type: ignore[arg-type]
    torch.testing.assert_close(ours, theirs.to(ours.dtype), atol=1e-9, rtol=1e-9)
    close(gradients(one, ours), gradients(one, theirs), 1e-9)


@pytest.mark.parametrize("feeding", FEEDINGS)
def test_outside_the_window_of_local_m_is_nothing(feeding: str) -> None:
    one, (sources, targets) = made(attention="local_m", feeding=feeding, window=1), rows()
    for source, each in zip(
        sources, forced(one, one.read(TextInput(*padded(sources))), targets, start=START, looks=True), strict=True
    ):
        (weights,) = each.looks[0].weights
        steps, keys = torch.arange(weights.shape[0])[:, None], torch.arange(weights.shape[1])
        inside = ((keys - steps).abs() <= 1) & (keys < len(source))
        assert torch.equal(weights > 0, inside)
        torch.testing.assert_close(weights.sum(-1), inside.any(-1).float())  # beyond the source: nowhere


@pytest.mark.parametrize("feeding", FEEDINGS)
def test_rows_of_local_p_sum_to_at_most_one(feeding: str) -> None:
    one, (sources, targets) = made(attention="local_p", feeding=feeding), rows()
    for source, each in zip(
        sources, forced(one, one.read(TextInput(*padded(sources))), targets, start=START, looks=True), strict=True
    ):
        (weights,) = each.looks[0].weights
        assert (weights[:, len(source) :] == 0).all()
        assert ((weights.sum(-1) > 0) & (weights.sum(-1) < 1)).all()
        assert ((weights > 0).sum(-1) <= 5).all()  # 2 · window + 1


def test_only_what_is_fed_tells_the_writer_where_it_looked() -> None:
    for feeding in FEEDINGS:
        one = made(feeding=feeding)
        state = one.start(one.read(TextInput(*padded(rows()[0]))))
        with torch.no_grad():
            first = one.step(torch.full((5, 1), 1), state).state
            other = replace(first, fed=-first.fed)
            steps = [one.step(torch.full((5, 1), 4), each).log_probs for each in (first, other)]
        assert torch.equal(*steps) == (feeding == "none")


def test_dropout_strikes_out_in_training_only() -> None:
    for feeding in FEEDINGS:
        one, without = made(dropout=0.5, feeding=feeding), made(dropout=0.0, feeding=feeding)
        without.load_state_dict(one.state_dict())
        assert one(batch()).loss.item() == without(batch()).loss.item()
        one.train()
        assert one(batch()).loss.item() != one(batch()).loss.item()


def test_names_that_are_none_are_told() -> None:
    for keys in ({"score": "generl"}, {"normalize": "sofmax"}):
        with pytest.raises(UnknownName, match="did you mean"):
            Model(Config(**keys), source=VOCABULARY, target=VOCABULARY)  # type: ignore[arg-type]


def test_the_location_score_has_as_many_places_as_it_was_given() -> None:
    with pytest.raises(ShapeError, match="knows 3 places, got 7 keys"):
        made(score="location", max_positions=3)(batch())
