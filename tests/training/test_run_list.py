"""Every directory is listed with how it stands, whatever is in it, and without torch."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from saccade.lock import locked
from saccade.training.run_list import RunSummary, run_list

CONFIG = (
    'system = "bahdanau"\n[data]\nname = "dates"\n[writer]\nmetric = "exact_match"\n[train]\nsteps = {}\npatience = {}\n'
)


def step(number: int, event: str = "step") -> dict[str, Any]:
    return {"event": event, "step": number, "loss": 1.0, "tokens": number, "tokens_per_second": 5}


def valid(number: int, score: float, *, best: bool) -> dict[str, Any]:
    return {
        "event": "valid",
        "step": number,
        "best": best,
        "scores": {"all": {"examples": 9, "loss": 9.0, "exact_match": score}},
    }


def made(
    place: Path, log: Sequence[Mapping[str, Any]], checkpoints: tuple[int, ...] = (), steps: int = 100, patience: int = 0
) -> Path:
    """A directory as a run leaves it, as far as a list looks."""
    for number in checkpoints:
        (place / "checkpoints" / f"step-{number:08d}").mkdir(parents=True)
        (place / "checkpoints" / f"step-{number:08d}" / "MANIFEST.json").write_text("{}")
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.toml").write_text(CONFIG.format(steps, patience))
    (place / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    return place


def only(folder: Path) -> RunSummary:
    (found,) = run_list(folder)
    return found


def test_a_finished_run_and_its_best_score(tmp_path: Path) -> None:
    log = [step(50), valid(50, 0.75, best=True), step(100), valid(100, 0.5, best=False)]
    found = only(made(tmp_path / "a", log, (50, 100)))
    assert (found.state, found.system, found.data) == ("finished", "bahdanau", "dates")
    assert (found.metric, found.score) == ("exact_match", 0.75)
    assert found.size == sum(path.stat().st_size for path in (tmp_path / "a").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("log", "checkpoints", "patience", "state"),
    [
        ([step(40)], (40,), 0, "interrupted 40/100"),
        ([step(60)], (40,), 0, "interrupted 40/100"),  # a kill: what is after the checkpoint is made once more
        ([step(20), valid(20, 0.5, best=True), valid(40, 0.4, best=False)], (20, 40), 1, "stopped early 40/100"),
        ([step(20), valid(20, 0.5, best=True), valid(40, 0.4, best=False)], (20, 40), 2, "interrupted 40/100"),
        ([step(40), *(step(number, "skipped") for number in (41, 42, 43))], (40,), 0, "failed 40/100"),
        ([step(40), step(41, "skipped"), step(42)], (40,), 0, "interrupted 40/100"),
        ([step(3)], (), 0, "no checkpoint"),
    ],
)  # fmt: skip
def test_how_a_run_stands(
    log: Sequence[Mapping[str, Any]], checkpoints: tuple[int, ...], patience: int, state: str, tmp_path: Path
) -> None:
    assert only(made(tmp_path / "a", log, checkpoints, patience=patience)).state == state


def test_a_run_that_is_being_trained_is_told_by_its_lock(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [step(60)], (40,))
    with locked(run):
        assert only(tmp_path).state == "running 60/100"
    assert only(tmp_path).state == "interrupted 40/100"


def test_a_new_run_that_grows_beside_an_earlier_one(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [step(100)], (100,))
    made(run / ".fresh", [step(30)], (), steps=70)
    with locked(run):
        found = only(tmp_path)
    assert (found.status, found.note) == ("running", "anew in .fresh, step 30 of 70")
    made(run / ".fresh", [step(30)], (30,), steps=70)
    found = only(tmp_path)
    assert (found.status, found.note) == ("finished", "a new one in .fresh was interrupted, step 30 of 70")


def test_a_run_whose_swap_was_killed_is_the_new_one(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [step(100)], (100,))
    made(run / ".swap", [step(30)], (30,), steps=70)
    assert only(tmp_path).state == "interrupted 30/70"


def test_an_imported_run_has_no_log(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [], (0,))
    (run / "log.jsonl").unlink()
    assert only(tmp_path).state == "imported"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"x = [", "config.toml cannot be read ("),
        (b"\xff\xfe", "config.toml cannot be read ("),
        (b"", "config.toml is not that of a run"),
        (b"system = 3\n[train]\nsteps = 5", "config.toml is not that of a run"),
        (b'system = "a"\n[train]\nsteps = "5"', "config.toml is not that of a run"),
        (b'system = "a"\ntrain = 5', "config.toml is not that of a run"),
        (None, "it has no config.toml"),
    ],
)
def test_what_is_broken_is_described(content: bytes | None, note: str, tmp_path: Path) -> None:
    run = made(tmp_path / "a", [step(4)], (4,))
    (run / "config.toml").unlink()
    if content is not None:
        (run / "config.toml").write_bytes(content)
    found = only(tmp_path)
    assert (found.status, found.note[: len(note)]) == ("broken", note)


@pytest.mark.parametrize(
    "log",
    [
        b"\xff\xfe\x00",
        b"null\n[]\n",
        b'{"step": 5',
        b'{"step": 1, "event": "valid", "best": true}\n',
        b'{"step": 1, "event": "valid", "best": true, "scores": {"all": {"exact_match": []}}}\n',
    ],
)
def test_a_log_that_says_nothing_costs_only_the_score(log: bytes, tmp_path: Path) -> None:
    (made(tmp_path / "a", [], (40,)) / "log.jsonl").write_bytes(log)
    found = only(tmp_path)
    assert (found.state, found.score) == ("interrupted 40/100", None)


def test_checkpoints_are_looked_at_by_name(tmp_path: Path) -> None:
    run = made(tmp_path / "a", [step(8)], (4, 8))
    (run / "checkpoints" / "step-00000008" / "MANIFEST.json").unlink()
    assert only(tmp_path).note == "step-00000008 is damaged (it has no manifest)"
    other = made(tmp_path / "b", [])
    (other / "checkpoints").write_text("")
    assert {one.note for one in run_list(tmp_path)} >= {"checkpoints is no directory"}


def test_runs_below_are_found_and_other_directories_are_not_runs(tmp_path: Path) -> None:
    made(tmp_path / "table" / "row" / "seed-0", [step(100)], (100,))
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    made(tmp_path / ".hidden" / "run", [])
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert [one.path for one in run_list(tmp_path)] == [str(tmp_path / "table" / "row" / "seed-0")]


def test_the_newest_comes_first(tmp_path: Path) -> None:
    for number, name in enumerate(("c", "a", "b")):
        run = made(tmp_path / name, [])
        for path in (run, *run.rglob("*")):
            os.utime(path, (1000 + number, 1000 + number))
    assert [Path(one.path).name for one in run_list(tmp_path)] == ["b", "a", "c"]


def test_no_torch_is_imported() -> None:
    code = "import saccade.training.run_list, saccade.training.run_curves, sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
