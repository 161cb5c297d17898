"""The loop: gradients of one update, the order of the data, updates that are refused, and going on."""

import json
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.text import TextBatch
from saccade.errors import DataError
from saccade.systems.system import System
from saccade.tasks.text_to_text import TextCorpus
from saccade.training.config import Config
from saccade.training.memory import optimizer_tensors, restore_optimizer, seed_all
from saccade.training.trainer import NotFinite, Report, Trainer, make_optimizer

from .sittings import equal

pytestmark = pytest.mark.usefixtures("put_back")

OPTIMIZERS = ("adam", "adamw", "sgd")


class Bag(System):
    """The mean of the source's vectors says which tokens the target holds: the least that can be trained.

    In the calls that `poison` names the loss is multiplied with its number.
    """

    def __init__(self, poison: Mapping[int, float] = MappingProxyType({}), size: int = 12, width: int = 5) -> None:
        super().__init__()
        self.poison, self.calls = poison, 0
        self.embedding = nn.Embedding(size, width)
        self.output = nn.Linear(width, size)

    def loss(self, batch: TextBatch, smoothing: float = 0.0) -> Tensor:
        live = torch.arange(batch.source.shape[1]) < batch.source_lengths[:, None]
        mean = (self.embedding(batch.source) * live[..., None]).sum(1) / batch.source_lengths[:, None]
        logits = self.output(mean)[:, None].expand(-1, batch.target.shape[1], -1)
        losses = F.cross_entropy(logits.transpose(1, 2), batch.target, label_smoothing=smoothing, reduction="none")
        written = torch.arange(batch.target.shape[1]) < batch.target_lengths[:, None]
        self.calls += 1
        return (losses * written).sum() * self.poison.get(self.calls, 1.0)


def corpus(count: int = 40, seed: int = 0) -> TextCorpus:
    dice = random.Random(seed)
    rows = [[[dice.randrange(4, 12) for _ in range(dice.randint(1, 6))] for _ in range(count)] for _ in range(2)]
    return TextCorpus(rows[0], rows[1])


def trainer(*, data: TextCorpus | None = None, model: Bag | None = None, **keys: Any) -> Trainer:
    seed_all(1)
    config = replace(Config(steps=20, max_tokens=60, rate=0.01), **keys)
    return Trainer(model or Bag(), corpus() if data is None else data, config)


def poisoned(*calls: int, factor: float = math.nan) -> Bag:
    seed_all(1)
    return Bag(dict.fromkeys(calls, factor))


