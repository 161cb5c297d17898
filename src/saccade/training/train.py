"""From settings to a trained run: data, tokenizers, the loop, validation, checkpoints, and the way back after a kill."""

import contextlib
import json
import math
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch

from saccade import durable_files, ranks
from saccade.data.batches import BatchSource
from saccade.data.examples import PARTS, Splits, files_of
from saccade.data.formats.own_files import require_there
from saccade.data.formats.python_data import FILES
from saccade.data.stored.preparations import told_of_preparing
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError, SaccadeError, ShapeError, UsageError
from saccade.kernels.runtime import told_of_compiling
from saccade.lock import LOCK, locked
from saccade.search import Config as SearchConfig
from saccade.task import Kinds, Task
from saccade.training import config_history, saving
from saccade.training import fresh as renewal
from saccade.training.allocator import keep_pages, kept_objects, release_pages
from saccade.training.bad_examples import fit_to_learn, learned
from saccade.training.checkpoints.store import Checkpoint, Checkpoints
from saccade.training.config_history import CONFIG, Changes
from saccade.training.data_notes import data_notes
from saccade.training.devices import device_named
from saccade.training.freezing import freeze
from saccade.training.interrupts import Interrupted, Signals, watched
from saccade.training.journal import Journal, resident_megabytes
from saccade.training.memory import random_tensors, restore_random
from saccade.training.progress import Compiling, Quiet, clock, told_if_slow
from saccade.training.resuming import notes, reopened, require_later
from saccade.training.run import Run
from saccade.training.settings import Settings, fitting, resolve
from saccade.training.starting import Start
from saccade.training.trainer import NotFinite, Report, Trainer
from saccade.writers.writer import Options

Scores = Mapping[str, Mapping[str, float]]


class Watcher(Protocol):
    """Who is told how the training goes."""

    def note(self, text: str) -> None: ...
    def preparing(self, what: str, done: int, total: int) -> None: ...
    def begin(self, step: int, steps: int) -> None: ...
    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None: ...
    def valid(self, entry: Mapping[str, Any]) -> None: ...
    def end(self) -> None: ...


@dataclass
class Standing:
    """How the validations went: the best score so far, and how many there were since."""

    best: list[float] | None = None
    since: int = 0
    over: bool = False

    def better(self, score: list[float]) -> bool:
        """Whether this score is the best so far."""
        improved = all(map(math.isfinite, score)) and (self.best is None or score > self.best)
        self.best, self.since = (score, 0) if improved else (self.best, self.since + 1)
        return improved


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
    keep_pages()
    with ranks.joined():
        if ranks.own():  # what the first process does with the directory is not the others' business
            with kept_objects() as made:
                _follow(settings, made, start)
        elif ranks.restarted() and Checkpoints(renewal.resumable(path)).steps():
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
            if not Checkpoints(path / renewal.FRESH).steps():
                durable_files.remove(path / renewal.FRESH)
            if isinstance(error, DataError | UsageError | ShapeError) and not (path / CONFIG).exists():
                _take_away(new)
            raise


def _follow(settings: Settings, made: Callable[[], None], start: Start | None) -> None:
    """Train as one of several processes, with what the first has prepared."""
    told = json.loads(ranks.awaited("run"))
    run = Run(Path(told["path"]), settings).with_steps(told["steps"])
    splits, task = run.splits(), run.task()
    corpus, splits = learned(task, splits, settings.data, lambda text: None)
    checkpoint = None if told["checkpoint"] is None else run.checkpoints.load(told["checkpoint"])
    ranks.connect(settings.train.timeout)
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
        durable_files.remove(path / renewal.FRESH)
        held = held or Run(path, settings).held_texts()
        return Run.create(path / renewal.FRESH, settings, held, record), None, {}
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
            _require_same_data(home, splits, checkpoint.state["data"], fingerprint)
        task = run.task() if checkpoint else _fitted(run.settings, splits, start)
    try:
        with told_of_preparing(watcher.preparing):
            corpus, splits = learned(task, splits, run.settings.data, watcher.note)
        if isinstance(splits.train, StoredExamples):
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
        told = {"path": str(run.path), "home": str(home), "steps": run.settings.train.steps, "checkpoint": step}
        ranks.announce("run", json.dumps(told))
        ranks.connect(run.settings.train.timeout)
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
    model = run.new_model(task)
    for line in given.start.fit(model, run.settings, task) if given.start else []:
        given.watcher.note(line)
    for line in freeze(model, config.freeze):
        given.watcher.note(line)
    model = model.to(device_named(config.device))
    if not given.checkpoint:
        for line in data_notes(given.splits, run.settings, given.corpus, hasattr(task.writer, "names")):
            given.watcher.note(line)
        task.prepare(model, given.splits, given.corpus, given.watcher.note)
    trainer = Trainer(model, batches, config)
    session = Session(run, given.home, given.splits, given.fingerprint, task, trainer, given.watcher)
    try:
        if given.checkpoint:
            session.restore(given.checkpoint)
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


