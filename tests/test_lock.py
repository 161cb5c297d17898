"""One writer for each run: the second is told who the first is, and a dead one holds nothing."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade import lock
from saccade.errors import SaccadeError, UsageError
from saccade.lock import is_held, locked
from tests.training.checkpoints.saves import end, start

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def holder(run: Path, then: Callable[[], None] = lambda: None) -> int:
    """A process that holds the lock until it is killed; back when it has it."""
    reading, writing = os.pipe()

    def work() -> None:
        with locked(run):
            then()
            os.write(writing, b"held")
            time.sleep(60)

    child = start(work)
    os.close(writing)
    assert os.read(reading, 4) == b"held"
    os.close(reading)
    return child


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    assert end(child) == signal.SIGKILL


def refusal(run: Path) -> str:
    with pytest.raises(UsageError) as raised, locked(run):
        pass
    return str(raised.value)


def test_second_holder_is_told_the_first(tmp_path: Path) -> None:
    child = holder(tmp_path / "run")
    try:
        assert refusal(tmp_path / "run") == (
            f"run {tmp_path / 'run'} is in use by process {child}; wait for it, stop it, or name another run"
        )
        with locked(tmp_path / "other"):
            pass
    finally:
        kill(child)


def test_killed_holder_holds_nothing(tmp_path: Path) -> None:
    for _ in range(10):
        kill(holder(tmp_path))
        with locked(tmp_path):
            assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_released_at_the_end_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    for _ in range(3):
        with locked(tmp_path):
            assert str(os.getpid()) in refusal(tmp_path)


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with locked(tmp_path):
        for _ in range(5):
            refusal(tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_worker_does_not_hold_the_lock_of_a_dead_trainer(tmp_path: Path) -> None:
    note = tmp_path / "worker"

    def fork_worker() -> None:
        reading, writing = os.pipe()

        def work() -> None:
            os.write(writing, b"runs")
            time.sleep(60)

        note.write_text(str(start(work)))
        assert os.read(reading, 4) == b"runs"  # a worker lets go when it first runs, which a busy machine may put off

    kill(holder(tmp_path, fork_worker))
    try:
        with locked(tmp_path):
            pass
    finally:
        os.kill(int(note.read_text()), signal.SIGKILL)


def test_worker_that_ends_does_not_release_the_lock(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert end(start(lambda: None)) == 0
        child = os.fork()
        if child == 0:  # leaves through the lock's own end
            try:
                with locked(tmp_path / "second"):
                    pass
            finally:
                os._exit(0)
        assert end(child) == 0
        assert "is in use" in refusal(tmp_path)


def test_run_removed_under_its_holder(tmp_path: Path) -> None:
    child = holder(tmp_path / "run")
    try:
        shutil.rmtree(tmp_path / "run")
        with locked(tmp_path / "run"):
            assert "is in use" in refusal(tmp_path / "run")
    finally:
        kill(child)


def test_run_removed_while_it_is_being_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take, run = lock._take, tmp_path / "run"

    def take_after_removal(descriptor: int) -> bool:
        monkeypatch.setattr(lock, "_take", take)
        shutil.rmtree(run)
        return take(descriptor)

    monkeypatch.setattr(lock, "_take", take_after_removal)
    with locked(run):
        assert "is in use" in refusal(run)


def test_one_winner_of_a_race(tmp_path: Path) -> None:
    def race() -> None:
        while not (tmp_path / "go").exists():
            pass
        try:
            with locked(tmp_path / "run"):
                (tmp_path / f"won-{os.getpid()}").touch()
                while not (tmp_path / "over").exists():
                    time.sleep(0.001)
        except UsageError:
            (tmp_path / f"lost-{os.getpid()}").touch()

    children = [start(race) for _ in range(8)]
    (tmp_path / "go").touch()
    deadline = time.monotonic() + 20
    while len(list(tmp_path.glob("*-*"))) < 8 and time.monotonic() < deadline:
        time.sleep(0.001)
    (tmp_path / "over").touch()
    assert [end(child) for child in children] == [0] * 8
    assert (len(list(tmp_path.glob("won-*"))), len(list(tmp_path.glob("lost-*")))) == (1, 7)


def test_place_that_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SaccadeError, match=r"^cannot lock .*/file/\.lock: .*; choose"), locked(tmp_path / "file"):
        pass
    (tmp_path / "run" / ".lock").mkdir(parents=True)
    with pytest.raises(SaccadeError, match=r"^cannot lock "), locked(tmp_path / "run"):
        pass


def test_whether_it_is_held_is_seen_without_holding_it(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    child = holder(tmp_path / "run")
    assert is_held(tmp_path / "run")
    kill(child)
    assert not is_held(tmp_path / "run")
    assert not is_held(tmp_path / "nowhere")


def test_a_glance_sends_nobody_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked(tmp_path):
        pass
    descriptor = os.open(tmp_path / lock.LOCK, os.O_RDONLY)
    assert lock._take(descriptor, shared=True)  # somebody looks
    monkeypatch.setattr(time, "sleep", lambda seconds: os.close(descriptor))  # and has seen
    with locked(tmp_path):
        assert is_held(tmp_path)
