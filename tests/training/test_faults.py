"""One of several processes fails: the others end soon, one line names it, nothing is torn. Real processes, real signals."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from saccade.training.checkpoints.store import Checkpoints
from saccade.training.run import Run
from tests.training.many import alive, process, torchrun, trained, wait_until
from tests.training.runs import tiny_transformer

pytestmark = pytest.mark.long
SOON = 30.0


def words(out: Path, *more: str) -> list[str]:
    """A training of the date reader that takes a while, with a checkpoint now and then."""
    sizes = ["data.train_size=200", "data.valid_size=20", "data.test_size=5", "model.hidden_size=8", "model.dropout=0.1"]
    train = [
        "steps=100000",
        "save_every=10",
        "valid_every=50000",
        "log_every=1",
        "threads=1",
        "timeout=8",
        "batch_tokens=400",
    ]
    return ["train", "dates", *sizes, *(f"train.{word}" for word in train), "--out", str(out), "--quiet", *more]


def step_of(run: Path) -> int:
    """The last step that the log has."""
    try:
        return int(json.loads((run / "log.jsonl").read_text().splitlines()[-1])["step"])
    except (OSError, IndexError, ValueError):
        return -1


@contextmanager
def started(run: Path, *more: str, options: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Two processes that have made some steps and have a checkpoint."""
    running = torchrun("-m", "saccade", *words(run, *more), options=options)
    try:
        wait_until(lambda: running.poll() is not None or step_of(run) > 12)
        assert running.poll() is None, running.communicate()[0]
        yield running
    finally:
        for rank in (0, 1):
            try:
                os.kill(process(running.pid, rank), signal.SIGKILL)
            except (AssertionError, ProcessLookupError):
                continue
        running.kill()
        running.communicate()


def require_whole(run: Path) -> int:
    """Every checkpoint that is there can be read; the last step."""
    assert not Checkpoints(run).load("last").passed_over
    Run.open(run)
    return Checkpoints(run).steps()[-1]


def test_a_killed_process_ends_the_others(tmp_path: Path) -> None:
    with started(tmp_path / "run") as running:
        other = process(running.pid, 0)
        os.kill(process(running.pid, 1), signal.SIGKILL)
        assert wait_until(lambda: not alive(other), SOON) < SOON
        said = running.communicate(timeout=SOON)[0]
    assert "saccade: rank 0: rank 1 of 2 ended or did not answer at step" in said
    assert require_whole(tmp_path / "run") >= 10


def test_a_process_that_hangs_ends_the_others(tmp_path: Path) -> None:
    with started(tmp_path / "run") as running:
        other, hung = process(running.pid, 0), process(running.pid, 1)
        os.kill(hung, signal.SIGSTOP)
        assert wait_until(lambda: not alive(other), SOON) < SOON
        os.kill(hung, signal.SIGKILL)
        said = running.communicate(timeout=SOON)[0]
    assert "saccade: rank 0: rank 1 of 2 ended or did not answer at step" in said
    require_whole(tmp_path / "run")


def test_a_polite_end_writes_a_checkpoint(tmp_path: Path) -> None:
    """Also where a scheduler tells all processes, which torchrun then tells once more."""
    with started(tmp_path / "run") as running:
        others = [process(running.pid, rank) for rank in (0, 1)]
        for number in (*others, running.pid):
            os.kill(number, signal.SIGTERM)
        said = running.communicate(timeout=SOON)[0]
    assert said.count("saccade: ") == said.count("stopped at step") == 1
    assert "checkpoint written" in said
    assert require_whole(tmp_path / "run") > 12


def test_torchrun_starts_again_from_the_last_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with started(run, options=("--max-restarts", "1")) as running:
        first = process(running.pid, 0)
        os.kill(process(running.pid, 1), signal.SIGKILL)
        wait_until(lambda: not alive(first), SOON)
        reached = step_of(run)
        wait_until(lambda: step_of(run) > reached + 15)
        assert process(running.pid, 0) != first
        running.terminate()
        running.communicate(timeout=SOON)
    steps = [line["step"] for line in map(json.loads, (run / "log.jsonl").read_text().splitlines())]
    assert steps == sorted(set(steps))  # one story
    require_whole(run)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """What each process of a training said of which one has no room on the disk, or has other data."""
    folder = tmp_path_factory.mktemp("failed")
    table: dict[str, Any] = json.loads(json.dumps(tiny_transformer("train.steps=6").table()))
    table["train"] |= {"save_every": 2, "valid_every": 100}
    sharded = {**table, "train": {**table["train"], "shard": True}}
    jobs: dict[str, dict[str, Any]] = {
        "sharded": {"table": sharded, "full_disk": 1, "bytes": 1000},
        "ddp": {"table": table, "full_disk": 0, "bytes": 8000},
        "first": {"table": table, "full_disk": 0, "bytes": 10},
        "data": {"table": table, "lost_data": 1},
        "after": {"table": table},
        "validation": {"table": {**table, "train": {**table["train"], "valid_every": 4}}, "failed_validation": 1},
    }
    given = [{**job, "out": str(folder / name)} for name, job in jobs.items()]
    return folder, dict(zip(jobs, trained(folder, given), strict=True))


def test_a_full_disk_of_one_process_is_named(failed: tuple[Path, dict[str, list[str]]]) -> None:
    folder, answers = failed
    first, second = answers["sharded"]
    assert "rank 1: cannot write its part of the checkpoint" in first
    assert second.startswith("Unsaved: (told by rank 0) ")
    assert not list((folder / "sharded" / "checkpoints").glob("step-*"))


def test_a_full_disk_of_the_process_that_writes_is_named(failed: tuple[Path, dict[str, list[str]]]) -> None:
    folder, answers = failed
    first, second = answers["ddp"]
    assert first.startswith("Unsaved: rank 0: cannot save step")
    assert second.startswith("Unsaved: (told by rank 0) ")
    assert not list((folder / "ddp" / "checkpoints").glob("step-*"))


def test_a_process_that_cannot_start_is_named(failed: tuple[Path, dict[str, list[str]]]) -> None:
    """Once, and nothing is left of the run; the same processes train afterwards."""
    folder, answers = failed
    first, second = answers["data"]
    assert first == ("NotStarted: rank 1 could not start: the training data is not that of rank 0; give all the same files")
    assert second == "DataError: (told by rank 0) the training data is not that of rank 0; give all the same files"
    assert not (folder / "data").exists()
    assert answers["after"] == ["", ""]


def test_a_first_process_that_cannot_start_is_named(failed: tuple[Path, dict[str, list[str]]]) -> None:
    _, answers = failed
    first, second = answers["first"]
    assert first
    assert second == f"NotStarted: (told by rank 0) rank 0 could not start: {first.partition(': ')[2]}"


def test_a_validation_that_fails_in_one_process_ends_the_others(failed: tuple[Path, dict[str, list[str]]]) -> None:
    """The others wait in the same validation, so there is no checkpoint of this step; the one before is as it was."""
    folder, answers = failed
    first, second = answers["validation"]
    problem = "the validation of step 4 failed: no room; the last checkpoint is as it was"
    assert first.startswith(f"RankLost: rank 1 failed at step 4: {problem}")
    assert problem in second
    assert require_whole(folder / "validation") == 2
