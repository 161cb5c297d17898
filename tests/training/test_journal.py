"""The log tells one story, in strict JSON, whatever happened to the run."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade.training import journal
from saccade.training.journal import Journal, backward, entries, seconds_of
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


@pytest.mark.parametrize("block", [1, 7, 64, 2**16])
def test_a_log_is_read_from_its_end(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Journal(tmp_path, 0)
    for step in range(1, 6):
        log.step(report(step))
    path = tmp_path / "log.jsonl"
    path.write_bytes(path.read_bytes() + b"\n12\n" + b'{"event": "step", "st')
    monkeypatch.setattr(journal, "BLOCK", block)
    assert list(backward(path)) == [*reversed(entries(path))]


def test_no_more_of_a_log_is_read_than_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Journal(tmp_path, 0)
    for step in range(1, 101):
        log.step(report(step))
    read: list[bytes] = []
    real = journal._whole

    def whole(line: bytes) -> dict[str, Any] | None:
        read.append(line)
        return real(line)

    monkeypatch.setattr(journal, "_whole", whole)
    monkeypatch.setattr(journal, "BLOCK", 512)
    assert next(backward(tmp_path / "log.jsonl"))["step"] == 100
    assert len(read) < 5


def test_a_log_that_is_empty_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"")
    assert list(backward(tmp_path / "log.jsonl")) == []


def test_seconds_are_those_of_training() -> None:
    lines: list[dict[str, Any]] = [
        {"tokens": 600, "tokens_per_second": 100},
        {"scores": {}},
        {"tokens": 700, "tokens_per_second": 50},
    ]
    assert seconds_of(lines) == [6.0, 2.0]


def test_examples_a_second_and_the_share_of_the_peak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 2.0, 4.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    log = Journal(tmp_path, 0, most=2000.0)
    first, second = (log.step(replace(report(step, 1000 * step), examples=20 * step**2)) for step in (1, 2))
    assert (first["examples_per_second"], second["examples_per_second"]) == (10, 30)
    assert (first["peak_share"], second["peak_share"]) == (0.25, 0.25)
    assert "device_mb" not in first
