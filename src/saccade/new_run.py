"""A training as one begins it: `saccade.train`, and what a name, settings and a start stand for."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

import saccade
from saccade import config
from saccade.data.formats.python_data import kept
from saccade.data.formats.text_files import to_stderr
from saccade.errors import DataError, UnknownName, UsageError
from saccade.task import Kinds
from saccade.trained import TrainedModel
from saccade.training.checkpoints.manifests import mark
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.config_history import CONFIG
from saccade.training.fresh import holds_run, resumable, seat
from saccade.training.progress import watcher
from saccade.training.run import bases, require_same_files
from saccade.training.settings import SECTIONS, START, TASK, Settings, base, resolve, start_of, task_of
from saccade.training.starting import Start, found
from saccade.training.train import holds_run_already
from saccade.training.train import train as train_run
from saccade.training.train_config import Config as TrainConfig

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # of a run's directory


def train(
    name: str | Path,
    data: Any = None,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    fresh: bool = False,
    quiet: bool = False,
    start: str | Path | None = None,
    task: str = "",
    **settings: Any,
) -> TrainedModel:
    """Train a recipe, a system, a TOML file or a run that was begun, and load it; the command line's words are keywords.

    saccade.train("transformer", data="pairs.tsv", steps=500, learning_rate=1e-3, model={"hidden_size": 64})
    saccade.train("runs/transformer", resume=True, steps=2000)

    A keyword is a section with a table of its keys, or a key of [train]. `data` is a file, a DataFrame, a datasets.Dataset,
    (text, label) pairs, or a table of the keys of [data], whose train, valid and test may be any of these. `start` is a
    run, or a published directory, whose parameters and tokenizers the training begins with; `task` one of the system's.
    """
    table, place = started(str(name), None if out is None else Path(out), resume=resume, fresh=fresh)
    held: dict[str, str] = {}
    for key in {"text", "label", "group"} & settings.keys():
        raise UsageError(f"{key}: a column is named with the data; fix: data={{'train': …, {key!r}: {settings[key]!r}}}")
    if data is not None:
        settings["data"], held = kept(data, Kinds.of(str(table.get("system")), task or task_of(table)).own)
    words = [word for key, value in settings.items() for word in _words(key, value)]
    words += [f"{key}={value}" for key, value in ((START, start), (TASK, task)) if value]
    resolved, begun = settled(table, words, place, resume=resume, note=to_stderr if not quiet else unheard)
    run = train_run(place, resolved, watcher(quiet=quiet), resume=resume, fresh=fresh, held=held, start=begun)
    return TrainedModel(run)


def unheard(text: str) -> None:
    """Nobody is told."""


def settled(
    table: Mapping[str, Any], words: Sequence[str], place: Path, *, resume: bool, note: Callable[[str], None] = to_stderr
) -> tuple[Settings, Start | None]:
    """The settings of a run in this place, and what it begins with, if it does and is not resumed: what it began with
    then is in its checkpoints, and its config has all that it took over."""
    given = start_of(table, words)
    if not given:
        return resolve(table, words), None
    before = resumable(place)
    if resume and Checkpoints(before).steps():
        own = config.read(before / CONFIG)
        return resolve(table, words, resolve(own) if start_of(own) == given else None), None
    typed = start_of({}, words) == given
    begun = started_from(given, found(given, [Path.cwd()] if typed else bases(seat(place))), note)
    return resolve(table, words, begun.settings), begun


def started_from(name: str, path: Path, note: Callable[[str], None] = to_stderr) -> Start:
    """A model as another one begins with it: of a run its best checkpoint, or what a published directory holds."""
    try:
        model: TrainedModel = saccade.load(path, device="cpu", note=note)
        tensors = model.module.state_dict()
    except (DataError, UsageError) as error:
        kind = DataError if isinstance(error, DataError) else UsageError
        raise kind(f"start: {error.args[0]}", fix=error.fix) from None
    known = mark(model.file.read_bytes())
    record = {"path": str(path.absolute()), "step": model.step, "file": str(model.file.absolute()), **asdict(known)}
    return Start(name, model.run.settings, model.task, tensors, model.step, record, model.files)


def started(name: str, out: Path | None, *, resume: bool, fresh: bool) -> tuple[config.Table, Path]:
    """The settings that a name stands for, and the run's directory, which may be that of a run that was begun."""
    if os.path.isdir(name) and holds_run(Path(name)):
        if not (resume or fresh) and out is None:
            raise holds_run_already(name)
        place = resumable(Path(name)) if resume else seat(Path(name))
        if resume:
            require_same_files(place, edited=True)
        return config.read(place / "config.toml"), out or Path(name)
    table = base(name)
    stem = Path(name).stem if name.endswith(".toml") else name
    if out is None and not NAME.fullmatch(stem):
        raise UsageError(f"{name!r} does not make a directory's name", fix="choose one with {out}")
    return table, out or Path("runs") / stem


def _words(key: str, value: Any) -> list[str]:
    """A keyword of `train` as the command line has it."""
    own = [*SECTIONS, *signature(train).parameters]
    near = get_close_matches(key, [*own, *(field.name for field in fields(TrainConfig))], 1)
    if key not in SECTIONS and near and near[0] in own:
        raise UnknownName("keyword", key, own)
    if key not in SECTIONS:
        return [f"train.{key}={_word(value)}"]
    if not isinstance(value, Mapping):
        raise UsageError(f"{key}: expected a table of keys of [{key}], such as {{'key': 1}}, got {type(value).__name__}")
    return [f"{key}.{inner}={_word(one)}" for inner, one in value.items()]


def _word(value: Any) -> str:
    return config.word(str(value) if isinstance(value, Path) else value)
