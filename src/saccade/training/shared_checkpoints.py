"""A checkpoint of several processes: whole or not at all, and all of them know which."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import processes
from saccade.errors import SaccadeError
from saccade.training.checkpoints import manifests, split_files
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.memory import random_tensors
from saccade.training.trainer import Trainer


class Unsaved(SaccadeError):  # noqa: N818 - reads as what it is
    """A checkpoint that one of several processes could not write its part of; the earlier ones are as they were."""


def save(checkpoints: Checkpoints, trainer: Trainer, state: Mapping[str, Any], *, best: bool) -> None:
    """Store a checkpoint. Parameters that all have are written by the first process, parts by those who hold them."""
    groups = processes.everyone(random_tensors())[:: trainer.parallel.layout.tensor]
    tensors = {f"random_{number}": own for number, own in enumerate(groups)}
    whole = {name: own for name, own in trainer.tensors().items() if name != "random"}
    if trainer.parallel.sharded:
        aliases = split_files.tied(whole["model"])
        whole["model"] = {name: own for name, own in whole["model"].items() if name not in aliases}
        state = {**state, split_files.TIED: aliases}
    writing = _Writing(whole if trainer.parallel.sharded else {})
    problem = ""
    try:
        if processes.rank() == 0:
            every = tensors if trainer.parallel.sharded else {**tensors, **whole}
            checkpoints.save(trainer.step, every, state, best=best, parts=writing.lead)
        else:
            writing.follow()
    except SaccadeError as error:
        problem = str(error)
    if processes.rank() == 0 and not writing.begun:
        writing.call_off()
    for number, text in enumerate(processes.everyone(problem)):
        if text:
            raise Unsaved(text if "rank " in text else f"rank {number}: {text}")


class _Writing:
    """The parts of one checkpoint: the first process says where they go, or that none do."""

    def __init__(self, tensors: Mapping[str, Mapping[str, Any]]) -> None:
        self.tensors, self.begun = tensors, False

    def lead(self, folder: Path) -> Mapping[str, manifests.Mark]:
        """Let all write into this folder, and know what they wrote."""
        self.begun = True
        if self.tensors:
            folder.mkdir()
        processes.everyone(str(folder) if self.tensors else "")
        return self._write(folder) if self.tensors else {}

    def follow(self) -> None:
        """Write where the first process says."""
        if folder := processes.everyone("")[0]:
            self._write(Path(folder))

    def call_off(self) -> None:
        """There is nothing to be written."""
        processes.everyone("")

    def _write(self, folder: Path) -> Mapping[str, manifests.Mark]:
        own, problem = {}, ""
        try:
            own = {file.name: manifests.mark(file.read_bytes()) for file in split_files.write(folder, self.tensors)}
        except (SaccadeError, OSError) as error:
            problem = str(error)
        answers = processes.everyone((own, problem))
        for number, (_, text) in enumerate(answers):
            if text:
                raise SaccadeError(text if "rank " in text else f"rank {number}: {text}")
        return {name: mark for marks, _ in answers for name, mark in marks.items()}
