"""The loop: gradients of one update, parameter groups, the order of the data, updates that are refused, and going on."""

import json
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.batches import PlannedBatches, plan
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import Batch
from saccade.errors import DataError
from saccade.readers.text import TextColumn
from saccade.systems.system import Output, System
from saccade.task import Corpus
from saccade.training.memory import optimizer_tensors, restore_optimizer, seed_all
from saccade.training.train_config import Config
from saccade.training.trainer import NotFinite, Report, Trainer, make_optimizer, parameter_groups
from saccade.writers.text import TextTargets

from .sittings import equal

pytestmark = pytest.mark.usefixtures("put_back")

Optimizer = Literal["adam", "adamw", "sgd", "rmsprop"]
OPTIMIZERS: tuple[Optimizer, ...] = ("adam", "adamw", "sgd", "rmsprop")


class Bag(System):
    """The mean of the input's vectors predicts which tokens the target holds: the least that can be trained.

    In the calls that `poison` names the loss is multiplied with its number; loss and count grow by `scale`.
    """

    def __init__(self, poison: Mapping[int, float] = MappingProxyType({}), scale: int = 1) -> None:
        super().__init__()
        self.poison, self.scale, self.calls = poison, scale, 0
        self.embedding = nn.Embedding(12, 5)
        self.output = nn.Linear(5, 12)

    def forward(self, batch: Batch) -> Output:
        text, target = batch.input, batch.target
        live = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
        mean = (self.embedding(text.tokens) * live[..., None]).sum(1) / text.lengths[:, None]
        logits = self.output(mean)[:, None].expand(-1, target.tokens.shape[1], -1)
        losses = F.cross_entropy(
            logits.transpose(1, 2), target.tokens, label_smoothing=self.smoothing(target), reduction="none"
        )
        written = torch.arange(target.tokens.shape[1]) < target.lengths[:, None]
        self.calls += 1
        hits = ((logits.argmax(-1) == target.tokens) * written).sum()
        loss = (losses * written).sum() * self.poison.get(self.calls, 1.0)
        return Output(loss * self.scale, written.sum() * self.scale, {"hits": hits * self.scale})


def rows(count: int = 40, seed: int = 0) -> list[list[list[int]]]:
    """Token ids of inputs and targets."""
    chance = random.Random(seed)
    return [[[chance.randrange(4, 12) for _ in range(chance.randint(1, 6))] for _ in range(count)] for _ in range(2)]


def corpus(count: int = 40, label_smoothing: float = 0.0) -> Corpus:
    inputs, targets = rows(count)
    own = TextTargets(Ragged.of(targets), np.ones(count, dtype=np.int64), 0, label_smoothing)
    return Corpus(TextColumn(Ragged.of(inputs), 0), own)


class Listed(PlannedBatches):
    """These batches, again and again."""

    def __init__(self, corpus: Corpus, batches: list[np.ndarray[Any, Any]]) -> None:
        super().__init__(corpus, batch_tokens=60)
        self.listed = batches

    def _batches(self, group: int) -> list[Any]:
        return self.listed


def trainer(*, data: Any = None, model: Bag | None = None, **keys: Any) -> Trainer:
    seed_all(1)
    config = replace(Config(steps=20, batch_tokens=60, learning_rate=0.01), **keys)
    data = corpus() if data is None else data
    return Trainer(model or Bag(), data.batches(config) if isinstance(data, Corpus) else data, config)


def seeded(kind: type[Bag] = Bag, **keys: Any) -> Bag:
    seed_all(1)
    return kind(**keys)


def poisoned(*calls: int, factor: float = math.nan) -> Bag:
    return seeded(poison=dict.fromkeys(calls, factor))


def copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def norm(tensors: Mapping[str, Tensor]) -> float:
    """Over all tensors together."""
    return math.sqrt(sum(float(one.double().square().sum()) for one in tensors.values()))


def moved(one: Trainer, updates: int = 1) -> tuple[Report, dict[str, Tensor]]:
    """The last report of so many updates, and by how much they changed each parameter."""
    before, steps = copied(one.model), one.steps()
    report = [next(steps) for _ in range(updates)][-1]
    return report, {name: weight - before[name] for name, weight in copied(one.model).items()}


