"""The log tells one story, in strict JSON, whatever happened to the run."""

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.training import journal
from saccade.training.journal import Journal
from saccade.training.progress import Lines
from saccade.training.trainer import Report

from .sittings import lines


def report(step: int, tokens: int = 0, loss: float = 1.0) -> Report:
    return Report(step, 0, tokens, loss, 0.1, 2.0, 0.01, skipped=False)


def test_the_log_cuts_what_is_written_again(tmp_path: Path) -> None:
    first = Journal(tmp_path, 0)
    for step in range(1, 7):
        first.step(report(step, loss=float(step)))
    first.valid(6, {"all": {"exact_match": 0.5}}, best=True)
    second = Journal(tmp_path, 4)
    second.step(report(5, loss=50.0))
    assert [(line["step"], line["loss"]) for line in lines(tmp_path)] == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 50)]
    Journal(tmp_path, 0)
    assert lines(tmp_path) == []


@pytest.mark.parametrize(
    "tail", [b'{"event": "step", "st', b'{"event": "step"}\n', b"12\n", b'"\xff', b'\n{"step": 9}\n', b"null"]
)
def test_the_log_survives_a_torn_line(tail: bytes, tmp_path: Path) -> None:
    for step in (1, 2):
        Journal(tmp_path, step).step(report(step))
    path = tmp_path / "log.jsonl"
    path.write_bytes(path.read_bytes() + tail)
    Journal(tmp_path, 5).step(report(3))
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_the_log_is_json_whatever_the_numbers(loss: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Journal(tmp_path, 0)
    given = [log.step(report(1, loss=loss)), log.valid(1, {"all": {"exact_match": 0.0, "loss": loss}}, best=False)]
    assert lines(tmp_path) == given
    assert lines(tmp_path)[0]["loss"] == lines(tmp_path)[1]["scores"]["all"]["loss"] == str(loss)
    Lines().valid(given[1])
    assert f"all: exact match 0.00%  loss {loss:.4f}" in capsys.readouterr().err


def test_metrics_of_the_system_are_logged(tmp_path: Path) -> None:
    log = Journal(tmp_path, 0)
    log.step(replace(report(1), metrics={"accuracy": 0.25, "kl": math.nan}))
    log.step(report(2))
    first, second = lines(tmp_path)
    assert (first["accuracy"], first["kl"]) == (0.25, "nan")
    assert first.keys() - second.keys() == {"accuracy", "kl"}
    assert second["learning_rate"] == 0.1


def test_speed_is_counted_from_where_the_sitting_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 2.0, 4.0, 10.0, 12.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    first = Journal(tmp_path, 0)
    assert first.step(report(1, 1000))["tokens_per_second"] == 500
    assert first.step(report(2, 3000))["tokens_per_second"] == 1000
    first.valid(2, {"all": {"exact_match": 0.5}}, best=True)
    resumed = Journal(tmp_path, 2, 3000)
    assert resumed.step(report(3, 4000))["tokens_per_second"] == 500


def test_memory_is_told_where_the_system_does_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = journal.resident_megabytes()
    monkeypatch.setattr(Path, "read_text", lambda self: (_ for _ in ()).throw(OSError))
    assert there > 20
    assert journal.resident_megabytes() >= 20
