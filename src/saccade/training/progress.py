"""How a training looks: a bar on a terminal, a plain line now and then elsewhere, JSON lines for machines, or nothing."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from saccade.evaluation.metrics import METRICS, shown
from saccade.training.trainer import Report
from saccade.view.output.display_text import visible

SECONDS = 10.0  # between two plain lines
REFRESHED = 1.0  # seconds after which a bar tells the pace anew
SLOW = 1.0  # seconds after which it is told what takes so long


def told(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Scores on one line: all first, then each group, of each the first metrics."""
    return " · ".join(f"{name}: {shown(part, _first(part))}" for name, part in scores.items())


def _first(part: Mapping[str, float]) -> list[str]:
    """The metrics that there is room for: the first that is no loss, and the loss."""
    known = [name for name in part if name in METRICS]
    first = next((name for name in ("bleu", *known) if name in known and name != "loss"), None)
    return [name for name in known if name in (first, "loss", "mae")]


def clock(seconds: float) -> str:
    """Minutes and seconds, as on a clock."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


@contextmanager
def told_if_slow(note: Callable[[str], None], text: str, seconds: float = SLOW) -> Iterator[None]:
    """Says what takes so long, once it does."""
    timer = threading.Timer(seconds, note, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _metrics(report: Report) -> str:
    return "".join(f" · {name} {value:.4f}" for name, value in report.metrics.items())


class Compiling:
    """Says that kernels are being compiled, and then how many and how long it took."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note, self.kernels, self.seconds = note, 0, 0.0
        self.begun = self.over = False

    def __call__(self, name: str, seconds: float | None) -> None:
        """A kernel's compilation begins, or has taken so many seconds."""
        if not self.begun:
            self.note("compiling kernels for this machine; they are kept for the next time")
        self.begun = True
        self.kernels += seconds is not None
        self.seconds += seconds or 0.0

    def done(self) -> None:
        """A step is over; the first has compiled what all need."""
        if self.kernels and not self.over:
            count = f"{self.kernels} kernel{'s' * (self.kernels > 1)}"
            self.note(f"compiled {count} in {self.seconds:.1f} s")
        self.over = True


class Quiet:
    """Says nothing."""

    def note(self, text: str) -> None:
        """A sentence for the user."""

    def preparing(self, what: str, done: int, total: int) -> None:
        """So much is done of what comes before training: reading, tokenizing; a total of 0 is unknown."""

    def begin(self, step: int, steps: int) -> None:
        """Training starts at this step, of so many."""

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        """An update was made; `entry` is what the log says of it, if it does."""

    def valid(self, entry: Mapping[str, Any]) -> None:
        """A validation was made."""

    def end(self) -> None:
        """Training is over, or interrupted."""


class Machine(Quiet):
    """Every line of the log, on standard output."""

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        """A log line."""
        if entry is not None:
            print(json.dumps(entry), flush=True)

    def valid(self, entry: Mapping[str, Any]) -> None:
        """A log line."""
        print(json.dumps(entry), flush=True)


@dataclass(frozen=True)
class PaceMark:
    """Where a training was at some moment; of the start of a sitting the tokens are not known."""

    step: int
    seconds: float
    tokens: int | None = None
    examples: int = 0

    @classmethod
    def of(cls, report: Report) -> "PaceMark":
        """Now, after this update."""
        return cls(report.step, time.monotonic(), report.tokens, report.examples)


def pace(before: PaceMark, now: PaceMark) -> str:
    """Tokens a second, or examples where each is one prediction."""
    if before.tokens is None or now.tokens is None:
        return ""
    tokens, examples = now.tokens - before.tokens, now.examples - before.examples
    unit = "examples" if tokens == examples else "tokens"
    return f"{tokens / max(now.seconds - before.seconds, 1e-9):,.0f} {unit}/s"


