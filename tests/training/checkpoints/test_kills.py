"""Kill a save wherever you like: what was acknowledged is there, what is there is whole, and nothing is left lying about."""

import os
import random
import select
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from saccade.training.checkpoints import names as known
from saccade.training.checkpoints import store as module
from saccade.training.checkpoints.store import Checkpoints
from tests.training.checkpoints.saves import die, end, hidden, is_whole, save, scratch, start

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
KILLS = 64


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with scratch() as folder:
        yield folder


def after(calls: int, action: Callable[[], None]) -> Callable[[str], None]:
    """A hook that acts at this call, counted from 0."""
    left = calls

    def at(_: str) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            action()

    return at


def first(run: Path) -> None:
    save(Checkpoints(run, keep=2), 1, best=True)


def further(run: Path) -> None:
    save(Checkpoints(run, keep=2), 5, best=True)


def again(run: Path) -> None:
    save(Checkpoints(run, keep=2), 4, variant=9)


def back(run: Path) -> None:
    save(Checkpoints(run, keep=1), 2, best=True)


CASES = {"first": first, "further": further, "again": again, "back": back}


def prepare(run: Path, case: str) -> None:
    """Steps 1 (the best), 3 and 4 are there, acknowledged, except before the first save."""
    if case != "first":
        for step in (1, 2, 3, 4):
            save(Checkpoints(run, keep=2), step, best=step == 1)


def points(run: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All points that a save passes, in order."""
    shutil.copytree(run, run.with_name("recorded")) if run.exists() else None
    names: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "_at", names.append)
        CASES[case](run.with_name("recorded"))
    return names


def require_whole(checkpoints: Checkpoints) -> None:
    for step in checkpoints.steps():
        assert is_whole(checkpoints.load(step)), step


@pytest.mark.parametrize("case", CASES)
def test_killed_after_each_write_sync_and_rename(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path / "run", case)
    names = points(tmp_path / "run", case, monkeypatch)
    assert len(names) >= 16
    outcomes = set()
    for index, name in enumerate(names):
        run = tmp_path / str(index)
        shutil.copytree(tmp_path / "run", run) if case != "first" else None
        with monkeypatch.context() as patch:
            patch.setattr(module, "_at", after(index, die))
            assert end(start(lambda run=run: CASES[case](run))) == signal.SIGKILL, name  # type: ignore[misc]
        checkpoints = Checkpoints(run, keep=2)
        outcomes.add(require_safe(checkpoints, case))
        checkpoints.sweep()
        assert require_safe(checkpoints, case) in outcomes, name
        assert not checkpoints.folder.exists() or hidden(checkpoints) == [], name
        if checkpoints.steps():
            assert known.pointed(checkpoints.folder, "LAST") == checkpoints.load().path.name, name
        require_same_after_repeating(run, tmp_path / "recorded", case)
    assert len(outcomes) == 2, "the old before, the new after"


def require_safe(checkpoints: Checkpoints, case: str) -> tuple[int, int] | None:
    """What was acknowledged is there and whole; step and variant of the newest."""
    require_whole(checkpoints)
    if case == "first" and not checkpoints.steps():
        return None
    found = checkpoints.load()
    assert found.passed_over == []
    assert is_whole(found)
    expected = {"first": (1,), "further": (4, 5), "again": (4,), "back": (4, 2)}[case]
    assert found.step in expected
    if case != "first":
        assert 4 in checkpoints.steps() or (case, found.step) == ("back", 2)
        assert checkpoints.load("best").step == {"further": {4: 1, 5: 5}, "back": {4: 1, 2: 2}}.get(case, {}).get(
            found.step, 1
        )
    return found.step, found.state["variant"]


def require_same_after_repeating(run: Path, recorded: Path, case: str) -> None:
    """The save done once more gives what it gives when nobody kills it."""
    CASES[case](run)
    checkpoints, expected = Checkpoints(run), Checkpoints(recorded)
    require_whole(checkpoints)
    assert (checkpoints.steps(), hidden(checkpoints)) == (expected.steps(), [])
    for pointer in ("LAST", "BEST"):
        assert (checkpoints.folder / pointer).read_text() == (expected.folder / pointer).read_text()
    assert checkpoints.load().state == expected.load().state


def train(run: Path, acknowledge: int) -> None:
    """Save as fast as possible, now and then a step twice or a best one, and tell each step that is saved."""
    checkpoints = Checkpoints(run, keep=2)
    checkpoints.sweep()
    assert hidden(checkpoints) == [] if checkpoints.folder.exists() else True
    step = checkpoints.load().step if checkpoints.steps() else 0
    while True:
        step += 1
        for variant in range(2 if step % 4 == 0 else 1):
            save(checkpoints, step, best=step % 5 == 0, variant=variant, size=2000)
            os.write(acknowledge, step.to_bytes(8, "little"))


def kill_once(run: Path, moment: float) -> int:
    """Let it train, kill it at this moment after its first save; the last step that it acknowledged."""
    reading, writing = os.pipe()
    child = start(lambda: train(run, writing))
    os.close(writing)
    select.select([reading], [], [], 30)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    assert end(child) == signal.SIGKILL
    with os.fdopen(reading, "rb") as pipe:
        return int.from_bytes(pipe.read()[-8:], "little")


def test_killed_at_any_moment(tmp_path_factory: pytest.TempPathFactory) -> None:
    moments = random.Random(0)
    run = tmp_path_factory.mktemp("run")  # on the real disk, where most of the time of a save goes into waiting for it
    checkpoints = Checkpoints(run, keep=2)
    inside = 0
    for kill in range(KILLS):
        acknowledged = kill_once(run, moments.uniform(0, 0.03))
        inside += bool(hidden(checkpoints))
        found = checkpoints.load()
        assert found.step - acknowledged in (0, 1), f"kill {kill}"
        assert found.passed_over == []
        assert all(is_whole(checkpoints.load(step), size=2000) for step in checkpoints.steps()), f"kill {kill}"
        assert {found.step, max(found.step - 1, 1)} <= set(checkpoints.steps())
        if acknowledged >= 5:
            assert checkpoints.load("best").step in (acknowledged // 5 * 5, found.step)
    assert inside >= 1, "some kills must hit a save"
    checkpoints.sweep()
    assert hidden(checkpoints) == []


def test_reader_never_stumbles_over_the_writer(tmp_path: Path) -> None:
    def write() -> None:
        checkpoints = Checkpoints(tmp_path, keep=1)
        deadline, step = time.monotonic() + 2.5, 0
        while time.monotonic() < deadline:
            step += 1
            save(checkpoints, step, best=True, size=500)
            save(checkpoints, step, best=True, size=500)

    child = start(write)
    checkpoints = Checkpoints(tmp_path)
    seen = [1]
    try:
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            for found in (checkpoints.load(), checkpoints.load("best")) if checkpoints.steps() else ():
                assert found.passed_over == []
                assert is_whole(found, size=500)
                assert found.step >= seen[-1]
                seen.append(found.step)
    finally:
        os.kill(child, signal.SIGKILL)
        ended = end(child)
    assert ended == 0
    assert len(set(seen)) > 2


def test_interrupted_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    prepare(tmp_path / "run", "further")
    for index, name in enumerate(points(tmp_path / "run", "further", monkeypatch)):
        run = tmp_path / str(index)
        shutil.copytree(tmp_path / "run", run)
        monkeypatch.setattr(module, "_at", after(index, interrupt))
        with pytest.raises(KeyboardInterrupt):
            further(run)
        assert hidden(Checkpoints(run)) == [], name
        require_safe(Checkpoints(run), "further")