def everything(trainer: Trainer) -> dict[str, Tensor]:
    """Copies of the parameters and of the optimizer's memory."""
    tensors = trainer.tensors()
    return {f"{part}/{name}": value.clone() for part in ("model", "optimizer") for name, value in tensors[part].items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_batches_for_one_update_are_one_batch_of_both(optimizer: Optimizer) -> None:
    """Losses are weighted by tokens: the two batches have different numbers of them."""
    data, parts = corpus(12), [np.arange(0, 9), np.arange(9, 12)]
    found = []
    for batches in (parts, [np.concatenate(parts)]):
        one = trainer(data=Listed(data, batches), accumulate=len(batches), clip=0.0, optimizer=optimizer)
        found.append(moved(one))
    (first, halves), (second, whole) = found
    assert whole.keys() == {"embedding.weight", "output.weight", "output.bias"}
    assert norm(whole) > 1e-3
    for name, change in whole.items():
        torch.testing.assert_close(halves[name], change, atol=1e-5, rtol=1e-4)
    assert first.loss == pytest.approx(second.loss, rel=1e-5)
    assert first.tokens == second.tokens == sum(len(row) for row in rows(12)[1])
    loss = trainer().model(data.batch(range(12))).loss.item()
    assert second.loss == pytest.approx(loss / second.tokens, rel=1e-5)


@pytest.mark.parametrize("clip", [0.0, 0.05])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_divides_by_the_count(optimizer: Optimizer, clip: float) -> None:
    """Loss and count four times as large are the same update, and the same memory of it."""
    plain = trainer(model=seeded(), optimizer=optimizer, clip=clip, weight_decay=0.1)
    scaled = trainer(model=seeded(scale=4), optimizer=optimizer, clip=clip, weight_decay=0.1)
    (one, _), (other, change) = moved(plain, 3), moved(scaled, 3)
    assert norm(change) > 1e-3
    for name, value in everything(plain).items():
        torch.testing.assert_close(everything(scaled)[name], value, atol=1e-7, rtol=1e-5)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)
    assert other.grad_norm == pytest.approx(one.grad_norm, rel=1e-6)
    assert other.metrics == pytest.approx(one.metrics)
    assert other.tokens == 4 * one.tokens


def first_moment(one: Trainer) -> dict[str, Tensor]:
    """The gradient as the optimizer saw it in its first update, up to a factor of the optimizer's own."""
    key = {"adam": "exp_avg", "adamw": "exp_avg", "sgd": "momentum_buffer", "rmsprop": "square_avg"}[one.config.optimizer]
    found = optimizer_tensors(one.model, one.optimizer)
    tensors = {name: value for name, value in found.items() if name.endswith(f"/{key}")}
    return {name: value.sqrt() for name, value in tensors.items()} if key == "square_avg" else tensors


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_clips(optimizer: Optimizer) -> None:
    def first(clip: float) -> tuple[Report, dict[str, Tensor]]:
        one = trainer(clip=clip, optimizer=optimizer)
        report, _ = moved(one)
        return report, first_moment(one)

    free, unclipped = first(0.0)
    tight, clipped = first(free.grad_norm / 10)
    assert tight.grad_norm == pytest.approx(free.grad_norm, rel=1e-5)  # which is told as it was
    for name, moment in unclipped.items():  # shorter, in the same direction
        torch.testing.assert_close(clipped[name], moment / 10, rtol=1e-4, atol=1e-8)
    _, loose = first(free.grad_norm * 10)
    assert equal(loose, unclipped)


def test_clipping_bounds_the_update() -> None:
    change: dict[float, float] = {}
    for clip in (0.0, 1e-3):
        report, found = moved(trainer(clip=clip, optimizer="sgd", momentum=0.0, learning_rate=0.5))
        change[clip] = norm(found)
        expected = 0.5 * (min(report.grad_norm, clip) if clip else report.grad_norm)
        assert change[clip] == pytest.approx(expected, rel=1e-3)
    assert change[1e-3] < change[0.0] / 10


def test_label_smoothing_reaches_the_loss_in_training_only() -> None:
    found = []
    for smoothing in (0.0, 0.3):
        data = corpus(label_smoothing=smoothing)
        one = trainer(data=data, batch_tokens=10_000)
        batch = data.batch(np.arange(40))
        expected = one.model(batch).loss.item() / int(batch.target.lengths.sum())
        found.append(next(one.steps()).loss)
        assert found[-1] == pytest.approx(expected, rel=1e-5)
        found.append(seeded().eval()(batch).loss.item())
    assert abs(found[0] - found[2]) > 1e-3
    assert found[1] == found[3]