class Lines(Quiet):
    """Plain lines on standard error, one every few seconds."""

    def __init__(self) -> None:
        self.steps, self.spoke, self.stepped = 0, 0.0, 0.0
        self.last = PaceMark(0, 0.0)  # the line before, from which the pace is told
        self.prepared, self.due = "", 0.0  # what is being prepared, and when its next line is due

    def note(self, text: str) -> None:
        """At once."""
        print(visible(text), file=sys.stderr, flush=True)

    def preparing(self, what: str, done: int, total: int) -> None:
        """If it takes long, now and then."""
        now = time.monotonic()
        if what != self.prepared:
            self.prepared, self.due = what, now + SLOW
        if now >= self.due and done != total:
            self.due = now + SECONDS
            self.note(f"{what}: {done:,}" + (f" of {total:,}" if total else ""))

    def begin(self, step: int, steps: int) -> None:
        """Remember where it starts and how far it goes."""
        self.steps, self.stepped = steps, time.monotonic()
        self.last = PaceMark(step, self.stepped)

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        """If the last line is a while ago."""
        self.stepped = time.monotonic()
        if report.skipped:
            self.note(f"step {report.step}: the gradient is not finite; no update")
        if time.monotonic() - self.spoke >= SECONDS:
            self.spoke = time.monotonic()
            self.note(
                f"step {report.step}/{self.steps} · epoch {report.epoch} · loss {report.loss:.4f}"
                f"{_metrics(report)}{self._pace(report)}"
            )

    def _pace(self, report: Report) -> str:
        """How fast it is and how long the rest will take, since the line before, once there is a pace: the first steps,
        which compile kernels, would tell a wrong one."""
        before, now = self.last, PaceMark.of(report)
        self.last = now
        if now.step - before.step < 2:
            return ""
        left = clock((now.seconds - before.seconds) / (now.step - before.step) * (self.steps - now.step))
        return "".join(f" · {part}" for part in (pace(before, now), f"{left} left") if part)

    def valid(self, entry: Mapping[str, Any]) -> None:
        """At once; the time that it took tells nothing of how fast steps are."""
        self.last = replace(self.last, seconds=self.last.seconds + time.monotonic() - self.stepped)
        self.note(f"step {entry['step']}: {told(entry['scores'])}{' · best' if entry['best'] else ''}")


class Bar(Lines):
    """A progress bar, with notes above it."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TextColumn("{task.fields[pace]}"),
            TimeRemainingColumn(),
            console=self.console,
        )

    def note(self, text: str) -> None:
        """Above the bar."""
        self.console.print(visible(text), markup=False)

    def preparing(self, what: str, done: int, total: int) -> None:
        """A bar of its own, which goes when it is full."""
        if what != self.prepared:
            self._prepared()
            self.prepared = what
            self.before = Progress(
                SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=self.console
            )
            self.before.add_task(what, total=total or None)
            self.before.live.transient = True
            self.before.start()
        self.before.update(self.before.task_ids[0], completed=done)
        if done == total:
            self._prepared()

    def _prepared(self) -> None:
        """Take the bar of what was prepared away."""
        if self.prepared:
            self.before.stop()
        self.prepared = ""

    def begin(self, step: int, steps: int) -> None:
        """Draw it."""
        self._prepared()
        self.task = self.bar.add_task("training", total=steps, completed=step, loss="…", pace="")
        self.last = PaceMark(step, time.monotonic())
        self.bar.start()

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        """Move it."""
        if report.skipped:
            self.note(f"step {report.step}: the gradient is not finite; no update")
        self.bar.update(self.task, completed=report.step, loss=f"{report.loss:.4f}{_metrics(report)}")
        if time.monotonic() - self.last.seconds >= REFRESHED:
            before, self.last = self.last, PaceMark.of(report)
            self.bar.update(self.task, pace=pace(before, self.last))

    def end(self) -> None:
        """Leave it as it stands."""
        self.bar.stop()


def watcher(*, quiet: bool = False, machine: bool = False) -> Quiet:
    """The one that fits where the output goes."""
    if quiet or machine:
        return Machine() if machine else Quiet()
    return Bar() if sys.stderr.isatty() else Lines()
