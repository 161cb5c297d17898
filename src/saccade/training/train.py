"""From settings to a trained run: data, tokenizers, the loop, validation, checkpoints, and the way back after a kill."""

import contextlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from saccade import durable_files, processes
from saccade.data.batches import BatchSource
from saccade.data.examples import PARTS, Splits, files_of
from saccade.data.formats.own_files import require_there
from saccade.data.formats.python_data import FILES
from saccade.data.stored.preparations import told_of_preparing
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError, ShapeError, UsageError
from saccade.lock import LOCK, locked
from saccade.task import Kinds, Task
from saccade.training import fresh as renewal
from saccade.training import tensorboard
from saccade.training.allocator import keep_pages, kept_objects, release_pages, return_pages
from saccade.training.bad_examples import fit_to_learn, learned
from saccade.training.checkpoints.names import FRESH
from saccade.training.checkpoints.store import Checkpoint, Checkpoints
from saccade.training.config_history import CONFIG, Changes
from saccade.training.data_notes import data_notes
from saccade.training.devices import device_named
from saccade.training.freezing import freeze
from saccade.training.parallel import hollow, lands_in_parts
from saccade.training.progress import Quiet, told_if_slow
from saccade.training.resuming import reopened, require_later
from saccade.training.run import Run
from saccade.training.session import Session, Watcher
from saccade.training.settings import Settings, fitting
from saccade.training.starting import Start
from saccade.training.trainer import Trainer
from saccade.writers import answer


def train(
    path: Path,
    settings: Settings,
    watcher: Watcher,
    *,
    resume: bool = False,
    fresh: bool = False,
    held: Mapping[str, str] | None = None,
    start: Start | None = None,
) -> Run:
    """Train the run in this directory; nothing is lost on Ctrl-C. `held`: data from Python's memory, as files of the run;
    `start`: what a new run begins with."""
    if fresh and resume:
        raise UsageError("resume and fresh exclude each other", fix="go on with {resume}, or begin anew with {fresh}")
    if settings.train.threads:
        torch.set_num_threads(settings.train.threads)
    (return_pages if settings.train.shard else keep_pages)()
    with processes.joined():
        if processes.own():  # what the first process does with the directory is not the others' business
            with kept_objects() as made:
                _follow(settings, made, start)
        elif processes.restarted() and Checkpoints(renewal.resumable(path)).steps():
            watcher.note("started again after a failure: going on from the last checkpoint")
            _lead(path, settings, watcher, True, False, held or {}, None)
        else:
            _lead(path, settings, watcher, resume, fresh, held or {}, start)
    return Run.open(path)


def _lead(
    path: Path,
    settings: Settings,
    watcher: Watcher,
    resume: bool,
    fresh: bool,
    held: Mapping[str, str],
    start: Start | None,
) -> None:
    """Train as the process that writes."""
    if settings.train.tensorboard:
        tensorboard.require()
    new = [place for place in (path / LOCK, path, *path.parents) if not os.path.exists(place)]
    _prepare_directory(path)
    with locked(path):
        if renewal.recover(path) and not fresh and Checkpoints(path).steps():
            watcher.note(f"a new training in {path} ended before its first checkpoint; here is the earlier run")
        try:
            run, checkpoint, changes = _opened(path, settings, resume, fresh, watcher, held, start)
            try:
                with kept_objects() as made:
                    _train(run, path, checkpoint, changes, watcher, made, None if checkpoint else start)
            except (DataError, UsageError, ShapeError):
                renewal.clear(run.path, set())  # if nothing was begun: leave nothing that looks like a run
                raise
        except BaseException as error:
            if not Checkpoints(path / FRESH).steps():
                durable_files.remove(path / FRESH)
            if isinstance(error, DataError | UsageError | ShapeError) and not (path / CONFIG).exists():
                _take_away(new)
            raise


