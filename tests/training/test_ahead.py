"""Batches prepared ahead are the batches, in their order; what was only prepared is not taken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.batches import Integers, Part, PlannedBatches
from saccade.data.tensors import Batch, TextInput, moved
from saccade.training import ahead
from saccade.training.ahead import Ahead, pinned
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train
from saccade.training.train_config import Config
from saccade.training.trainer import Trainer
from tests.second_device import DEVICE, on_device, second_device
from tests.systems.tiny import tiny, without_dropout

from . import small
from .runs import contents

CPU = torch.device("cpu")


class Rows:
    """Examples of which a batch is their numbers."""

    def __len__(self) -> int:
        return 10

    def lengths_of(self, indices: Any) -> Integers:
        return np.ones(len(indices), dtype=np.int64)

    def batch(self, indices: Any) -> torch.Tensor:
        if len(indices) > 4:
            raise ValueError("too many")
        return torch.tensor(np.asarray(indices))


def source() -> PlannedBatches:
    return PlannedBatches(Rows(), batch_tokens=3)


def taken(batches: Any, count: int) -> list[list[int]]:
    return [batches.next().tolist() for _ in range(count)]


def test_batches_and_states_are_those_of_the_source() -> None:
    plain, early = source(), Ahead(source(), CPU)
    for _ in range(9):  # two epochs and more
        assert early.next().tolist() == plain.next().tolist()
        assert (early.state(), early.epoch) == (plain.state(), plain.epoch)
    assert early.steps(2.0) == plain.steps(2.0) == 8
    early.close()


def test_it_goes_on_where_a_state_was() -> None:
    early = Ahead(source(), CPU)
    taken(early, 3)
    state, following = early.state(), taken(early, 4)
    early.restore(state)
    assert (early.state(), taken(early, 4)) == (state, following)
    early.close()


def test_another_part_counts_at_once() -> None:
    plain, early = source(), Ahead(source(), CPU)
    taken(plain, 1), taken(early, 1)
    plain.part = early.part = Part(1, 2)
    assert early.part == Part(1, 2)
    assert taken(early, 3) == taken(plain, 3)
    early.close()


def test_what_fails_on_the_thread_is_raised() -> None:
    early = Ahead(PlannedBatches(Rows(), batch_tokens=9), CPU)
    with pytest.raises(ValueError, match="too many"):
        early.next()
    early.close()


def test_what_is_not_on_the_host_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no memory to pin for; torch is asked for all tensors of a batch, and no others."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda own: own + 1)
    text = TextInput(torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    made = pinned(Batch(text, "label"))
    assert (made.input.tokens.tolist(), made.input.lengths.tolist(), made.target) == ([[1, 1]], [1], "label")
    assert pinned(torch.zeros(2, device="meta")).device.type == "meta"


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("kind", ["pictures", "expansion", "glimpses", "windows"])
def test_a_run_has_the_same_bits_without_it(kind: str, tmp_path: Path) -> None:
    """Also where inputs, or what a model does, are drawn by chance."""
    settings = small.KINDS[kind](tmp_path)
    table = {**settings.table()}
    for prefetch in (True, False):
        table["train"] = {**settings.table()["train"], "prefetch": prefetch}
        train(tmp_path / str(prefetch), resolve(table), Quiet())
    assert contents(tmp_path / "True") == contents(tmp_path / "False")


@pytest.mark.usefixtures("put_back")
def test_batches_are_the_same_on_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the stand-in device, which each thread must enter by itself: the steps are those of the CPU, either way."""

    def entered(value: Any, device: torch.device) -> Any:
        with second_device():
            return moved(value, device)

    def steps(device: torch.device, *, prefetch: bool) -> list[float]:
        one = tiny("bag_of_words", **without_dropout("bag_of_words"))
        batches = PlannedBatches(one.task.corpus(one.examples), batch_tokens=20)
        model = one.model if device.type == "cpu" else on_device(one.model)
        trainer = Trainer(model, batches, Config(steps=6, prefetch=prefetch))
        assert isinstance(trainer.batches, Ahead) == prefetch
        losses = [report.loss for report in trainer.steps()]
        trainer.close()
        return losses

    monkeypatch.setattr(ahead, "moved", entered)
    with second_device():
        found = [steps(DEVICE, prefetch=prefetch) for prefetch in (True, False)]
    assert found[0] == found[1]
    assert found[0] == pytest.approx(steps(CPU, prefetch=True), rel=1e-5)