def _require_same_data(home: Path, splits: Splits, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    if parts := [part for part in PARTS if before[part] != now[part]]:
        others = f", the {' and '.join(PARTS[part] for part in parts[1:])} data, too" if parts[1:] else ""
        where = f" ({files})" if (files := files_of(getattr(splits, parts[0]))) else ""
        what = f"{home}: the {PARTS[parts[0]]} data{where} has changed{others}"
        raise DataError(what, fix="bring it back, or use another {out}")


def _fitted(settings: Settings, splits: Splits, start: Start | None) -> Task:
    """A task that has learned what it must, or goes on with what that of the start has learned."""
    if settings.start and start is None:
        raise UsageError(f"start={settings.start}: only saccade train begins with another model; leave it out here")
    if len(splits.train) == 0:
        raise DataError("there is nothing to train on: the training data is empty")
    return Task.fit(settings, fit_to_learn(Kinds.of(settings.system), splits, settings.data), start.task if start else None)


class Unvalidated(SaccadeError):  # noqa: N818 - reads as what it is
    """A validation that failed; what it failed by decides the exit code."""

    def __init__(self, text: str, exit_code: int, *, fix: str = "") -> None:
        super().__init__(text, fix=fix)
        self.exit_code = exit_code


def _described(error: BaseException) -> tuple[str, int]:
    """What an error says on one line, and its exit code."""
    if isinstance(error, SaccadeError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "out of memory", 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 1
    return " ".join(f"{type(error).__name__} {error}".split()), 1


class Session:
    """One sitting of a run: from its first step, or from a checkpoint, to its end or its interruption."""

    def __init__(
        self,
        run: Run,
        home: Path,
        splits: Splits,
        fingerprint: Mapping[str, str],
        task: Task,
        trainer: Trainer,
        watcher: Watcher,
    ) -> None:
        self.run, self.home, self.splits, self.data = run, home, splits, fingerprint
        self.task, self.trainer, self.watcher = task, trainer, watcher
        self.config = run.settings.train
        self.standing = Standing()
        self.owed = False  # whether the validation of this step was not finished
        self.writes = ranks.rank() == 0

    def restore(self, found: Checkpoint) -> None:
        """Go on from this checkpoint."""
        state = found.state
        for line in found.passed_over:
            self.watcher.note(f"passed over a damaged checkpoint: {line}")
        if state["threads"] != torch.get_num_threads():
            self.watcher.note(
                f"the run had {state['threads']} threads, now there are {torch.get_num_threads()}: the last bits will differ"
            )
        if (before := state.get("ranks", 1)) != ranks.size():
            processes = f"{before} process{'es' * (before > 1)}"
            self.watcher.note(f"the run had {processes}, now {ranks.size()}: the same steps, but for dropout and last bits")
        self.trainer.restore(found.tensors, state)
        self.standing, self.owed = Standing(state["best"], state["since"]), state["owed"]
        self.standing.over = self._waited_enough()
        self.watcher.note(f"going on from step {found.step} ({found.path})")

    def adopt(self, changes: Changes) -> None:
        """Go on with the config as it is now, if it is another, and record that."""
        if not self.writes:
            return
        recorded = config_history.in_use(self.run.path)
        assert recorded is not None
        if recorded.config == self.run.text == (self.run.path / CONFIG).read_text(encoding="utf-8"):
            return
        step, before = self.trainer.step, resolve(recorded.table).train
        self.run = self.run.adopt(step, changes)
        Journal(self.run.path, step, owed=self.owed).config(step, changes)
        for line in notes(before, self.config, step, changes):
            self.watcher.note(line)

    def _waited_enough(self) -> bool:
        return bool(self.config.patience) and self.standing.since >= self.config.patience

    def go(self) -> None:
        """Train to the end; a signal is answered after the step it came in."""
        if (self.standing.over or self.trainer.step >= self.config.steps) and not self.owed:
            key = "patience" if self.standing.over else "epochs" if self.config.epochs else "steps"
            finished = f"the run in {self.home} is finished: there is nothing left to train"
            self.watcher.note(f"{finished}; raise train.{key} to go on from step {self.trainer.step}")
            return
        if self.writes:
            self.journal = Journal(self.run.path, self.trainer.step, self.trainer.tokens, owed=self.owed)
        self._introduce()
        self.watcher.begin(self.trainer.step, self.config.steps)
        started = time.monotonic()
        compiling = Compiling(self.watcher.note)
        with watched() as signals, told_of_compiling(compiling):
            self.trainer.asked = lambda: bool(signals.number)
            try:
                self._carry_on(signals, compiling)
            except NotFinite as error:
                raise NotFinite(f"{error}; {self._healthy()}; try a lower train.learning_rate") from None
            except RuntimeError as error:
                signals.deaf = True  # to torchrun, which ends all once one is gone: what has happened is told first
                raise ranks.explained(error, self.trainer.step) from error
            finally:
                self.watcher.end()
        self.watcher.note(f"trained for {clock(time.monotonic() - started)}, validations and checkpoints included")

    def _carry_on(self, signals: Signals, compiling: Compiling) -> None:
        """Make up for a validation that was not finished, then step by step."""
        if self.owed:
            self._save(self._validate(self.trainer.step, signals))
        steps = self.trainer.steps()
        while not self.standing.over and (report := next(steps, None)):
            compiling.done()
            self._after(report, signals)
        if self.standing.over:
            self.watcher.note(f"stopped early at step {self.trainer.step}: {self.standing.since} validations no better")

    def _healthy(self) -> str:
        """The newest checkpoint whose own step had a finite gradient: from a later one it would only end again."""
        checkpoints = self.run.checkpoints
        for step in reversed(checkpoints.steps()):
            if not checkpoints.load(step).state["skips"]:
                return f"the last healthy checkpoint is step {step}"
        return "there is no healthy checkpoint"

    def _introduce(self) -> None:
        count = sum(one.numel() for one in self.trainer.model.parameters())
        config, device, threads = self.config, self.trainer.device, torch.get_num_threads()
        size = f"{config.batch_size:,} examples" if config.batch_size else f"{config.batch_tokens:,} {self.task.reader.unit}"
        where = f"{threads} CPU thread{'s' * (threads > 1)}" if device.type == "cpu" else str(device)
        layout = self.trainer.parallel.layout
        if ranks.size() > 1:
            kind = "sharded" if config.shard else "DDP" if layout.data > 1 else "tensor parallel"
            where = f"{ranks.size()} processes ({kind}) of {where}"
        self.watcher.note(
            f"{self.run.settings.system}: {count:,} parameters · {len(self.splits.train):,} training examples, "
            f"{len(self.splits.valid):,} for validation · {config.steps:,} steps of up to {size} · {where}"
        )

    def _after(self, report: Report, signals: Signals) -> None:
        """What is due after an update: log, validate, save, stop."""
        last = report.step == self.config.steps
        logged = report.skipped or last or report.step % self.config.log_every == 0
        self._log(report, logged)
        # Of several processes a signal counts once all know of it.
        number = signals.number if ranks.size() == 1 else (signals.number or signal.SIGTERM) * report.stop
        if report.skipped and self.writes:
            self._keep_skipped()
        validates = (last or report.step % self.config.valid_every == 0) and len(self.splits.valid) > 0
        regular = self.config.regular(report.step)
        if regular or number:
            if not self.trainer.parallel.finite():
                raise NotFinite(f"parameters are no longer finite at step {report.step}")
            self._save(validates and self._validate(report.step, signals))
        if regular:
            self._take_place()
        if number and not last:
            raise Interrupted(f"stopped at step {report.step}, {self._kept()}", number, fix=self._way_on())

    def _log(self, report: Report, logged: bool) -> None:
        """Tell of an update; of several processes also what each says of itself."""
        own = {"rank": ranks.rank(), "seconds": round(report.seconds, 4), "rss_mb": resident_megabytes()}
        every = ranks.everyone(own) if logged and ranks.size() > 1 else []
        if self.writes:
            self.watcher.step(report, self.journal.step(report, every) if logged else None)

    def _validate(self, step: int, signals: Signals) -> bool:
        """Whether this is the best so far; if that cannot be told, for whatever reason, the step is saved first."""
        before, random = replace(self.standing), random_tensors()
        try:
            options = Options(self.run.settings.search or SearchConfig())
            with self.trainer.parallel.whole() as model:
                scores = self.task.evaluate(model, self.splits.valid, options).scores
            best = self.standing.better(self.task.writer.best(scores))
            self.standing.over = self._waited_enough()
            if self.writes:
                self.watcher.valid(self.journal.valid(step, scores, best))
        except BaseException as error:
            signals.deaf = True  # to one more Ctrl-C
            if isinstance(error, MemoryError):
                traceback.clear_frames(error.__traceback__)  # which hold what there was no room for
            self.standing, self.owed = before, True
            restore_random(random)  # as if the validation had not begun: it is made once more
            raise self._saved_all_the_same(step, error, signals) from error
        self.owed = False
        return best

    def _saved_all_the_same(self, step: int, error: BaseException, signals: Signals) -> BaseException:
        """Save a step whose validation failed; what to raise."""
        message, code = _described(error)
        try:
            self._save(best=False)
        except SaccadeError as trouble:
            return Unvalidated(f"the validation of step {step} failed ({message}), and its checkpoint, too: {trouble}", code)
        if isinstance(error, KeyboardInterrupt):
            text = f"stopped in the validation of step {step}, {self._kept()}"
            return Interrupted(text, signals.number or signal.SIGINT, fix=self._way_on())
        if isinstance(error, Exception):
            return Unvalidated(f"the validation of step {step} failed: {message}; {self._kept()}", code, fix=self._way_on())
        return error

    def _kept(self) -> str:
        """What is said where a training ends before its time."""
        return "checkpoint written" + ("" if self.run.path == self.home else f"; {self.home} still holds the earlier run")

    def _way_on(self) -> str:
        return f"go on with: {{go on:{self.home}}}"

    def _save(self, best: bool) -> None:
        state = {
            **self.trainer.state(),
            **asdict(self.standing),
            "owed": self.owed,
            "data": self.data,
            "threads": torch.get_num_threads(),
        }
        if ranks.size() == 1:
            self.run.checkpoints.save(self.trainer.step, self.trainer.tensors(), state, best=best)
        else:
            saving.save(self.run.checkpoints, self.trainer, {**state, "ranks": ranks.size()}, best=best)

    def _take_place(self) -> None:
        """Let a new run that has shown that it can train take the place of the earlier one."""
        if self.run.path != self.home and self.writes:
            renewal.take_place(self.home)
            self.journal.move(self.home)
        self.run = replace(self.run, path=self.home)

    def _keep_skipped(self) -> None:
        """What is needed to see a refused update again."""
        facts = {**self.trainer.state(), "seed": self.config.seed, "accumulate": self.config.accumulate}
        durable_files.write(self.run.path / f"skipped-step-{self.trainer.step}.json", json.dumps(facts, indent=2) + "\n")
