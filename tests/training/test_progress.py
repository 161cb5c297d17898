"""What is told while a run is trained: scores as they are, and the time left at the pace since the line before."""

import random
import time

import pytest

from saccade.training.progress import Lines, clock, told
from saccade.training.trainer import Report


def report(step: int, loss: float = 1.5) -> Report:
    return Report(step, 2, 0, loss, 0.1, 2.0, 0.01, skipped=False)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (9.4, "0:09"), (59.6, "1:00"), (61, "1:01"), (600, "10:00"), (3725, "62:05")]
)
def test_a_clock_has_minutes_and_seconds(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_the_time_left_is_that_of_the_steps_left_at_the_last_pace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    watching = Lines()
    watching.begin(40, 1000)  # a run that goes on
    dice, before, then = random.Random(1), 40, now
    for _ in range(6):
        step, seconds = before + dice.randint(2, 120), dice.uniform(11, 400)
        now += seconds
        watching.step(report(step), None)
        left = round((1000 - step) * (now - then) / (step - before))
        line = f"step {step}/1000 · epoch 2 · loss 1.5000 · {left // 60}:{left % 60:02d} left"
        assert capsys.readouterr().err == f"{line}\n"
        before, then = step, now
    now += 5
    watching.step(report(before + 50), None)
    assert capsys.readouterr().err == ""  # a line every few seconds is enough
    now += 20
    watching.step(report(before + 1), None)
    assert capsys.readouterr().err.endswith("loss 1.5000\n")  # one step is no pace


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"examples": 3, "accuracy": 0.875, "loss": 0.25}, "all 87.50% right (loss 0.2500)"),
        ({"examples": 3, "exact": 0.125, "loss": 0.5}, "all 12.50% exact (loss 0.5000)"),
        ({"examples": 3, "exact": 0.125, "loss": 0.5, "bleu": 31.25}, "all BLEU 31.25 (loss 0.5000)"),
        ({"examples": 3, "exact": 0.5, "mae": 0.0625}, "all 50.00% exact (error 0.0625)"),
        ({"examples": 3, "mrr": 0.4321}, "all MRR 0.4321"),
    ],
)
def test_scores_are_told_as_they_are(part: dict[str, float], shown: str) -> None:
    assert told({"all": part}) == shown
    assert told({"all": part, "de": part}) == f"{shown} · de {shown.removeprefix('all ')}"