def _follow(settings: Settings, made: Callable[[], None], start: Start | None) -> None:
    """Train as one of several processes, with what the first has prepared."""
    told = json.loads(processes.awaited("run"))
    run = Run(Path(told["path"]), settings).with_steps(told["steps"])
    splits, task = run.splits(), run.task()
    if parts := _others(told["data"], splits.fingerprint()):
        what = f"the {PARTS[parts[0]]} data{_place(splits, parts[0])} is not that of rank 0"
        raise DataError(what, fix="give all the same files")
    corpus, splits = learned(task, splits, settings.data, lambda text: None)
    checkpoint = None if told["checkpoint"] is None else run.checkpoints.load(told["checkpoint"])
    processes.connect(settings.train.timeout)
    begun = None if checkpoint else start
    sitting = _Sitting(run, Path(told["home"]), splits, {}, task, corpus, checkpoint, {}, Quiet(), begun)
    _sit(sitting, corpus.batches(settings.train), made)


def _take_away(new: Sequence[Path]) -> None:
    """What a start that failed has made: the lock, which others look for anew once they have it, and empty directories."""
    for place in new:
        with contextlib.suppress(OSError):  # somebody has put something there
            place.unlink() if place.name == LOCK else place.rmdir()


def _prepare_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made ({error.strerror})", fix=durable_files.ELSEWHERE) from None


def _opened(
    path: Path,
    settings: Settings,
    resume: bool,
    fresh: bool,
    watcher: Watcher,
    held: Mapping[str, str],
    start: Start | None,
) -> tuple[Run, Checkpoint | None, Changes]:
    """The run to go on with, its checkpoint and what changes in its config; or a new one: in the directory, or beside what
    an earlier one has left there."""
    record = start.record if start else None
    if not renewal.holds_run(path):
        if any(child.name != LOCK and not child.name.startswith(".tmp-") for child in path.iterdir()):
            raise UsageError(f"{path}: not empty and not a run", fix=durable_files.ELSEWHERE)
        return Run.create(path, settings, held, record), None, {}
    place = renewal.resumable(path)
    if fresh or not Checkpoints(place).steps():
        if not fresh:
            watcher.note(f"the run in {path} ended before its first checkpoint: beginning anew")
        durable_files.remove(path / FRESH)
        held = held or Run(path, settings).held_texts()
        return Run.create(path / FRESH, settings, held, record), None, {}
    if not resume:
        if not held:
            require_there(settings.data)  # told first: it would be met in any other directory as well
        raise holds_run_already(path)
    run, checkpoint, changes = reopened(place, path, settings)
    before = run.held_texts()
    for part, name in FILES.items():
        if held and held.get(name) != before.get(name):
            raise DataError(f"{path}: the {PARTS[part]} data has changed", fix="bring it back, or use another {out}")
    if place != path:
        renewal.take_place(path)
        run = replace(run, path=path)
    return run, checkpoint, changes


def holds_run_already(path: Path | str) -> UsageError:
    """What is said where a run would be trained over another."""
    return UsageError(f"{path}: already holds a run", fix="add {resume} to go on, {fresh} to begin anew, or another {out}")


def _train(
    run: Run,
    home: Path,
    checkpoint: Checkpoint | None,
    changes: Changes,
    watcher: Watcher,
    made: Callable[[], None],
    start: Start | None,
) -> None:
    """Train the run, which may still be growing beside an earlier one in its home; `made` is told when all is ready."""
    fitting(run.settings)
    device_named(run.settings.train.device)  # a wrong one is told before anything is read
    with told_of_preparing(watcher.preparing):
        with told_if_slow(watcher.note, f"reading {_named(run.settings)}"):
            splits = run.splits()
        fingerprint = splits.fingerprint()
        if checkpoint:
            _require_same_data(str(home), splits, checkpoint.state["data"], fingerprint)
        task = run.task() if checkpoint else _fitted(run.settings, splits, start)
    try:
        with told_of_preparing(watcher.preparing):
            corpus, splits = learned(task, splits, run.settings.data, watcher.note)
        if isinstance(splits.train, StoredExamples | RunningTexts):
            release_pages()
        config = run.settings.train
        batches = corpus.batches(config)
        if config.epochs:
            run = run.with_steps(math.ceil(batches.steps(config.epochs) / config.accumulate))
        if checkpoint:
            require_later(run, checkpoint.step)
        run = run if checkpoint else run.keep(partial(start.save, task) if start else task.save)
        if run.path != home:
            renewal.require_room(home, set(run.files))
        step = checkpoint.step if checkpoint else None
        facts = {"path": str(run.path), "home": str(home), "steps": run.settings.train.steps}
        processes.announce("run", json.dumps({**facts, "checkpoint": step, "data": fingerprint}))
        processes.connect(run.settings.train.timeout)
        _sit(_Sitting(run, home, splits, fingerprint, task, corpus, checkpoint, changes, watcher, start), batches, made)
    except (DataError, UsageError, ShapeError):
        renewal.clear(run.path, set(run.files))
        raise


