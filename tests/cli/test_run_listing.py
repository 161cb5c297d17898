"""`saccade runs` as it is typed."""

import json
from pathlib import Path

import pytest

from saccade.cli.run_listing import age

from .commands import here


def test_a_run_is_listed_as_it_stands(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    head, line = here("runs .", capsys).out.splitlines()
    assert head.split() == ["run", "system", "data", "state", "best", "age", "size"]
    assert line.split()[:4] == ["run", "bahdanau", "good.tsv", "finished"]
    assert "exact match" in line or "loss" in line
    monkeypatch.setenv("COLUMNS", "45")
    assert here("runs .", capsys).out.splitlines()[0].split() == ["run", "state", "best", "age"]


def test_machines_get_all_of_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run" / "config.toml").write_text("x = [")
    (found,) = json.loads(here("runs . --json", capsys).out)
    assert (found["path"], found["status"], found["step"]) == ("run", "broken", 6)
    assert found["note"].startswith("config.toml cannot be read")


def test_what_is_wrong_stands_below(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "run" / "config.toml").unlink()
    assert here("runs .", capsys).out.splitlines()[-1] == "  it has no config.toml"


def test_no_runs_and_no_directory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("runs", capsys)
    assert (answer.code, answer.out.partition(";")[0]) == (0, "no runs in runs")
    answer = here("runs nowhere", capsys)
    assert (answer.code, answer.err) == (
        2, "saccade: nowhere: expected a directory with runs, got nothing; see what is there: saccade runs .\n",
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "shown"), [(5, "5 s"), (130, "2 min"), (7200, "2 h"), (864000, "10 d"), (-9, "0 s")])
def test_ages(seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 10_000_000.0)
    assert age(10_000_000.0 - seconds) == shown