def test_metrics_are_means_over_everything_predicted() -> None:
    one = trainer(accumulate=2)
    hits = count = 0
    real = one.model.forward

    def forward(batch: Batch) -> Output:
        nonlocal hits, count
        output: Output = real(batch)
        hits, count = hits + int(output.metrics["hits"]), count + int(output.count)
        return output

    one.model.forward = forward
    report = next(one.steps())
    assert report.metrics == {"hits": pytest.approx(hits / count)}
    assert report.tokens == count


def test_a_count_may_be_a_number_and_metrics_may_be_missing() -> None:
    class Plain(Bag):
        def forward(self, batch: Batch) -> Output:
            output = super().forward(batch)
            return Output(output.loss, int(output.count))

    report, _ = moved(trainer(model=seeded(Plain)))
    assert report.metrics == {}
    assert report == replace(moved(trainer())[0], metrics={}, seconds=report.seconds)


def test_the_learning_rate_follows_the_schedule() -> None:
    one = trainer(schedule="cosine", warmup=4, steps=9, learning_rate=0.5)
    rates = []
    for report in one.steps():
        rates.append(report.learning_rate)
        assert {group["lr"] for group in one.optimizer.param_groups} == {report.learning_rate}
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert sorted(rates[3:], reverse=True) == rates[3:]
    assert [report.step for report in trainer(steps=3).steps()] == [1, 2, 3]


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_falling_rate_ends_near_its_minimum(schedule: str) -> None:
    keys: dict[str, Any] = {"schedule": schedule, "warmup": 4, "steps": 200, "learning_rate": 0.5}
    floor, free = (
        [report.learning_rate for report in trainer(min_learning_rate=least, **keys).steps()] for least in (0.2, 0.0)
    )
    assert floor[:4] == free[:4]  # the warm-up rises from 0
    assert floor[3:] == pytest.approx([0.2 + 0.6 * rate for rate in free[3:]])
    assert floor[-1] == pytest.approx(0.2, abs=3e-3)
    assert min(floor[3:]) > 0.2


def test_training_lowers_the_loss() -> None:
    for optimizer in OPTIMIZERS:  # RMSprop's first steps are long: its mean square starts from 0
        rate = 0.003 if optimizer == "rmsprop" else 0.1
        losses = [report.loss for report in trainer(optimizer=optimizer, steps=60, learning_rate=rate).steps()]
        assert sum(losses[-5:]) < 0.9 * sum(losses[:5]), optimizer


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_key_reaches_the_optimizer(optimizer: Optimizer) -> None:
    config = Config(optimizer=optimizer, momentum=0.5, beta1=0.6, beta2=0.7, alpha=0.8, weight_decay=0.25, learning_rate=0.3)
    (group,) = make_optimizer(Bag(), config).param_groups
    assert (group["lr"], group["weight_decay"]) == (0.3, 0.25)
    adam = optimizer in ("adam", "adamw")
    assert group.get("betas") == ((0.6, 0.7) if adam else None)
    assert group.get("momentum") == (None if adam else 0.5)
    assert group.get("alpha") == (0.8 if optimizer == "rmsprop" else None)
    assert Config().alpha == torch.optim.RMSprop(Bag().parameters()).defaults["alpha"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_only_matrices_decay_if_that_is_wanted(optimizer: Optimizer) -> None:
    model = Bag()
    config = Config(optimizer=optimizer, weight_decay=0.25, decay="matrices")
    decayed, others = make_optimizer(model, config).param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.25, 0.0)
    assert [id(one) for one in decayed["params"]] == [id(model.embedding.weight), id(model.output.weight)]
    assert [id(one) for one in others["params"]] == [id(model.output.bias)]
    (every,) = parameter_groups(model, replace(config, decay="all"))
    assert [id(one) for one in every["params"]] == [id(one) for one in model.parameters()]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_decay_moves_matrices_and_no_bias(optimizer: Optimizer) -> None:
    keys: dict[str, Any] = {"optimizer": optimizer, "decay": "matrices", "learning_rate": 0.1}
    plain, decayed = (moved(trainer(weight_decay=decay, **keys))[1] for decay in (0.0, 0.3))
    assert torch.equal(plain["output.bias"], decayed["output.bias"])
    assert not torch.equal(plain["output.weight"], decayed["output.weight"])
    whole = moved(trainer(weight_decay=0.3, **{**keys, "decay": "all"}))[1]
    assert not torch.equal(plain["output.bias"], whole["output.bias"])