@dataclass(frozen=True)
class _Sitting:
    """What a process trains with."""

    run: Run
    home: Path
    splits: Splits
    fingerprint: Mapping[str, str]
    task: Task
    corpus: Any
    checkpoint: Checkpoint | None
    changes: Changes
    watcher: Watcher
    start: Start | None


def _sit(given: _Sitting, batches: BatchSource, made: Callable[[], None]) -> None:
    """Make the model, go to where it was, and train; the same in every process."""
    run, task, config = given.run, given.task, given.run.settings.train
    with torch.device("meta") if hollow(config) else contextlib.nullcontext():
        model = run.new_model(task)
    for line in given.start.fit(model, run.settings, task) if given.start else []:
        given.watcher.note(line)
    for line in freeze(model, config.freeze):
        given.watcher.note(line)
    if not lands_in_parts(config):
        model = model.to(device_named(config.device))
    if not given.checkpoint and not hollow(config):
        labels = hasattr(task.writer, "names") and not isinstance(task.writer, answer.Writer)  # answers are never even
        for line in data_notes(given.splits, run.settings, given.corpus, labels):
            given.watcher.note(line)
        task.prepare(model, given.splits, given.corpus, given.watcher.note)
    trainer = Trainer(model, batches, config)
    session = Session(run, given.home, given.splits, given.fingerprint, task, trainer, given.watcher)
    try:
        if given.checkpoint:
            session.restore(given.checkpoint)
            given.checkpoint.tensors.clear()  # the model and the optimizer have them now: whole ones, where each has a part
            session.adopt(given.changes)
        else:
            trainer.parallel.seed(config.seed)
        made()
        session.go()
    finally:
        trainer.close()


def _named(settings: Settings) -> str:
    """What the data is called: the user's own file, or the data set."""
    own = [str(value) for key in ("train", "nodes") if (value := getattr(settings.data, key, None))]
    return next(iter(own), settings.dataset)


def _require_same_data(where: str, splits: Splits, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    if parts := _others(before, now):
        others = f", the {' and '.join(PARTS[part] for part in parts[1:])} data, too" if parts[1:] else ""
        what = f"{where}: the {PARTS[parts[0]]} data{_place(splits, parts[0])} has changed{others}"
        raise DataError(what, fix="bring it back, or use another {out}")


def _others(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The parts of the data that are not what they were."""
    return [part for part in PARTS if before[part] != now[part]]


def _place(splits: Splits, part: str) -> str:
    """The files of a part, in brackets."""
    return f" ({files})" if (files := files_of(getattr(splits, part))) else ""


def _fitted(settings: Settings, splits: Splits, start: Start | None) -> Task:
    """A task that has learned what it must, or goes on with what that of the start has learned."""
    if settings.start and start is None:
        raise UsageError(f"start={settings.start}: only saccade train begins with another model; leave it out here")
    if len(splits.train) == 0:
        raise DataError("there is nothing to train on: the training data is empty")
    kinds = Kinds.of(settings.system, settings.task)
    return Task.fit(settings, fit_to_learn(kinds, splits, settings.data), start.task if start else None)
