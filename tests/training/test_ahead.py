"""Batches prepared ahead are the batches, in their order; what was only prepared is not taken."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.batches import Integers, Part, PlannedBatches
from saccade.training.ahead import Ahead, pinned
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train

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
    plain, ahead = source(), Ahead(source(), CPU)
    for _ in range(9):  # two epochs and more
        assert ahead.next().tolist() == plain.next().tolist()
        assert (ahead.state(), ahead.epoch) == (plain.state(), plain.epoch)
    assert ahead.steps(2.0) == plain.steps(2.0) == 8
    ahead.close()


def test_it_goes_on_where_a_state_was() -> None:
    ahead = Ahead(source(), CPU)
    taken(ahead, 3)
    state, following = ahead.state(), taken(ahead, 4)
    ahead.restore(state)
    assert (ahead.state(), taken(ahead, 4)) == (state, following)
    ahead.close()


def test_another_part_counts_at_once() -> None:
    plain, ahead = source(), Ahead(source(), CPU)
    taken(plain, 1), taken(ahead, 1)
    plain.part = ahead.part = Part(1, 2)
    assert ahead.part == Part(1, 2)
    assert taken(ahead, 3) == taken(plain, 3)
    ahead.close()


def test_what_fails_on_the_thread_is_raised() -> None:
    ahead = Ahead(PlannedBatches(Rows(), batch_tokens=9), CPU)
    with pytest.raises(ValueError, match="too many"):
        ahead.next()
    ahead.close()


def test_what_is_not_on_the_host_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no memory to pin for; torch is asked for all tensors of a batch, and no others."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda own: own + 1)
    from saccade.data.tensors import Batch, TextInput

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
