"""What every system promises: a config that explains itself, a loss, and results that do not depend on the company."""

import dataclasses
import re
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade import config, systems, tasks
from saccade.data.text import TextBatch, padded
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import UnknownName
from saccade.search import Config as SearchConfig
from saccade.search import Hypothesis, forced, search

from .samples import SIZE, batch, close, gradients, model, rows, texts

SEARCHES = [
    SearchConfig(max_length=9),
    SearchConfig(method="beam", beam=3, n_best=3, max_length=9),
    SearchConfig(method="sample", n_best=2, max_length=9, seed=3),
]


def written(name: str, sources: list[list[int]], how: SearchConfig, positions: list[int]) -> list[list[Hypothesis]]:
    made = seeded(name)
    with torch.inference_mode():
        memory = made.read(*padded(sources))
    ids: dict[str, Any] = {"start": START, "end": END, "banned": (PAD, START)}
    return search(made, memory, how, inputs=len(sources), **ids, looks=True, positions=positions)


def seeded(name: str) -> Any:
    torch.manual_seed(5)
    return model(name)


# What it says of itself


@pytest.mark.parametrize("name", systems.names())
def test_its_config_explains_itself(name: str) -> None:
    kind: type[Any] = systems.load(name).Config
    assert dataclasses.is_dataclass(kind)
    assert all(field.kw_only for field in dataclasses.fields(kind))
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), dataclasses.fields(kind)[0].name, 1)
    for field, type_name, default, line in config.described(kind):
        assert default is not None, field
        assert type_name, field
        assert line.endswith((".", "…")), field
        assert len(line) < 160, field
    assert config.build(kind, config.plain(kind()), "model") == kind()


@pytest.mark.parametrize("name", systems.names())
def test_its_sentence_is_whole(name: str) -> None:
    told = systems.sentence(name)
    assert set(told) == {"name", "paper", "reads", "attends", "writes"}
    assert all(told.values())
    assert re.search(r"\(.*\d{4}\)", told["paper"])


@pytest.mark.parametrize("name", systems.names())
def test_its_task_is_known(name: str) -> None:
    module = tasks.load(systems.load(name).TASK)
    assert dataclasses.is_dataclass(module.Config)
    assert hasattr(module, "Task")


def test_an_unknown_system_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'bahdanau'"):
        systems.load("bahdanaw")
    with pytest.raises(UnknownName):
        systems.load("system")


# Its loss


@pytest.mark.parametrize("name", texts())
def test_its_loss_is_a_finite_number_that_reaches_every_weight(name: str) -> None:
    made = seeded(name)
    loss = made.loss(batch())
    assert loss.shape == ()
    assert 0 < loss.item() < float("inf")
    for weight, grad in gradients(made, loss).items():
        assert grad.isfinite().all(), weight
        assert grad.abs().sum() > 0, weight


@pytest.mark.parametrize("name", texts())
def test_one_sample_alone_is_the_same_as_in_a_batch(name: str) -> None:
    made = seeded(name)
    count = len(rows()[0])
    together = made.loss(batch())
    alone = [made.loss(batch([i])) for i in range(count)]
    assert sum(loss.item() for loss in alone) == pytest.approx(together.item(), rel=1e-5)
    summed = [gradients(made, loss) for loss in alone]
    close(gradients(made, together), {key: torch.stack([one[key] for one in summed]).sum(0) for key in summed[0]}, 1e-5)


@pytest.mark.parametrize("name", texts())
@pytest.mark.parametrize("garbage", [SIZE - 1, END, 1])
def test_what_stands_in_the_padding_changes_nothing(name: str, garbage: int) -> None:
    made, clean = seeded(name), batch()
    live = [torch.arange(ids.shape[1]) < sizes[:, None] for ids, sizes in _sides(clean)]
    dirty = replace(clean, source=clean.source.where(live[0], garbage), target=clean.target.where(live[1], garbage))
    assert not torch.equal(dirty.source, clean.source)
    one, other = made.loss(clean), made.loss(dirty)
    assert one.item() == pytest.approx(other.item(), rel=1e-6)
    close(gradients(made, one), gradients(made, other), 1e-6)


def _sides(batch: TextBatch) -> list[tuple[Tensor, Tensor]]:
    return [(batch.source, batch.source_lengths), (batch.target, batch.target_lengths)]


@pytest.mark.parametrize("name", texts())
def test_more_padding_changes_nothing(name: str) -> None:
    made, clean = seeded(name), batch()
    wider = replace(
        clean,
        source=torch.nn.functional.pad(clean.source, (0, 3)),
        target=torch.nn.functional.pad(clean.target, (0, 2)),
    )
    one, other = made.loss(clean), made.loss(wider)
    assert one.item() == pytest.approx(other.item(), rel=1e-6)
    close(gradients(made, one), gradients(made, other), 1e-5)


@pytest.mark.parametrize("name", texts())
def test_smoothing_is_the_mean_over_all_tokens_mixed_in(name: str) -> None:
    made = seeded(name)
    with torch.no_grad():
        losses = [float(made.loss(batch(), share)) for share in (0.0, 0.25, 0.5)]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx((losses[0] + losses[2]) / 2, rel=1e-5)


@pytest.mark.parametrize("name", texts())
def test_its_weights_are_all_of_it(name: str) -> None:
    made, other = seeded(name), model(name)
    assert made.loss(batch()).item() != other.loss(batch()).item()
    other.load_state_dict(made.state_dict())
    assert made.loss(batch()).item() == other.loss(batch()).item()


