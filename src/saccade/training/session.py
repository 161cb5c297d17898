"""One sitting of a run: update by update, with the log, validations, checkpoints and signals that are due between them."""

import json
import math
import signal
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from saccade import durable_files, processes
from saccade.data.examples import Splits
from saccade.errors import SaccadeError, described
from saccade.kernels.runtime import told_of_compiling
from saccade.search import Config as SearchConfig
from saccade.task import Task
from saccade.training import config_history, shared_checkpoints, tensorboard
from saccade.training import fresh as renewal
from saccade.training.checkpoints.store import Checkpoint
from saccade.training.config_history import CONFIG, Changes
from saccade.training.interrupts import Interrupted, Signals, watched
from saccade.training.journal import Journal, entries, memory_in_use
from saccade.training.memory import random_tensors, restore_random
from saccade.training.progress import Compiling, clock
from saccade.training.resuming import notes
from saccade.training.run import Run
from saccade.training.settings import resolve
from saccade.training.throughput import most_tokens
from saccade.training.trainer import NotFinite, Report, Trainer
from saccade.training.unvalidated import Unvalidated
from saccade.writers.writer import Options

Scores = Mapping[str, Mapping[str, float]]
GROWN = 100  # times the first loss: nothing is learned any more


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
        self.writes = processes.rank() == 0
        self.first_loss: float | None = None  # of this sitting; 0 once it was told that the loss has grown far above it
        self.events: tensorboard.EventFile | None = None

    def restore(self, found: Checkpoint) -> None:
        """Go on from this checkpoint."""
        state = found.state
        for line in found.passed_over:
            self.watcher.note(f"passed over a damaged checkpoint: {line}")
        if state["threads"] != torch.get_num_threads():
            self.watcher.note(
                f"the run had {state['threads']} threads, now there are {torch.get_num_threads()}: the last bits will differ"
            )
        if (before := state.get("ranks", 1)) != processes.size():
            had = f"{before} process{'es' * (before > 1)}"
            self.watcher.note(f"the run had {had}, now {processes.size()}: the same steps, but for dropout and last bits")
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
            step, tokens, device = self.trainer.step, self.trainer.tokens, self.trainer.device
            most = most_tokens(self.task, self.trainer.model, self.config, device)
            self.journal = Journal(self.run.path, step, tokens, owed=self.owed, most=most, device=device)
            self._open_events()
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
                raise processes.explained(error, self.trainer.step) from error
            finally:
                self.watcher.end()
                self._close_events()
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
        if processes.size() > 1:
            kind = "sharded" if config.shard else "DDP" if layout.data > 1 else "tensor parallel"
            where = f"{processes.size()} processes ({kind}) of {where}"
        one = "text" if self.task.writer.CONTINUES else "example"
        one += "s" * (len(self.splits.train) > 1)
        self.watcher.note(
            f"{self.run.settings.system}: {count:,} parameters · {len(self.splits.train):,} training {one}, "
            f"{len(self.splits.valid):,} for validation · {config.steps:,} steps of up to {size} · {where}"
        )

    def _after(self, report: Report, signals: Signals) -> None:
        """What is due after an update: log, validate, save, stop."""
        last = report.step == self.config.steps
        logged = report.skipped or last or report.step % self.config.log_every == 0
        self._log(report, logged)
        # Of several processes a signal counts once all know of it.
        number = signals.number if processes.size() == 1 else (signals.number or signal.SIGTERM) * report.stop
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
        every = processes.everyone(self._own(report)) if logged and processes.size() > 1 else []
        if self.writes:
            self._watch_growth(report)
            entry = self.journal.step(report, every) if logged else None
            self.watcher.step(report, entry)
            if self.events and entry:
                self.events.add(entry)

    def _watch_growth(self, report: Report) -> None:
        """Say once that the loss has grown far beyond where it began: nothing is learned any more."""
        self.first_loss = report.loss if self.first_loss is None else self.first_loss
        if self.first_loss > 0 and report.loss > GROWN * self.first_loss:
            grown = f"step {report.step}: the loss is {report.loss:,.4g}, it began at {self.first_loss:,.4g}"
            self.watcher.note(f"{grown}; a lower train.learning_rate ({self.config.learning_rate:g}) may help")
            self.first_loss = 0.0

    def _open_events(self) -> None:
        """Begin an event file, if there are to be any."""
        if self.config.tensorboard:
            self.events = tensorboard.EventFile(self.run.path, self.trainer.step, entries(self.journal.path))

    def _close_events(self) -> None:
        if self.events:
            self.events.close()
            self.events = None

    def _own(self, report: Report) -> dict[str, float]:
        """What one of several processes says of itself."""
        seconds = {"rank": processes.rank(), "seconds": round(report.seconds, 4)}
        return {**seconds, **memory_in_use(self.trainer.device)}

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
                entry = self.journal.valid(step, scores, best)
                self.watcher.valid(entry)
        except BaseException as error:
            signals.deaf = True  # to one more Ctrl-C
            if isinstance(error, MemoryError):
                traceback.clear_frames(error.__traceback__)  # which hold what there was no room for
            self.standing, self.owed = before, True
            restore_random(random)  # as if the validation had not begun: it is made once more
            if processes.size() > 1:
                raise self._failed_alone(step, error) from error
            raise self._saved_all_the_same(step, error, signals) from error
        self.owed = False
        if self.events:
            self.events.add(entry)
        return best

    def _failed_alone(self, step: int, error: BaseException) -> BaseException:
        """What to raise where others may still be within the validation: to save takes all of them."""
        if isinstance(error, RuntimeError) or not isinstance(error, Exception):
            return error  # others are gone, or all were told to end
        message, code = described(error)
        text = f"the validation of step {step} failed: {message}; the last checkpoint is as it was"
        return Unvalidated(text, code, fix=self._way_on())

    def _saved_all_the_same(self, step: int, error: BaseException, signals: Signals) -> BaseException:
        """Save a step whose validation failed; what to raise."""
        message, code = described(error)
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
        if processes.size() == 1:
            self.run.checkpoints.save(self.trainer.step, self.trainer.tensors(), state, best=best)
        else:
            shared_checkpoints.save(self.run.checkpoints, self.trainer, {**state, "ranks": processes.size()}, best=best)

    def _take_place(self) -> None:
        """Let a new run that has shown that it can train take the place of the earlier one."""
        moves = self.run.path != self.home and self.writes
        if moves:
            self._close_events()
            renewal.take_place(self.home)
            self.journal.move(self.home)
        self.run = replace(self.run, path=self.home)
        if moves:
            self._open_events()

    def _keep_skipped(self) -> None:
        """What is needed to see a refused update again."""
        facts = {**self.trainer.state(), "seed": self.config.seed, "accumulate": self.config.accumulate}
        durable_files.write(self.run.path / f"skipped-step-{self.trainer.step}.json", json.dumps(facts, indent=2) + "\n")
