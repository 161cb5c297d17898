"""What a training begins with: the parameters, tokenizers and labels of a run, or of a published model.

Parameters are matched by their names. One that is missing there, has another shape, or counts other labels or tokens keeps
what chance gave it. Nothing of this is read again: the first checkpoint holds all of it.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from saccade import config, systems
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.task import Task
from saccade.training.settings import Settings

COUNTED = {
    "labels": "other labels",
    "tags": "other labels",
    "source": "other tokens",
    "target": "other tokens",
    "ngrams": "other n-grams",
    "answers": "other answers",
}


@dataclass(frozen=True)
class Start:
    """A trained model, as another one begins with it."""

    name: str
    """As it was given."""
    settings: Settings
    task: Task
    tensors: Mapping[str, Tensor]
    step: int
    record: Mapping[str, Any]
    """Where it was, and what its file of parameters is known by."""
    files: Sequence[Path] = field(default=())
    """Files beside its tokenizers, which an export hands on."""

    def fit(self, model: nn.Module, settings: Settings, task: Task) -> list[str]:
        """Put its parameters into a new model; what is told of that."""
        told = _differences(self, settings)
        strange = _strange(model, settings, task, task.strange(self.task))
        own = dict(model.named_parameters())
        new = {name: reason for name, one in own.items() if (reason := self._lacks(name, one, strange)) is not None}
        if len(new) == len(own):
            problem = f"no parameter of {self.name} ({self.settings.system}) has the name and shape of one of"
            raise UsageError(f"start: {problem} {settings.system}; start from a run of {settings.system}, or leave it out")
        tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - own.keys()
        for name, tensor in model.state_dict().items():  # with running statistics
            if name in own.keys() - new.keys() or (name not in own.keys() | tied and self._lacks(name, tensor, {}) is None):
                tensor.copy_(self.tensors[name])
        taken = f"start: {len(own) - len(new)} of {len(own)} parameters taken from {self.name} at step {self.step}"
        return [*told, taken + (f"; new: {', '.join(grouped(new, own))}" if new else "")]

    def _lacks(self, name: str, own: Tensor, strange: Mapping[str, str]) -> str | None:
        """Why a parameter stays as chance made it; None: it is taken."""
        given = self.tensors.get(name)
        if given is None:
            return ""
        if given.shape != own.shape:
            return f"{tuple(own.shape)} instead of {tuple(given.shape)}"
        return f"({strange[name]})" if name in strange else None

    def save(self, task: Task, folder: Path) -> None:
        """Write what the new task has learned, with the files that its tokenizers were made from."""
        task.save(folder)
        if getattr(task.reader, "tokenizer", None) is getattr(self.task.reader, "tokenizer", self):
            for file in self.files:
                shutil.copyfile(file, folder / file.name)


def beside(task: Task, files: Iterable[Path]) -> list[Path]:
    """Those of a run's files that its task did not write."""
    with TemporaryDirectory() as folder:
        task.save(Path(folder))
        written = {path.name for path in Path(folder).iterdir()}
    return [file for file in files if file.name not in written]


def _strange(model: nn.Module, settings: Settings, task: Task, names: Iterable[str]) -> dict[str, str]:
    """By name, the parameters whose shape depends on sizes that count something else than they did, and what."""
    found: dict[str, str] = {}
    sizes = {name: size for name, size in task.sizes().items() if size is not None}
    own = {name: one.shape for name, one in model.named_parameters()}
    shared = getattr(task.reader, "tokenizer", None) is getattr(task.writer, "tokenizer", task)
    for name in sorted(COUNTED.keys() & set(names) & sizes.keys()):
        both = {"source", "target"} if shared and name in ("source", "target") else {name}
        larger = {key: _larger(sizes[key]) for key in sorted(both & sizes.keys())}
        with torch.device("meta"):
            other = systems.load(settings.system).Model(settings.model, **{**task.sizes(), **larger})
        changed = {key for key, one in other.named_parameters() if one.shape != own.get(key, one.shape)}
        found |= dict.fromkeys(changed, COUNTED[name])
    return found


def _larger(size: Any) -> Any:
    if isinstance(size, tuple):
        return (*size, -1)
    return replace(size, size=size.size + 1) if isinstance(size, Vocabulary) else size + 1


def _differences(start: Start, settings: Settings) -> list[str]:
    """Lines on another system, and on settings of the model that are not those of the start."""
    if start.settings.system != settings.system:
        return [f"start: {start.name} is a {start.settings.system}: parameters are matched by name"]
    before, now = config.plain(start.settings.model), config.plain(settings.model)
    others = [f"model.{key} {before[key]!r} → {now[key]!r}" for key in now if before[key] != now[key]]
    return [f"start: other than in {start.name}: {', '.join(others)}"] if others else []


def grouped(new: Mapping[str, str], every: Iterable[str]) -> list[str]:
    """Names with the reason of each; where all below a name are new and none of it is there, one line stands for them."""
    known = [name for name in every if new.get(name, "known")]
    groups: dict[str, list[str]] = {}
    for name, reason in new.items():
        parts = name.split(".")
        above = [".".join(parts[:size]) + "." for size in range(1, len(parts))]
        free = [one for one in above if not any(other.startswith(one) for other in known)]
        groups.setdefault(name if reason or not free else free[0], []).append(name)
    return [
        f"{prefix}* ({len(names)})" if len(names) > 1 else f"{names[0]} {new[names[0]]}".strip()
        for prefix, names in groups.items()
    ]


def found(given: str, bases: Sequence[Path]) -> Path:
    """The directory of this name, from the first of these places that has it."""
    paths = [Path(os.path.normpath(base / os.path.expanduser(given))) for base in bases]
    return next((path for path in paths if path.exists()), Path(os.path.expanduser(given)))
