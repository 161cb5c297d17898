"""A run without checkpoints yet."""

from pathlib import Path

import pytest

from saccade.training.checkpoints.store import Checkpoints


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "run")
