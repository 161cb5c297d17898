"""What systems that write texts promise beside the contract: steps that are the loss, any search, states to choose from."""

from typing import Any

import pytest
import torch

from saccade import systems
from saccade.data.tensors import Batch
from saccade.search import Config as SearchConfig
from saccade.search import Hypothesis, forced, search

from .tiny import COUNT, Tiny, loss_of, tiny

WRITERS = [name for name in systems.names() if systems.load(name).WRITES == "text"]
every = pytest.mark.parametrize("name", WRITERS)
SEARCHES = [
    SearchConfig(max_length=9),
    SearchConfig(method="beam", beam=3, n_best=3, max_length=9),
    SearchConfig(method="sample", n_best=2, max_length=9, seed=3),
]
# In which no place of the input looks at another.
ALONE = {"bahdanau", "luong", "seq2seq", "show_attend_read", "show_attend_tell"}


def first(one: Tiny) -> int:
    """The token that texts start from."""
    found: int = one.task.writer.vocabulary.start
    return found


def targets_of(one: Tiny, batch: Batch | None = None) -> list[list[int]]:
    """The tokens of the targets, with their ends."""
    target = (batch or one.batch()).target
    return [row[:size] for row, size in zip(target.tokens.tolist(), target.lengths.tolist(), strict=True)]


def memory_of(one: Tiny, chosen: list[int] | None = None) -> Any:
    """What is read of all inputs, or of these."""
    with torch.no_grad():
        return one.model.read(one.batch(chosen).input)


def written(one: Tiny, how: SearchConfig, chosen: list[int]) -> list[list[Hypothesis]]:
    """What is written for these inputs."""
    known = one.task.writer.vocabulary
    with torch.inference_mode():
        memory = one.model.read(one.batch(chosen).input)
    ids: dict[str, Any] = {"start": known.start, "end": known.end, "banned": known.banned}
    return search(one.model, memory, how, inputs=len(chosen), **ids, looks=True, positions=chosen)


@every
def test_its_steps_are_its_loss(name: str) -> None:
    one = tiny(name)
    with torch.no_grad():
        loss = float(loss_of(one.model, one.batch()))
    found = forced(one.model, memory_of(one), targets_of(one), start=first(one))
    assert sum(float(own.log_probs.sum()) for own in found) == pytest.approx(-loss, abs=1e-4, rel=1e-5)
    for i, own in enumerate(found):
        (alone,) = forced(one.model, memory_of(one, [i]), [targets_of(one)[i]], start=first(one))
        torch.testing.assert_close(own.log_probs, alone.log_probs, atol=1e-4, rtol=1e-5)


@every
@pytest.mark.parametrize("how", SEARCHES, ids=lambda how: how.method)
def test_what_it_writes_does_not_depend_on_the_company(name: str, how: SearchConfig) -> None:
    one = tiny(name)
    together = written(one, how, list(range(COUNT)))
    assert len({tuple(tuple(own.tokens) for own in best) for best in together}) > 1
    for i, best in enumerate(together):
        (alone,) = written(one, how, [i])
        assert [own.tokens for own in alone] == [own.tokens for own in best]
        for own, other in zip(best, alone, strict=True):
            assert own.log_prob == pytest.approx(other.log_prob, abs=1e-4, rel=1e-5)
            for look, same in zip(own.looks, other.looks, strict=True):
                keys = same.weights.shape[-1]
                torch.testing.assert_close(look.weights[..., :keys], same.weights, atol=1e-5, rtol=1e-5)
                assert not look.weights[..., keys:].any()  # nothing lies beyond


@every
@pytest.mark.parametrize("how", SEARCHES, ids=lambda how: how.method)
def test_its_looks_are_those_of_the_text_it_wrote(name: str, how: SearchConfig) -> None:
    one, end = tiny(name), tiny(name).task.writer.vocabulary.end
    found = written(one, how, list(range(COUNT)))
    for rank in range(how.n_best):
        chosen = [best[rank] for best in found]
        tokens = [[*own.tokens, end] if own.finished else own.tokens for own in chosen]
        again = forced(one.model, memory_of(one), tokens, start=first(one), looks=True)
        for own, other in zip(chosen, again, strict=True):
            assert bool(own.looks) == systems.attends(name, one.settings.model)
            assert [(look.name, look.keys) for look in own.looks] == [(look.name, look.keys) for look in other.looks]
            assert own.log_prob == pytest.approx(float(other.log_probs.sum()), abs=1e-4, rel=1e-5)
            for look, same in zip(own.looks, other.looks, strict=True):
                torch.testing.assert_close(look.weights, same.weights, atol=1e-5, rtol=1e-5)


@every
def test_its_state_can_be_reordered_repeated_and_dropped(name: str) -> None:
    """Of the inputs those that are not finished stay; of each, any hypothesis any number of times."""
    one = tiny(name)
    model, start = one.model, first(one)
    with torch.no_grad():
        begun = model.step(torch.full((COUNT, 1), start), model.start(memory_of(one)))
        wide = begun.state.select(torch.arange(COUNT), torch.zeros(COUNT, 2, dtype=torch.long))
        second = model.step(torch.tensor([[4, 5]] * COUNT), wide)
        inputs, hypotheses = torch.tensor([4, 1, 2]), torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
        tokens = torch.tensor([[6, 7, 7], [6, 6, 8], [9, 3, 3]])
        chosen = model.step(tokens, second.state.select(inputs, hypotheses))
        for row, place in enumerate(inputs.tolist()):
            for column, hypothesis in enumerate(hypotheses[row].tolist()):
                state = model.start(memory_of(one, [place]))
                for token in (start, [4, 5][hypothesis], int(tokens[row, column])):
                    alone = model.step(torch.tensor([[token]]), state)
                    state = alone.state
                torch.testing.assert_close(chosen.log_probs[row, column], alone.log_probs[0, 0], atol=1e-4, rtol=1e-5)
                for look, single in zip(chosen.glance(), alone.glance(), strict=True):
                    own = single.weights[0, 0]
                    torch.testing.assert_close(look.weights[row, column, :, : own.shape[-1]], own, atol=1e-5, rtol=1e-5)


# What it looks at while it reads


@every
def test_its_reading_is_what_each_place_of_the_input_looked_at(name: str) -> None:
    one = tiny(name)
    with torch.inference_mode():
        batch = one.batch()
        found = one.model.reading(batch.input)
        assert bool(found) == (name not in ALONE)
        for i, size in enumerate(batch.input.lengths.tolist() if found else []):
            alone = one.model.reading(one.batch([i]).input)
            for look, same in zip(found, alone, strict=True):
                assert (look.name, look.queries, look.keys) == (same.name, "input", "input")
                own = look.weights[i, :, :size, :size]
                torch.testing.assert_close(own.sum(-1), torch.ones(own.shape[:-1]), atol=1e-5, rtol=1e-5)
                assert not look.weights[i, :, :, size:].any()  # nobody looks at padding
                torch.testing.assert_close(own, same.weights[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", sorted({*WRITERS} - ALONE))
def test_looking_at_its_reading_changes_nothing(name: str) -> None:
    one = tiny(name)
    with torch.inference_mode():
        batch = one.batch()
        before = one.model(batch).loss
        found = one.model.reading(batch.input)
        assert torch.equal(before, one.model(batch).loss)
    assert not torch.allclose(found[0].weights, found[1].weights)  # each layer has its own
