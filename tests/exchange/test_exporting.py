"""Exports: a directory that is written whole or not at all."""

import errno
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import UnknownName, UsageError
from saccade.exchange.exporting import export, formats
from saccade.exchange.families import marian

from . import models


def test_an_export_that_the_disk_refuses_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.run(tmp_path / "run", final_norm="none", positions="sinusoidal_halves")

    def full(*given: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(marian, "save_file", full)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\); choose another directory"):
        export(model, tmp_path / "out", "marian")
    assert not (tmp_path / "out").exists()


def test_formats_are_the_families_and_other_runtimes(tmp_path: Path) -> None:
    assert list(formats()) == ["bert", "gpt2", "marian", "roberta", "xlnet", "ct2", "onnx"]
    with pytest.raises(UnknownName, match="unknown format 'onx'; did you mean 'onnx'"):
        export(models.run(tmp_path / "run"), tmp_path / "out", "onx")
    assert not (tmp_path / "out").exists()
