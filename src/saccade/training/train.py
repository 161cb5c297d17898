"""From settings to a trained run: data, tokenizers, the loop, validation, checkpoints, and the way back after a kill."""

import contextlib
import json
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from saccade import data, systems, tasks
from saccade.data.examples import Splits
from saccade.errors import DataError, ShapeError, UsageError
from saccade.training.allocator import keep_pages
from saccade.training.checkpoints import Checkpoint, Checkpoints
from saccade.training.interrupts import Interrupted, Signals, watched
from saccade.training.journal import Journal
from saccade.training.lock import LOCK, locked
from saccade.training.progress import clock
from saccade.training.run import Run, changed, write_text
from saccade.training.settings import Settings
from saccade.training.trainer import NotFinite, Report, Trainer

Scores = Mapping[str, Mapping[str, float]]


class Watcher(Protocol):
    """Who is told how the training goes."""

    def note(self, text: str) -> None: ...
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
        found = all(map(math.isfinite, score)) and (self.best is None or score > self.best)
        self.best, self.since = (score, 0) if found else (self.best, self.since + 1)
        return found


def train(path: Path, settings: Settings, watcher: Watcher, *, resume: bool = False, fresh: bool = False) -> Run:
    """Train the run in this directory; nothing is lost on Ctrl-C."""
    if fresh and resume:
        raise UsageError("--fresh and --resume exclude each other: begin anew, or go on")
    if settings.train.threads:
        torch.set_num_threads(settings.train.threads)
    keep_pages()
    new = [place for place in (path / LOCK, path, *path.parents) if not os.path.exists(place)]
    _prepare_directory(path)
    with locked(path):
        run = None
        try:
            if fresh and (path / "config.toml").exists():
                clear(path)
                run = Run.create(path, settings)
            else:
                run = _opened(path, settings, resume, watcher)
            _train(run, watcher)
        except (DataError, UsageError, ShapeError):
            if run and not run.checkpoints.steps():  # nothing was begun: leave nothing that looks like a run
                clear(path)
            if not (path / "config.toml").exists():
                _take_away(new)
            raise
    return run


def _take_away(new: Sequence[Path]) -> None:
    """What a start that failed has made: the lock, which others look for anew once they have it, and empty directories."""
    for place in new:
        with contextlib.suppress(OSError):  # somebody has put something there
            place.unlink() if place.name == LOCK else place.rmdir()


def _prepare_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made ({error.strerror}); choose another directory with --out") from None


def clear(path: Path) -> None:
    """Delete what an earlier run left here, and nothing else; last of all what says that it is a run."""
    shutil.rmtree(path / "checkpoints", ignore_errors=True)
    skipped = [skip.name for skip in path.glob("skipped-step-*.json")]
    learned = (
        "tokenizer.json",
        "spelling.json",
        "source.tokenizer.json",
        "target.tokenizer.json",
        "labels.json",
        "graph.safetensors",
        "scale.json",
        "numbers.json",
        "pixels.json",
    )
    for name in ("scores.json", "log.jsonl", *learned, *skipped, "env.json", "config.toml"):
        (path / name).unlink(missing_ok=True)


def _opened(path: Path, settings: Settings, resume: bool, watcher: Watcher) -> Run:
    if not (path / "config.toml").exists():
        if any(child.name != LOCK and not child.name.startswith(".tmp-") for child in path.iterdir()):
            raise UsageError(f"{path}: not empty and not a run; choose another directory with --out")
        return Run.create(path, settings)
    if not Checkpoints(path).steps():
        watcher.note(f"the run in {path} ended before its first checkpoint: beginning anew")
        return Run.create(path, settings)
    if not resume:
        raise UsageError(f"{path}: already holds a run; add --resume to go on, --fresh to begin anew, or another --out")
    run = Run.open(path)
    differences = changed(run.settings, settings)
    if differences:
        more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
        raise UsageError(
            f"{path}: the config has changed ({differences[0]}{more}); resume it as it was, or use another --out"
        )
    return run


def _train(run: Run, watcher: Watcher) -> None:
    run.checkpoints.sweep()
    found = run.checkpoints.load("last") if run.checkpoints.steps() else None
    check_kind(run.settings)
    splits = run.splits()
    task = run.task() if found else _fit(run, splits)
    corpus = task.corpus(splits.train)
    trainer = Trainer(run.new_model(task), corpus, run.settings.train)
    session = Session(run, splits, task, trainer, watcher)
    if found:
        session.restore(found)
    else:
        task.note = watcher.note
        task.begin(trainer.model, splits, corpus)
    if session.standing.over or trainer.step >= run.settings.train.steps:
        watcher.note(f"the run in {run.path} is finished: there is nothing left to train")
    else:
        session.go()


def check_kind(settings: Settings) -> None:
    """Whether the system can read this kind of data at all, before any of it is loaded."""
    kind: str = tasks.load(systems.load(settings.system).TASK).DATA
    if settings.dataset not in data.KINDS[kind]:
        raise UsageError(f"{settings.system}: expected {kind} ({data.EXAMPLES[kind]}), got data.name={settings.dataset}")


