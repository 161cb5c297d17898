"""Opens a model: the directory of a run, or one in Hugging Face's layout."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from saccade.data.examples import Splits
from saccade.data.formats.text_files import to_stderr
from saccade.errors import DataError, UsageError
from saccade.exchange import importing, published
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.training.config_history import CONFIG
from saccade.training.devices import device_named
from saccade.training.run import Run, Which


class LoadedModel(TrainedModel):
    """A published model as it lies in its directory; nothing is written."""

    def __init__(self, path: Path, device: str = "auto") -> None:
        self._imported = importing.read(path)
        super().__init__(Run(path, self._imported.settings), None, device)

    @cached_property
    def task(self) -> Task:
        return self._imported.published.task

    @cached_property
    def _loaded(self) -> tuple[Any, int, Mapping[str, str], Path]:
        return self._imported.module.to(device_named(self._device)), 0, {}, self.run.path / published.PARAMETERS

    @property
    def files(self) -> Sequence[Path]:
        return self._imported.published.files

    @property
    def splits(self) -> Splits:
        raise DataError(f"{self.run.path}: a published model has no data of its own; give data, such as my.tsv")


def load(
    path: str | Path, checkpoint: Which | None = None, device: str = "auto", note: Callable[[str], None] = to_stderr
) -> TrainedModel:
    """A trained model: the directory of a run, or one in Hugging Face's layout (config.json with a known model_type).

    Of a run the best checkpoint is taken unless another is named: "last", "average", a step. `note` hears of damaged ones.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        what = "an empty text" if path == "" else repr(path)
        raise UsageError(f"load: expected the directory of a run or of a published model, got {what}")
    path = Path(path)
    if (path / published.CONFIG).is_file() and not (path / CONFIG).exists():
        if checkpoint is not None:
            raise UsageError(f"{path}: a published model has no checkpoints, got {checkpoint!r}; leave it out")
        return LoadedModel(path, device)
    return TrainedModel(Run.open(path), checkpoint, device, note)