# What it writes


@pytest.mark.parametrize("name", texts())
def test_its_steps_are_its_loss(name: str) -> None:
    made, (sources, targets) = seeded(name), rows()
    with torch.no_grad():
        memory = made.read(*padded(sources))
        loss = float(made.loss(batch()))
    told = forced(made, memory, targets, start=START)
    assert sum(float(one.log_probs.sum()) for one in told) == pytest.approx(-loss, abs=1e-4, rel=1e-5)
    for i, one in enumerate(told):
        with torch.no_grad():
            alone = forced(made, made.read(*padded([sources[i]])), [targets[i]], start=START)[0]
        torch.testing.assert_close(one.log_probs, alone.log_probs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", texts())
@pytest.mark.parametrize("how", SEARCHES, ids=lambda how: how.method)
def test_what_it_writes_does_not_depend_on_the_company(name: str, how: SearchConfig) -> None:
    sources, _ = rows()
    together = written(name, sources, how, list(range(len(sources))))
    assert len({tuple(tuple(one.tokens) for one in best) for best in together}) > 1
    for i, best in enumerate(together):
        (alone,) = written(name, [sources[i]], how, [i])
        assert [one.tokens for one in alone] == [one.tokens for one in best]
        for one, other in zip(best, alone, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            for look, own in zip(one.looks, other.looks, strict=True):
                seen = look.weights[..., : own.weights.shape[-1]]
                torch.testing.assert_close(seen, own.weights, atol=1e-5, rtol=1e-5)
                assert torch.equal(seen.sum(-1), look.weights.sum(-1))  # nothing lies beyond


@pytest.mark.parametrize("name", texts())
@pytest.mark.parametrize("how", SEARCHES, ids=lambda how: how.method)
def test_its_looks_are_those_of_the_text_it_wrote(name: str, how: SearchConfig) -> None:
    made, (sources, _) = seeded(name), rows()
    found = written(name, sources, how, list(range(len(sources))))
    for rank in range(how.n_best):
        told = [best[rank] for best in found]
        tokens = [[*one.tokens, END] if one.finished else one.tokens for one in told]
        with torch.no_grad():
            again = forced(made, made.read(*padded(sources)), tokens, start=START, looks=True)
        for one, other in zip(told, again, strict=True):
            assert bool(one.looks) == (name != "seq2seq")  # which attends nowhere
            assert [(look.name, look.keys) for look in one.looks] == [(look.name, look.keys) for look in other.looks]
            assert one.log_prob == pytest.approx(float(other.log_probs.sum()), abs=1e-4)
            for look, own in zip(one.looks, other.looks, strict=True):
                torch.testing.assert_close(look.weights, own.weights, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", texts())
def test_its_state_can_be_reordered_repeated_and_dropped(name: str) -> None:
    """Of the inputs those that are not finished stay; of each, any hypothesis any number of times."""
    made, (sources, _) = seeded(name), rows()
    with torch.no_grad():
        first = made.step(torch.full((len(sources), 1), 1), made.start(made.read(*padded(sources))))
        wide = first.state.select(torch.arange(len(sources)), torch.zeros(len(sources), 2, dtype=torch.long))
        second = made.step(torch.tensor([[4, 5]] * len(sources)), wide)
        inputs, hypotheses = torch.tensor([4, 1, 2]), torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
        tokens = torch.tensor([[6, 7, 7], [6, 6, 8], [9, 3, 3]])
        chosen = made.step(tokens, second.state.select(inputs, hypotheses))
        for row, place in enumerate(inputs.tolist()):
            for column, hypothesis in enumerate(hypotheses[row].tolist()):
                history = [[4, 5][hypothesis], int(tokens[row, column])]
                state = made.start(made.read(*padded([sources[place]])))
                for token in (1, *history):
                    alone = made.step(torch.tensor([[token]]), state)
                    state = alone.state
                torch.testing.assert_close(chosen.log_probs[row, column], alone.log_probs[0, 0], atol=1e-5, rtol=1e-5)
                for look, single in zip(chosen.glance(), alone.glance(), strict=True):
                    own = single.weights[0, 0]
                    torch.testing.assert_close(look.weights[row, column, :, : own.shape[-1]], own, atol=1e-5, rtol=1e-5)


# What it looks at while it reads


READERS = {"transformer"}  # in which places of the source look at each other


@pytest.mark.parametrize("name", texts())
def test_its_reading_is_what_each_place_of_the_source_looked_at(name: str) -> None:
    made, (sources, _) = seeded(name), rows()
    with torch.inference_mode():
        found = made.reading(*padded(sources))
        assert bool(found) == (name in READERS)
        for i, row in enumerate(sources):
            alone = made.reading(*padded([row]))
            assert alone.keys() == found.keys()
            for look, weights in found.items():
                assert weights.shape[0] == len(sources)
                own = weights[i, :, : len(row), : len(row)]
                assert own.sum(-1).allclose(torch.ones(()), atol=1e-5)
                assert not weights[i, :, :, len(row) :].any()  # nobody looks at padding
                torch.testing.assert_close(own, alone[look][0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(READERS))
def test_looking_at_its_reading_changes_nothing(name: str) -> None:
    made, (sources, _) = seeded(name), rows()
    with torch.inference_mode():
        before = made.encode(*padded(sources))
        different = made.reading(*padded(sources))
        assert torch.equal(before, made.encode(*padded(sources)))
    first, second = list(different.values())[:2]
    assert not torch.allclose(first, second)  # each layer has its own
