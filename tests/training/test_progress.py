"""What is told while a run is trained: scores as they are, time left and tokens a second by a clock that can be set."""

import io
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from saccade.training.journal import Journal
from saccade.training.progress import Bar, Compiling, Lines, clock, told, told_if_slow
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
    watch, watcher = Clock(monkeypatch), Lines()
    watcher.begin(BEGUN, STEPS)
    expected, lined = [], (BEGUN, watch.now, 0)  # step, time and tokens of the line before
    spoke, total = 0.0, 20_000
    for number, (seconds, tokens) in enumerate(PACE, BEGUN + 1):
        watch.now += seconds
        total += tokens
        watcher.step(report(number, total), None)
        if watch.now - spoke >= 10:
            spoke = watch.now
            each = (watch.now - lined[1]) / (number - lined[0])
            minutes, rest = divmod(round(each * (STEPS - number)), 60)
            rate = f"{(total - lined[2]) / (watch.now - lined[1]):,.0f} tokens/s"
            left = f" · {rate} · {minutes}:{rest:02d} left" if number - lined[0] > 1 else ""
            expected.append(f"step {number}/{STEPS} · epoch 0 · loss 1.5000{left}")
            lined = (number, watch.now, total)
    lined_up = capsys.readouterr().err.splitlines()
    assert lined_up == expected
    assert lined_up == [
        "step 41/100 · epoch 0 · loss 1.5000",
        "step 44/100 · epoch 0 · loss 1.5000 · 89 tokens/s · 5:55 left",  # 19 s for 3 steps, 56 to go
        "step 45/100 · epoch 0 · loss 1.5000",
        "step 47/100 · epoch 0 · loss 1.5000 · 10 tokens/s · 13:42 left",  # 31 s for 2 steps, 53 to go
    ]


def test_tokens_a_second_are_those_since_the_line_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Clock(monkeypatch)
    journal = Journal(tmp_path, BEGUN, tokens=20_000)
    total, expected, since = 20_000, [], (20_000, watch.now)
    for number, (seconds, tokens) in enumerate(PACE, BEGUN + 1):
        watch.now, total = watch.now + seconds, total + tokens
        if number % 3 == 0:
            journal.step(report(number, total))
            expected.append((number, total, round((total - since[0]) / (watch.now - since[1])), watch.now))
            since = (total, watch.now)
    keys = ("step", "tokens", "tokens_per_second", "time")
    assert [tuple(line[key] for key in keys) for line in lines(tmp_path)] == expected
    assert [line["tokens_per_second"] for line in lines(tmp_path)] == [200, 36]  # 1200 in 6 s, 1300 in 36 s


def test_the_bar_counts_from_where_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, bar = Clock(monkeypatch), Bar()
    bar.console = bar.bar.live.console = Console(file=io.StringIO(), force_terminal=True)
    bar.bar.get_time = lambda: watch.now
    bar.begin(BEGUN, STEPS)
    for number in range(BEGUN + 1, BEGUN + 11):
        watch.now += 6.0
        bar.step(report(number, 10 * number), None)
    task = bar.bar.tasks[0]
    bar.end()
    assert (task.completed, task.total) == (50, 100)
    assert task.time_remaining == pytest.approx(6.0 * 50, rel=0.15)  # its own mean leaves the first step out


def test_metrics_of_the_system_stand_beside_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    given = replace(report(3, 10), metrics={"accuracy": 0.25, "kl": 1.5})
    plain, bar = Lines(), Bar()
    plain.begin(0, 9)
    plain.step(given, None)
    assert capsys.readouterr().err.startswith("step 3/9 · epoch 0 · loss 1.5000 · accuracy 0.2500 · kl 1.5000")
    bar.console = bar.bar.live.console = Console(file=io.StringIO(), force_terminal=True)
    bar.begin(0, 9)
    bar.step(given, None)
    bar.end()
    assert bar.bar.tasks[0].fields["loss"] == "1.5000 · accuracy 0.2500 · kl 1.5000"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (9.4, "0:09"), (59.6, "1:00"), (61, "1:01"), (600, "10:00"), (3725, "62:05")]
)
def test_a_clock_has_minutes_and_seconds(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"examples": 3, "accuracy": 0.875, "loss": 0.25}, "all: accuracy 87.50%  loss 0.2500"),
        ({"examples": 3, "exact_match": 0.125, "loss": 0.5}, "all: exact match 12.50%  loss 0.5000"),
        ({"examples": 3, "exact_match": 0.125, "loss": 0.5, "bleu": 31.25}, "all: loss 0.5000  BLEU 31.25"),
        ({"examples": 3, "exact_match": 0.5, "mae": 0.0625}, "all: exact match 50.00%  mean absolute error 0.0625"),
        ({"examples": 3, "mrr": 0.4321}, "all: mean reciprocal rank 0.4321"),
    ],
)
def test_scores_are_told_as_they_are(part: dict[str, float], shown: str) -> None:
    assert told({"all": part}) == shown
    assert told({"all": part, "de": part}) == f"{shown} · de: {shown.removeprefix('all: ')}"


def test_compiling_is_told_once_and_then_how_long_it_took() -> None:
    notes: list[str] = []
    warm = Compiling(notes.append)
    warm.done()
    assert notes == []
    compiling = Compiling(notes.append)
    for name, seconds in (("gru_forward", 1.25), ("pool_forward", 0.5)):
        compiling(name, None)
        compiling(name, seconds)
    assert notes == ["compiling kernels for this machine; they are kept for the next time"]
    compiling.done()
    compiling.done()
    assert notes[1:] == ["compiled 2 kernels in 1.8 s"]


def test_what_takes_long_is_told_and_what_does_not_is_not() -> None:
    notes: list[str] = []
    with told_if_slow(notes.append, "reading a", seconds=60):
        pass
    said = threading.Event()

    def note(text: str) -> None:
        notes.append(text)
        said.set()

    with told_if_slow(note, "reading b", seconds=0):
        assert said.wait(60)
    assert notes == ["reading b"]