def grads(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def everything(trainer: Trainer) -> dict[str, Tensor]:
    """Copies of the weights and of the optimizer's memory."""
    tensors = trainer.tensors()
    return {f"{part}/{name}": value.clone() for part in ("model", "optimizer") for name, value in tensors[part].items()}


def test_two_batches_for_one_update_are_one_batch_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are weighted by tokens: the two batches have different numbers of them."""
    data = corpus(12)
    parts = [np.arange(0, 9), np.arange(9, 12)]
    found = []
    for plan in (parts, [np.concatenate(parts)]):
        monkeypatch.setattr("saccade.training.trainer.plan", lambda *args, plan=plan: plan)
        one = trainer(data=data, accumulate=len(plan), clip=0.0)
        report = next(one.steps())
        found.append((grads(one.model), report))
    (halves, first), (whole, second) = found
    assert whole.keys() == {"embedding.weight", "output.weight", "output.bias"}
    for name, grad in whole.items():
        torch.testing.assert_close(halves[name], grad, atol=1e-5, rtol=1e-5)
    assert first.loss == pytest.approx(second.loss, rel=1e-5)
    assert first.tokens == second.tokens == sum(len(row) for row in data.targets)
    assert second.loss == pytest.approx(trainer().model.loss(data.batch(range(12))).item() / second.tokens, rel=1e-5)


def test_the_norm_is_reported_and_bounded() -> None:
    def first(clip: float) -> tuple[Report, float, dict[str, Tensor]]:
        one = trainer(clip=clip)
        report, found = next(one.steps()), grads(one.model)
        return report, math.sqrt(sum(float(grad.square().sum()) for grad in found.values())), found

    free, norm, unclipped = first(0.0)
    assert free.grad_norm == pytest.approx(norm, rel=1e-5)
    tight, bounded, clipped = first(norm / 10)
    assert tight.grad_norm == pytest.approx(norm, rel=1e-5)
    assert bounded <= norm / 10 * (1 + 1e-6)
    assert bounded == pytest.approx(norm / 10, rel=1e-3)
    for name, grad in unclipped.items():  # shorter, in the same direction
        torch.testing.assert_close(clipped[name], grad * (bounded / norm))
    _, loose, _ = first(norm * 10)
    assert loose == pytest.approx(norm, rel=1e-6)


def test_label_smoothing_reaches_the_loss() -> None:
    sharp, smooth = trainer(), trainer(smoothing=0.3)
    batch = sharp.corpus.batch(np.arange(40))
    sharp.config, smooth.config = (replace(one.config, max_tokens=10_000) for one in (sharp, smooth))
    expected = [one.model.loss(batch, s).item() / batch.tokens for one, s in ((sharp, 0.0), (smooth, 0.3))]
    found = [next(one.steps()).loss for one in (sharp, smooth)]
    assert found == pytest.approx(expected, rel=1e-5)
    assert abs(found[0] - found[1]) > 1e-3


def test_the_rate_follows_the_schedule() -> None:
    one = trainer(schedule="cosine", warmup=4, steps=9, rate=0.5)
    rates = []
    for report in one.steps():
        rates.append(report.rate)
        assert {group["lr"] for group in one.optimizer.param_groups} == {report.rate}
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert sorted(rates[3:], reverse=True) == rates[3:]
    assert [report.step for report in trainer(steps=3).steps()] == [1, 2, 3]


def test_training_lowers_the_loss() -> None:
    for optimizer in OPTIMIZERS:
        losses = [report.loss for report in trainer(optimizer=optimizer, steps=60, rate=0.1).steps()]
        assert sum(losses[-5:]) < 0.9 * sum(losses[:5])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weight_decay_and_momentum_reach_the_optimizer(optimizer: str) -> None:
    config = Config(optimizer=optimizer, momentum=0.5, second_beta=0.7, weight_decay=0.25, rate=0.3)  # type: ignore[arg-type]
    group = make_optimizer(Bag(), config).param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.3, 0.25)
    assert group.get("momentum", 0.5) == 0.5
    assert group.get("betas", (0.5, 0.7)) == (0.5, 0.7)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_every_example_comes_once_an_epoch(accumulate: int) -> None:
    seen: list[int] = []

    class Watched(TextCorpus):
        def batch(self, indices: Any) -> TextBatch:
            seen.extend(int(index) for index in indices)
            return super().batch(indices)

    data = corpus()
    one = trainer(data=Watched(data.sources, data.targets), accumulate=accumulate, steps=30)
    for report in one.steps():
        assert report.epoch == one.cursor.epoch == max(0, len(seen) - 1) // 40
    assert len(seen) > 120
    epochs = [seen[start : start + 40] for start in range(0, len(seen) - 40, 40)]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_nothing_to_train_on_is_said() -> None:
    with pytest.raises(DataError, match="the training data is empty"):
        next(trainer(data=TextCorpus([], [])).steps())


@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_gradient_that_is_not_finite_changes_nothing(optimizer: str, factor: float) -> None:
    one = trainer(model=poisoned(1, 4, factor=factor), optimizer=optimizer, steps=6, weight_decay=0.1)
    before = everything(one)
    for report in one.steps():
        after = everything(one)
        assert report.skipped == (report.step in (1, 4))
        assert equal(before, after) == report.skipped
        assert all(bool(value.isfinite().all()) for value in after.values())
        before = after
    assert one.step == 6


def test_one_bad_batch_of_several_spoils_the_update() -> None:
    one = trainer(model=poisoned(5), accumulate=3, steps=3)
    assert [report.skipped for report in one.steps()] == [False, True, False]


def test_a_finite_loss_with_a_gradient_that_is_not_is_refused() -> None:
    class Steep(Bag):
        def loss(self, batch: TextBatch, smoothing: float = 0.0) -> Tensor:
            return super().loss(batch, smoothing) + torch.sqrt(self.output.bias[0] * 0)

    report = next(trainer(model=Steep()).steps())
    assert math.isfinite(report.loss)
    assert report.skipped


def test_three_in_a_row_end_the_run_and_two_do_not() -> None:
    assert len(list(trainer(model=poisoned(2, 3, 5, 6), steps=8).steps())) == 8
    steps = trainer(model=poisoned(4, 5, 6), steps=8).steps()
    assert [next(steps).skipped for _ in range(6)] == [False] * 3 + [True] * 3
    with pytest.raises(NotFinite, match="3 steps in a row, up to step 6"):
        next(steps)


@pytest.mark.parametrize(("optimizer", "keys"), [("adam", 3), ("adamw", 3), ("sgd", 1)])
def test_an_optimizer_goes_on_as_if_it_had_never_stopped(optimizer: str, keys: int) -> None:
    whole, first = (trainer(optimizer=optimizer, weight_decay=0.01) for _ in range(2))
    list(whole.steps())
    for report in first.steps():
        if report.step == 7:
            break
    names = [name for name, _ in first.model.named_parameters()]
    tensors = {part: {k: v.clone() for k, v in values.items()} for part, values in first.tensors().items()}
    assert len(tensors["optimizer"]) == keys * len(names)
    second = trainer(optimizer=optimizer, weight_decay=0.01)
    second.restore(tensors, json.loads(json.dumps(first.state())))
    assert equal(everything(second), everything(first))
    list(second.steps())
    assert equal(everything(second), everything(whole))
    assert second.state() == whole.state()


def test_restored_moments_are_copies_and_stale_ones_go() -> None:
    one = trainer()
    next(one.steps())
    kept = {name: value.clone() for name, value in optimizer_tensors(one.model, one.optimizer).items()}
    given = {name: value.clone() for name, value in kept.items()}
    restore_optimizer(one.model, one.optimizer, given)
    next(one.steps())
    assert equal(given, kept)
    restore_optimizer(one.model, one.optimizer, {})
    assert optimizer_tensors(one.model, one.optimizer) == {}
