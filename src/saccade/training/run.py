"""A run's directory: config.toml, env.json, tokenizers, log.jsonl and checkpoints, all readable by hand."""

import inspect
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

import saccade
from saccade import config, data, durable_files, systems
from saccade.data.examples import Splits
from saccade.data.formats.own_files import located
from saccade.data.formats.python_data import FILES
from saccade.data.formats.text_files import to_stderr
from saccade.errors import DataError, UsageError
from saccade.systems.system import System
from saccade.task import Task
from saccade.training import config_history
from saccade.training.checkpoints import manifests
from saccade.training.checkpoints.store import Checkpoint, Checkpoints
from saccade.training.config_history import CONFIG, Changes
from saccade.training.devices import device_named
from saccade.training.fresh import LEARNED, home_of, seat
from saccade.training.memory import seed_all
from saccade.training.settings import Settings, resolve

Which = Literal["last", "best", "average"] | int
SHOWN = 3  # runs that are proposed instead of what is none
# Sizes that only some systems know of, and what is said where one does not.
UNREAD = {
    "ngrams": "reader.spelling: {} reads words whole; leave it at 0",
    "backbone": "reader.backbone: {} reads pictures by a network of its own; leave it out",
}


@dataclass(frozen=True)
class Run:
    """A directory and what its config says."""

    path: Path
    settings: Settings
    files: Mapping[str, manifests.Mark] = field(default_factory=dict)
    """What the files are that predictions depend on; every checkpoint records it, and `open` holds them against it."""

    @classmethod
    def create(
        cls,
        path: Path,
        settings: Settings,
        held: Mapping[str, str] | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> "Run":
        """A new directory, or one whose training has not begun; `held`: files of data that were in Python's memory;
        `start`: what is recorded of what it begins with."""
        path.mkdir(parents=True, exist_ok=True)
        for name, text in (held or {}).items():
            durable_files.write(path / name, text)
        durable_files.write(path / CONFIG, config.write(settings.table()))
        facts = {"directory": os.getcwd(), "run": str(home_of(path).absolute()), **({"start": start} if start else {})}
        durable_files.write(path / "env.json", json.dumps({**environment(), **facts}, indent=2) + "\n")
        return cls(path, settings)

    def keep(self, save: Callable[[Path], None]) -> "Run":
        """The run with what `save` writes into a directory, each file whole and on the disk; checkpoints watch over them."""
        aside = self.path / LEARNED
        try:
            durable_files.remove(aside)  # of a start that was killed
            aside.mkdir()
            save(aside)
            names = sorted(file.name for file in aside.iterdir())
            for name in names:
                durable_files.sync(aside / name)
                (aside / name).replace(self.path / name)
            durable_files.sync_directory(self.path)
            config_history.begin(self.path, self.text)
            durable_files.write(self.path / CONFIG, self.text)
            marks = {name: manifests.mark((self.path / name).read_bytes()) for name in (CONFIG, *names, *self.held())}
        except OSError as error:
            raise durable_files.unwritable(self.path, error, durable_files.ELSEWHERE) from None
        finally:
            durable_files.remove(aside)
        return replace(self, files=marks)

    @classmethod
    def open(cls, path: Path) -> "Run":
        """A directory that training made, if its files are those that it was made with."""
        path = seat(path)
        marks = require_same_files(path)
        if not (path / CONFIG).is_file():
            raise DataError(f"{path}: not a run (it has no config.toml)", fix=_others(path))
        return cls(path, resolve(config.read(path / CONFIG)), marks)

    @property
    def text(self) -> str:
        """Its config.toml."""
        return config.write(self.settings.table())

    def with_steps(self, steps: int) -> "Run":
        """The run with the number of steps that its epochs are; its config tells it whoever opens the run."""
        return replace(self, settings=replace(self.settings, train=replace(self.settings.train, steps=steps)))

    def adopt(self, step: int, changes: Changes) -> "Run":
        """The run with its settings as its config from this step on, on the disk, too."""
        config_history.add(self.path, step, self.text, changes)
        durable_files.write(self.path / CONFIG, self.text)
        return replace(self, files={**self.files, CONFIG: manifests.mark(self.text.encode())})

    @property
    def checkpoints(self) -> Checkpoints:
        train = self.settings.train
        return Checkpoints(self.path, max(train.keep, train.average), train.regular, self.files)

    def task(self) -> Task:
        """The task with the run's tokenizers, labels and scales."""
        return Task.load(self.settings, self.path)

    def new_model(self, task: Task) -> System:
        """A model with its initial parameters, drawn from the seed."""
        seed_all(self.settings.train.seed)
        kind, sizes = systems.load(self.settings.system).Model, task.sizes()
        for name, problem in UNREAD.items():
            if name in sizes and name not in inspect.signature(kind).parameters:
                raise UsageError(problem.format(self.settings.system))
        model: System = kind(self.settings.model, **sizes)
        return model

    def model(
        self, task: Task, which: Which | None = None, device: str = "auto", report: Callable[[str], None] = to_stderr
    ) -> tuple[System, Checkpoint]:
        """The trained model: that of a checkpoint, or the mean of the last few; `report` hears of damaged ones."""
        if which is None:
            which = "average" if self.settings.train.average > 1 else "best"
        checkpoints = self.checkpoints
        if which == "average":
            checkpoint = average(checkpoints, self.settings.train.average)
        else:
            # Where nothing was ever validated there is no best: the last is what there is.
            best = which == "best" and not (checkpoints.folder / "BEST").exists()
            checkpoint = checkpoints.load("last" if best else which)
        for line in checkpoint.passed_over:
            report(f"passed over a damaged checkpoint: {line}")
        if self.files and not self._made(checkpoint.beside):
            raise DataError(f"{checkpoint.path}: belongs to another run, or the run was just trained anew; open it again")
        model = self.new_model(task)
        try:
            model.load_state_dict(checkpoint.tensors["model"])
        except (RuntimeError, KeyError) as error:
            raise DataError(f"{checkpoint.path}: its parameters do not fit the config ({_first_line(error)})") from None
        return model.eval().to(device_named(device)), checkpoint

    def _made(self, beside: Mapping[str, manifests.Mark]) -> bool:
        """Whether a checkpoint with these files beside it is one of this run, under any of the configs that it had."""
        configs = [self.files[CONFIG], *(one.mark for one in config_history.read(self.path))]
        return beside.get(CONFIG) in configs and {**beside, CONFIG: configs[0]} == self.files

    def own_splits(self, task: Task) -> Splits:
        """The data that the run keeps, or that of its files."""
        return task.reader.kept() or self.splits()

    def splits(self) -> Splits:
        """The run's data, from its files."""
        splits: Splits = data.dataset(self.settings.dataset).load(located(self.settings.data, bases(self.path)))
        return splits

    def held(self) -> list[str]:
        """The names of its files of data that were in Python's memory."""
        return [name for name in FILES.values() if (self.path / name).is_file()]

    def held_texts(self) -> dict[str, str]:
        """What is in them."""
        return {name: (self.path / name).read_text(encoding="utf-8") for name in self.held()}


def bases(path: Path) -> list[Path]:
    """Where relative paths of a run may start from: the run itself; the directory of its training, by its way from the
    run, which may have been moved with its data, and as it was; this one."""
    try:
        facts = json.loads((path / "env.json").read_text(encoding="utf-8"))
        before, run = Path(facts["directory"]), facts["run"]
        return [path, home_of(path) / os.path.relpath(before, run), before, Path.cwd()]
    except (OSError, ValueError, KeyError, TypeError):
        return [path, Path.cwd()]


def average(checkpoints: Checkpoints, count: int) -> Checkpoint:
    """The newest checkpoint with the mean of the last `count` checkpoints' weights, an interruption's left out."""
    steps = [step for step in checkpoints.steps() if checkpoints.regular(step)]
    averaged = [checkpoints.load(step) for step in steps[-count:]] or [checkpoints.load("last")]
    models = [one.tensors["model"] for one in averaged]
    mean = {name: _mean([model[name] for model in models]) for name in models[-1]}
    last = averaged[-1]
    return replace(last, tensors={**last.tensors, "model": mean})


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    if not tensors[-1].is_floating_point():
        return tensors[-1]
    return torch.stack([tensor.double() for tensor in tensors]).mean(0).to(tensors[-1].dtype)


def require_same_files(path: Path, *, edited: bool = False) -> Mapping[str, manifests.Mark]:
    """What the run's files are, by its checkpoints; refuses the first that is another, or gone.

    config.toml may be any that the run had, and, `edited`, any other.
    """
    marks = Checkpoints(path).recorded()
    configs = [one.mark for one in config_history.read(path)]
    for name, expected in marks.items():
        if name != CONFIG:
            manifests.require_same(path / name, [expected])
        elif not (edited and (path / name).is_file()):
            fix = f"put it back as it was (configs.jsonl has it), or train on with it: {{go on:{path}}}"
            manifests.require_same(path / name, [expected, *configs], fix)
    return marks


def _others(path: Path) -> str:
    """What to name instead of a directory that is no run: runs of a like name that are near, or a first one."""
    places = {place for near in (path.parent, path, Path("runs"), Path()) for place in near.glob("*") if place.is_dir()}
    runs = sorted(str(place) for place in places if Checkpoints(place).steps())
    alike = get_close_matches(path.name, [Path(run).name for run in runs], SHOWN)
    near = [run for name in dict.fromkeys(alike) for run in runs if Path(run).name == name]
    if near or len(runs) == 1:
        return f"did you mean {' or '.join((near or runs)[:SHOWN])}?"
    return f"runs here are {', '.join(runs[:SHOWN])}; all: saccade runs" if runs else "train one first: {train}"


def environment() -> dict[str, Any]:
    """What a run ran on."""
    return {
        "saccade": saccade.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "command": sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def changed(before: Settings, now: Settings) -> dict[str, tuple[Any, Any]]:
    """The keys in which two configs differ, each with both values."""
    old, new = _flat(before.table()), _flat(now.table())
    if now.train.epochs:  # which decide how many steps there are
        old.pop("train.steps"), new.pop("train.steps")
    return {key: (old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key)}


def told(changes: Changes) -> str:
    """The first change, as `section.key: old → new`, and how many more there are."""
    key, (old, new) = next(iter(changes.items()))
    return f"{key}: {old!r} → {new!r}" + (f" and {len(changes) - 1} more" if len(changes) > 1 else "")


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat.update({f"{key}.{inner}": v for inner, v in value.items()} if isinstance(value, Mapping) else {key: value})
    return flat


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[1] if len(lines) > 1 else "".join(lines)
