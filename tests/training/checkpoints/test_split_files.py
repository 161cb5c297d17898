"""Files of the parts of tensors: read back as they were, whole, and damage is told."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from saccade import durable_files
from saccade.errors import DataError, SaccadeError
from saccade.training.checkpoints.split_files import read, tied, write
from tests.training import one


def tensors() -> dict[str, dict[str, Tensor]]:
    weight = torch.arange(6.0).view(3, 2)
    return {
        "model": {"in.weight": weight, "bias": torch.ones(2), "empty": torch.zeros(0)},
        "optimizer": {"in.weight/exp_avg": weight * 2, "in.weight/step": torch.tensor(3.0)},
    }


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Path], list[Path]]:
    """A directory, its files, and those that were put on the disk."""
    synced: list[Path] = []
    monkeypatch.setattr(durable_files, "sync", synced.append)
    with one.group() as mesh:
        given = tensors()
        given["model"]["in.weight"] = one.split(given["model"]["in.weight"], mesh)
        files = write(tmp_path, given)
    return tmp_path, files, synced


def test_what_was_written_is_read_whole(written: tuple[Path, list[Path], list[Path]]) -> None:
    folder, files, synced = written
    assert files == synced
    assert [file.name for file in files] == [file.name for file in sorted(folder.glob("shard-00001-*"))] != []
    found = read(folder, {"out.weight": "in.weight"})
    expected = tensors()
    expected["model"]["out.weight"] = expected["model"]["in.weight"]
    assert {group: own.keys() for group, own in found.items()} == {group: own.keys() for group, own in expected.items()}
    assert all(torch.equal(found[group][name], value) for group, own in expected.items() for name, value in own.items())


def test_a_part_that_is_missing_is_told(written: tuple[Path, list[Path], list[Path]]) -> None:
    folder, files, _ = written
    data = files[0].read_bytes()
    files[0].write_bytes(data[:-4])
    with pytest.raises(DataError, match="its parts do not make whole tensors"):
        read(folder, {})


def test_a_disk_that_refuses_is_told_with_the_rank(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with one.group(), pytest.raises(SaccadeError, match=r"^rank 0: cannot write its part of the checkpoint \("):
        write(tmp_path / "file", tensors())


def test_tensors_of_several_names_are_written_once() -> None:
    weight = torch.ones(2)
    given = {"in": weight, "other": torch.ones(2), "out": weight, "empty": torch.zeros(0), "void": torch.zeros(0)}
    assert tied(given) == {"out": "in"}
