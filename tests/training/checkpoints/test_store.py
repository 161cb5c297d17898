"""Checkpoints keep what they were given: all types, ties, the newest few and the best, and say no in one line."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from saccade.errors import DataError, SaccadeError, UsageError
from saccade.training.checkpoints.store import Checkpoints
from tests.training.checkpoints.saves import equal, hidden, is_whole, save, tensors_of


def test_what_is_saved_comes_back(checkpoints: Checkpoints) -> None:
    path = save(checkpoints, 500)
    found = checkpoints.load()
    assert is_whole(found)
    assert (found.step, found.path, found.passed_over) == (500, path, [])
    assert path == checkpoints.run / "checkpoints" / "step-00000500"
    assert {file.name for file in path.iterdir()} == {
        *("model.safetensors", "optimizer.safetensors", "random.safetensors", "state.json", "MANIFEST.json"),
    }
    assert (checkpoints.folder / "LAST").read_text().split()[0] == path.name
    assert hidden(checkpoints) == []


def test_newest_and_best_are_kept(checkpoints: Checkpoints) -> None:
    for step in range(1, 9):
        save(checkpoints, step, best=step in (1, 2))
        assert len(checkpoints.steps()) <= 4
    assert checkpoints.steps() == [2, 6, 7, 8]
    assert is_whole(checkpoints.load("best"))
    assert checkpoints.load("best").step == 2
    assert checkpoints.load(7).step == 7
    assert hidden(checkpoints) == []


def test_best_is_kept_though_nothing_names_it(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1, best=True)
    (checkpoints.folder / "BEST").unlink()  # as after a kill just before it was written
    for step in range(2, 7):
        save(checkpoints, step)
    assert checkpoints.load("best").step == 1


def test_same_step_again_replaces(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1, best=True)
    save(checkpoints, 2)
    save(checkpoints, 2, variant=5)
    found = checkpoints.load()
    assert is_whole(found)
    assert found.state["variant"] == 5
    assert (checkpoints.steps(), hidden(checkpoints)) == ([1, 2], [])


@pytest.mark.parametrize("keep", [1, 2])
def test_going_back_makes_the_earlier_step_the_newest(tmp_path: Path, keep: int) -> None:
    checkpoints = Checkpoints(tmp_path, keep=keep)
    for step in (100, 200, 300):
        save(checkpoints, step)
    save(checkpoints, 150, variant=1)
    assert checkpoints.load().step == 150
    save(checkpoints, 160, variant=1)
    assert checkpoints.load().step == 160
    assert checkpoints.steps() == [150, 160][-keep:]


def test_long_runs_stay_in_order(checkpoints: Checkpoints) -> None:
    for step in (99_999_999, 100_000_000):
        save(checkpoints, step)
    assert checkpoints.load().step == 100_000_000
    assert checkpoints.steps() == [99_999_999, 100_000_000]


def test_manifest_tells_where_it_came_from(checkpoints: Checkpoints) -> None:
    manifest = json.loads((save(checkpoints, 3) / "MANIFEST.json").read_text())["content"]
    assert manifest["versions"]["torch"] == torch.__version__
    assert (manifest["step"], manifest["threads"]) == (3, torch.get_num_threads())


@pytest.mark.parametrize("which", ["last", "best", 3])
def test_nothing_there(tmp_path: Path, which: Any) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty" / "checkpoints").mkdir(parents=True)
    for run in ("none", "file", "empty"):
        with pytest.raises(DataError, match=f"^no checkpoint in {tmp_path / run}; "):
            Checkpoints(tmp_path / run).load(which)
        assert Checkpoints(tmp_path / run).steps() == []
        Checkpoints(tmp_path / run).sweep()


def test_wrong_step_names_those_there(checkpoints: Checkpoints) -> None:
    save(checkpoints, 1)
    save(checkpoints, 2)
    with pytest.raises(DataError, match=r"^no checkpoint of step 3 in .*; there are 1, 2$"):
        checkpoints.load(3)
    with pytest.raises(DataError, match=r"^no best checkpoint in "):
        checkpoints.load("best")


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keep must be at least 1, got 0"):
        Checkpoints(tmp_path, keep=0)
    with pytest.raises(UsageError, match="step must be 0 or more, got -1"):
        save(Checkpoints(tmp_path), -1)


def test_too_little_space_is_told_before_anything_is_written(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(checkpoints, 1)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.name != "MANIFEST.json")
    free = 2 * size - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(SaccadeError, match=r"^not enough space in .*: [\d.]+ kB needed .*, [\d.]+ kB there; free"):
        save(checkpoints, 1)
    assert (checkpoints.steps(), hidden(checkpoints)) == ([1], [])
    free += 1
    save(checkpoints, 1)


def test_saving_does_not_change_or_hold_what_is_given(checkpoints: Checkpoints) -> None:
    given = tensors_of(1)
    checkpoints.save(1, given, {"variant": 0})
    given["model"]["embedding"].zero_()
    assert equal(checkpoints.load().tensors, tensors_of(1))
    checkpoints.load().tensors["model"]["embedding"].zero_()
    assert equal(checkpoints.load().tensors, tensors_of(1))