def _fit(run: Run, splits: Splits) -> Any:
    module = tasks.load(systems.load(run.settings.system).TASK)
    if len(splits.train) == 0:
        raise DataError("there is nothing to train on: the training data is empty")
    task = module.Task.fit(run.settings.task, run.settings.tokens, splits)
    task.save(run.path)
    return task


class Session:
    """One sitting of a run: from its first step, or from a checkpoint, to its end or its interruption."""

    def __init__(self, run: Run, splits: Splits, task: Any, trainer: Trainer, watcher: Watcher) -> None:
        self.run, self.splits, self.task, self.trainer, self.watcher = run, splits, task, trainer, watcher
        self.config = run.settings.train
        self.standing = Standing()
        self.data = splits.fingerprint()

    def restore(self, found: Checkpoint) -> None:
        """Go on from this checkpoint."""
        state = found.state
        for line in found.passed_over:
            self.watcher.note(f"passed over a damaged checkpoint: {line}")
        if state["data"] != self.data:
            raise DataError(f"{self.run.path}: the training data has changed; bring it back, or use another --out")
        if state["threads"] != torch.get_num_threads():
            self.watcher.note(
                f"the run had {state['threads']} threads, now there are {torch.get_num_threads()}: the last bits will differ"
            )
        self.trainer.restore(found.tensors, state)
        self.standing = Standing(state["best"], state["since"], state["over"])
        self.watcher.note(f"going on from step {found.step} ({found.path})")

    def go(self) -> None:
        """Train to the end; a signal is answered after the step it came in."""
        self.journal = Journal(self.run.path, self.trainer.step, self.trainer.tokens)
        self._introduce()
        self.watcher.begin(self.trainer.step, self.config.steps)
        started = time.monotonic()
        with watched() as signals:
            try:
                for report in self.trainer.steps():
                    self._after(report, signals)
                    if self.standing.over:
                        self.watcher.note(
                            f"stopped early at step {report.step}: {self.standing.since} validations no better"
                        )
                        break
            except NotFinite as error:
                raise NotFinite(f"{error}; {self._healthy()}; try a lower train.rate") from None
            finally:
                self.watcher.end()
        self.watcher.note(f"trained for {clock(time.monotonic() - started)}, validations and checkpoints included")

    def _healthy(self) -> str:
        """The newest checkpoint whose own step had a finite gradient: from a later one it would only end again."""
        checkpoints = self.run.checkpoints
        for step in reversed(checkpoints.steps()):
            if not checkpoints.load(step).state["skips"]:
                return f"the last healthy checkpoint is step {step}"
        return "there is no healthy checkpoint"

    def _introduce(self) -> None:
        weights = sum(weight.numel() for weight in self.trainer.model.parameters())
        self.watcher.note(
            f"{self.run.settings.system}: {weights:,} weights · {len(self.splits.train):,} examples, "
            f"{len(self.splits.valid):,} held out · {self.config.steps:,} steps of up to {self.config.max_tokens:,} "
            f"{self.task.counted} · {torch.get_num_threads()} CPU thread{'s' * (torch.get_num_threads() > 1)}"
        )

    def _after(self, report: Report, signals: Signals) -> None:
        """What is due after an update: log, validate, save, stop."""
        last = report.step == self.config.steps
        logged = report.skipped or last or report.step % self.config.log_every == 0
        self.watcher.step(report, self.journal.step(report) if logged else None)
        if report.skipped:
            self._keep_skipped()
        validates = (last or report.step % self.config.valid_every == 0) and len(self.splits.valid) > 0
        saves = self.config.regular(report.step) or bool(signals.number)
        if saves and not all(bool(weight.isfinite().all()) for weight in self.trainer.model.parameters()):
            raise NotFinite(f"weights are no longer finite at step {report.step}")
        best = validates and self._validate(report.step)
        if saves:
            self._save(best)
        if signals.number and not last:
            again = f"saccade train {self.run.path} --resume"
            raise Interrupted(f"stopped at step {report.step}, checkpoint written; go on with: {again}", signals.number)

    def _validate(self, step: int) -> bool:
        scores = self.task.evaluate(self.trainer.model, self.splits.valid, self.run.settings.search)
        best = self.standing.better(self.task.judged(scores))
        self.standing.over = bool(self.config.patience) and self.standing.since >= self.config.patience
        self.watcher.valid(self.journal.valid(step, scores, best))
        return best

    def _save(self, best: bool) -> None:
        state = {**self.trainer.state(), **asdict(self.standing), "data": self.data, "threads": torch.get_num_threads()}
        self.run.checkpoints.save(self.trainer.step, self.trainer.tensors(), state, best=best)

    def _keep_skipped(self) -> None:
        """What is needed to see a refused update again."""
        facts = {**self.trainer.state(), "seed": self.config.seed, "accumulate": self.config.accumulate}
        write_text(self.run.path / f"skipped-step-{self.trainer.step}.json", json.dumps(facts, indent=2) + "\n")
