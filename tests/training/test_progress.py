"""Time left and tokens a second, in the progress line and in the log, by a clock that can be set."""

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from saccade.training.journal import Journal
from saccade.training.progress import Bar, Lines
from saccade.training.trainer import Report

from .sittings import lines


class Clock:
    """Stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for name in ("monotonic", "perf_counter", "time"):
            monkeypatch.setattr(time, name, lambda: self.now)


def report(step: int, tokens: int) -> Report:
    return Report(step, 0, tokens, 1.5, 0.1, 2.0, 0.01, skipped=False)


# Seconds that each step takes, and tokens that it has, from a step in the middle of a run on.
BEGUN, STEPS = 40, 100
PACE = [(3.0, 500), (3.0, 700), (5.0, 100), (11.0, 900), (20.0, 300), (1.0, 300), (30.0, 10)]


def test_time_left_is_the_pace_since_the_line_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, watcher = Clock(monkeypatch), Lines()
    watcher.begin(BEGUN, STEPS)
    expected, lined = [], (BEGUN, clock.now)  # the step and the time of the line before
    spoke = 0.0
    for number, (seconds, tokens) in enumerate(PACE, BEGUN + 1):
        clock.now += seconds
        watcher.step(report(number, tokens), None)
        if clock.now - spoke >= 10:
            spoke = clock.now
            each = (clock.now - lined[1]) / (number - lined[0])
            minutes, rest = divmod(round(each * (STEPS - number)), 60)
            left = f" · {minutes}:{rest:02d} left" if number - lined[0] > 1 else ""
            expected.append(f"step {number}/{STEPS} · epoch 0 · loss 1.5000{left}")
            lined = (number, clock.now)
    told = capsys.readouterr().err.splitlines()
    assert told == expected
    assert told == [
        "step 41/100 · epoch 0 · loss 1.5000",
        "step 44/100 · epoch 0 · loss 1.5000 · 5:55 left",  # 19 s for 3 steps, 56 to go
        "step 45/100 · epoch 0 · loss 1.5000",
        "step 47/100 · epoch 0 · loss 1.5000 · 13:42 left",  # 31 s for 2 steps, 53 to go
    ]


def test_tokens_a_second_are_those_since_the_line_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    journal = Journal(tmp_path, BEGUN, tokens=20_000)
    total, expected, since = 20_000, [], (20_000, clock.now)
    for number, (seconds, tokens) in enumerate(PACE, BEGUN + 1):
        clock.now, total = clock.now + seconds, total + tokens
        if number % 3 == 0:
            journal.step(report(number, total))
            expected.append((number, total, round((total - since[0]) / (clock.now - since[1])), clock.now))
            since = (total, clock.now)
    keys = ("step", "tokens", "tokens_per_second", "time")
    assert [tuple(line[key] for key in keys) for line in lines(tmp_path)] == expected
    assert [line["tokens_per_second"] for line in lines(tmp_path)] == [200, 36]  # 1200 in 6 s, 1300 in 36 s


def test_the_bar_counts_from_where_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, bar = Clock(monkeypatch), Bar()
    bar.console = bar.bar.live.console = Console(file=io.StringIO(), force_terminal=True)
    bar.bar.get_time = lambda: clock.now
    bar.begin(BEGUN, STEPS)
    for number in range(BEGUN + 1, BEGUN + 11):
        clock.now += 6.0
        bar.step(report(number, 10 * number), None)
    task = bar.bar.tasks[0]
    bar.end()
    assert (task.completed, task.total) == (50, 100)
    assert task.time_remaining == pytest.approx(6.0 * 50, rel=0.15)  # its own mean leaves the first step out
