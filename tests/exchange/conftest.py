"""A published model, made once, and copies of it to be spoiled."""

import shutil
from pathlib import Path

import pytest

from . import models


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published model."""
    path = tmp_path_factory.mktemp("published") / "opus"
    models.published(path)
    return path


@pytest.fixture
def opus(model: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return Path(shutil.copytree(model, tmp_path / "opus"))