@pytest.mark.parametrize("accumulate", [1, 3])
def test_every_example_comes_once_an_epoch(accumulate: int) -> None:
    seen: list[int] = []

    class Watched(Corpus):
        def batch(self, indices: Any) -> Batch:
            seen.extend(int(index) for index in indices)
            return super().batch(indices)

    data = corpus()
    one = trainer(data=Watched(data.inputs, data.targets), accumulate=accumulate, steps=30, prefetch=False)
    for report in one.steps():
        assert report.epoch == one.batches.epoch == max(0, len(seen) - 1) // 40
    assert len(seen) > 120
    epochs = [seen[start : start + 40] for start in range(0, len(seen) - 40, 40)]
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_the_batches_are_those_of_the_config() -> None:
    data = corpus()
    assert isinstance(trainer(data=data, seed=3, prefetch=False).batches, PlannedBatches)
    sizes = [len(trainer(data=data, batch_size=7).batches.next().target) for _ in range(2)]
    assert sizes == [7, 7]
    lengths = [batch.tolist() for batch in plan(data.lengths, 60, 3, 0)]
    source = trainer(data=data, seed=3).batches
    assert [source.next().target.lengths.tolist() for _ in lengths] == [data.lengths[own, 1].tolist() for own in lengths]


def test_nothing_to_train_on_is_said() -> None:
    with pytest.raises(DataError, match="the training data is empty"):
        next(trainer(data=corpus(0)).steps())


@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_gradient_that_is_not_finite_changes_nothing(optimizer: Optimizer, factor: float) -> None:
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
        def forward(self, batch: Batch) -> Output:
            output = super().forward(batch)
            return replace(output, loss=output.loss + torch.sqrt(self.output.bias[0] * 0))

    report = next(trainer(model=Steep()).steps())
    assert math.isfinite(report.loss)
    assert report.skipped


def test_three_in_a_row_end_the_run_and_two_do_not() -> None:
    assert len(list(trainer(model=poisoned(2, 3, 5, 6), steps=8).steps())) == 8
    steps = trainer(model=poisoned(4, 5, 6), steps=8).steps()
    assert [next(steps).skipped for _ in range(6)] == [False] * 3 + [True] * 3
    with pytest.raises(NotFinite, match="3 steps in a row, up to step 6"):
        next(steps)


@pytest.mark.parametrize("decay", ["all", "matrices"])
@pytest.mark.parametrize(("optimizer", "keys"), [("adam", 3), ("adamw", 3), ("sgd", 1), ("rmsprop", 3)])
def test_an_optimizer_goes_on_as_if_it_had_never_stopped(optimizer: str, keys: int, decay: str) -> None:
    given: dict[str, Any] = {"optimizer": optimizer, "weight_decay": 0.01, "decay": decay}
    whole, first = (trainer(**given) for _ in range(2))
    list(whole.steps())
    for report in first.steps():
        if report.step == 7:
            break
    names = [name for name, _ in first.model.named_parameters()]
    tensors = {part: {k: v.clone() for k, v in values.items()} for part, values in first.tensors().items()}
    assert len(tensors["optimizer"]) == keys * len(names)
    second = trainer(**given)
    second.restore(tensors, json.loads(json.dumps(first.state())))
    assert equal(everything(second), everything(first))
    list(second.steps())
    assert equal(everything(second), everything(whole))
    assert second.state() == whole.state()


def test_any_source_of_batches_is_taken_and_resumed() -> None:
    """An environment, say, whose state is its own."""

    class Stream:
        epoch = 0

        def __init__(self) -> None:
            self.drawn = 0

        def next(self) -> Batch:
            self.drawn += 1
            return corpus().batch([self.drawn % 40, self.drawn % 7])

        def state(self) -> dict[str, int]:
            return {"drawn": self.drawn}

        def restore(self, state: Mapping[str, int]) -> None:
            self.drawn = state["drawn"]

        def steps(self, epochs: float) -> int:
            return round(40 * epochs)

    whole, first, second = (trainer(data=Stream(), steps=6, accumulate=2) for _ in range(3))
    list(whole.steps())
    steps = first.steps()
    next(steps), next(steps)
    assert first.state()["batches"] == {"drawn": 4}
    second.restore(first.tensors(), json.loads(json.dumps(first.state())))
    assert [report.step for report in second.steps()] == [3, 4, 5, 6]
    assert equal(everything(second), everything(whole))


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
