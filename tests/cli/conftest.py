"""A small trained run, made once; every test works on a copy of it, in a directory of its own."""

import contextlib
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from saccade.cli.main import run

from .commands import EXAMPLES, TRAIN


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with good.tsv and the run that was trained on it."""
    place = tmp_path_factory.mktemp("trained")
    (place / "good.tsv").write_text(EXAMPLES, encoding="utf-8")
    threads = torch.get_num_threads()
    with contextlib.chdir(place):
        assert run(shlex.split(f"{TRAIN} --out run --quiet")) == 0
    torch.set_num_threads(threads)
    return place


@pytest.fixture
def place(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, which is where the test is; afterwards threads and environment are as they were."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)
