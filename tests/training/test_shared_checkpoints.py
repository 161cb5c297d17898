"""A checkpoint of several processes: if one of them fails, none has it, and all know which one failed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from saccade import processes
from saccade.errors import SaccadeError
from saccade.training import shared_checkpoints
from saccade.training.checkpoints import split_files
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.parallel import Layout
from saccade.training.shared_checkpoints import Unsaved, save

from . import one


def trainer(*, sharded: bool, tensor: int = 1) -> Any:
    """What a checkpoint is made of, at step 3; two names for one tensor."""
    weight = torch.arange(4.0)
    tensors = {"model": {"in": weight, "out": weight}, "optimizer": {"in/m": weight + 1}, "random": {"torch": weight}}
    parallel = SimpleNamespace(sharded=sharded, layout=Layout(2, tensor))
    return SimpleNamespace(step=3, parallel=parallel, tensors=lambda: tensors)


@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_saved_is_loaded(sharded: bool, tmp_path: Path) -> None:
    shelf = Checkpoints(tmp_path)
    with one.group():
        save(shelf, trainer(sharded=sharded), {"tokens": 5}, best=False)
    found = shelf.load("last")
    assert found.state["tokens"] == 5
    assert torch.equal(found.tensors["model"]["out"], torch.arange(4.0))
    assert torch.equal(found.tensors["optimizer"]["in/m"], torch.arange(4.0) + 1)
    assert found.tensors["random_0"].keys() >= {"torch", "numpy", "python"}
    assert bool(list(tmp_path.glob("checkpoints/step-*/shard-*"))) == sharded


def test_random_states_are_those_of_each_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those who split a model one is enough."""
    states = [{"torch": torch.tensor([float(number)])} for number in range(4)]
    monkeypatch.setattr(processes, "everyone", lambda own: [""] if isinstance(own, str) else states)
    save(Checkpoints(tmp_path), trainer(sharded=False, tensor=2), {}, best=False)
    tensors = Checkpoints(tmp_path).load("last").tensors
    assert {name: own["torch"].item() for name, own in tensors.items() if name.startswith("random")} == {
        "random_0": 0.0,
        "random_1": 2.0,
    }


def test_who_could_not_write_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path, tensors: Any) -> Any:
        raise SaccadeError("no space")

    monkeypatch.setattr(split_files, "write", refuse)
    with pytest.raises(Unsaved, match=r"^rank 0: no space$"):
        save(Checkpoints(tmp_path), trainer(sharded=True), {}, best=False)
    assert Checkpoints(tmp_path).steps() == []
    assert not list(tmp_path.glob("checkpoints/.tmp-*"))


def test_who_does_not_lead_follows_or_is_called_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that all make are as many on either side, whether the first process writes or fails before."""
    calls: list[Any] = []

    def everyone(own: Any) -> list[Any]:
        calls.append(own)
        return [own, own]

    monkeypatch.setattr(processes, "everyone", everyone)
    save(Checkpoints(tmp_path), trainer(sharded=False), {}, best=False)
    led = len(calls)
    monkeypatch.setattr(Checkpoints, "_tidy", lambda own: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(Unsaved, match="rank 0: cannot save step 3"):
        save(Checkpoints(tmp_path), trainer(sharded=False), {}, best=False)
    failed = len(calls) - led
    monkeypatch.setattr(processes, "rank", lambda: 1)
    save(Checkpoints(tmp_path), trainer(sharded=False), {}, best=False)
    assert len(calls) - led - failed == led == failed == 3
    assert shared_checkpoints.Unsaved.exit_code == 1
