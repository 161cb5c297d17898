"""When the disk fails: the save says so in one line, and what was there before can still be loaded."""

import errno
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from saccade import durable_files
from saccade.errors import SaccadeError
from saccade.training.checkpoints import store as module
from saccade.training.checkpoints.store import Checkpoints
from tests.training.checkpoints.saves import end, hidden, is_whole, save, scratch, start

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
ERRORS = [errno.ENOSPC, errno.EIO, errno.EROFS]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with scratch() as folder:
        yield folder


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    """Steps 1 (the best), 3 and 4."""
    checkpoints = Checkpoints(tmp_path / "run", keep=2)
    for step in (1, 2, 3, 4):
        save(checkpoints, step, best=step == 1)
    return checkpoints


def failing(code: int, calls: int, for_ever: bool) -> Callable[..., None]:
    """Fails at this call, counted from 0, and perhaps at all later ones."""
    left = calls

    def act(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == -1 or (for_ever and left < 0):
            raise OSError(code, os.strerror(code))

    return act


def require_intact(checkpoints: Checkpoints) -> None:
    found = checkpoints.load()
    assert found.step in (4, 5)
    assert found.passed_over == []
    assert checkpoints.load("best").step == 1
    assert all(is_whole(checkpoints.load(step)) for step in checkpoints.steps())


def refused(checkpoints: Checkpoints, step: int = 5, variant: int = 0, size: int = 50) -> str:
    with pytest.raises(SaccadeError) as raised:
        save(checkpoints, step, variant=variant, size=size)
    text = str(raised.value)
    assert "\n" not in text
    assert str(checkpoints.run) in text
    return text


def count(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, step: int) -> int:
    """How many points a save passes."""
    copy = checkpoints.run.with_name("counted")
    shutil.copytree(checkpoints.run, copy)
    names: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "_at", names.append)
        save(Checkpoints(copy, keep=2), step)
    return len(names)


@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("step", [5, 4], ids=["new", "again"])
@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
def test_error_after_each_write_sync_and_rename(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, code: int, step: int, for_ever: bool
) -> None:
    total = count(checkpoints, monkeypatch, step)
    assert total >= 18
    for index in range(total):
        run = checkpoints.run.with_name(str(index))
        shutil.copytree(checkpoints.run, run)
        broken = Checkpoints(run, keep=2)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_at", failing(code, index, for_ever))
            assert os.strerror(code) in refused(broken, step)
        require_intact(broken)
        assert not any(name.startswith(".tmp") for name in hidden(broken))
        save(broken, step)
        require_intact(broken)
        assert hidden(broken) == []
        assert broken.load().step == step


@pytest.mark.parametrize("name", ["fsync", "mkdir", "rename", "replace"])
def test_calls_that_fail_themselves(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = getattr(os, name)
    for index in range(30):
        fail = failing(errno.EIO, index, False)

        def call(*given: object, fail: Callable[..., None] = fail, **named: object) -> object:
            fail()
            return real(*given, **named)

        run = checkpoints.run.with_name(str(index))
        shutil.copytree(checkpoints.run, run)
        with monkeypatch.context() as patch:
            patch.setattr(os, name, call)
            try:
                save(Checkpoints(run, keep=2), 5)
            except SaccadeError as error:
                assert os.strerror(errno.EIO) in str(error)  # noqa: PT017 - the last one does not fail
            else:
                break
        require_intact(Checkpoints(run, keep=2))
        assert hidden(Checkpoints(run)) == []
    assert index > 0
    assert index < 30


def record(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is put on the disk and what is renamed or deleted, in order; files by number, so that renames do not matter."""
    events: list[tuple[str, str]] = []

    def before(name: str, describe: Callable[..., str]) -> None:
        real = getattr(os, name)

        def call(*given: object, **named: object) -> object:
            events.append((name, describe(*given)))
            return real(*given, **named)

        monkeypatch.setattr(os, name, call)

    before("fsync", lambda descriptor: str(os.fstat(descriptor).st_ino))
    for name in ("rename", "replace"):
        before(name, lambda source, target: f"{' '.join(inside(Path(source)))} > {Path(target).name}")
    monkeypatch.setattr(durable_files, "remove", lambda path: events.append(("remove", path.name)))
    return events


def inside(path: Path) -> list[str]:
    return [str(item.stat().st_ino) for item in (path, *(path.iterdir() if path.is_dir() else ()))]


def test_all_is_on_the_disk_before_it_gets_its_name(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = inside(checkpoints.folder)[0]
    events = record(monkeypatch)
    save(checkpoints, 5, best=True)
    renames = [index for index, (name, _) in enumerate(events) if name in ("rename", "replace")]
    names = [events[index][1].split(" > ")[1] for index in renames]
    assert names[:3] == ["step-00000005", "LAST", "BEST"]
    for index, name in zip(renames[:3], names, strict=False):
        numbers = events[index][1].split(" > ")[0].split()
        assert {("fsync", number) for number in numbers} <= set(events[:index]), name
        assert events[index + 1] == ("fsync", folder), name
    removed = [index for index, (name, text) in enumerate(events) if name == "remove" and text.startswith(".del-")]
    assert len(removed) == 2
    assert events[removed[0] - 1] == ("fsync", folder)


@needs_fork
def test_file_size_limit(checkpoints: Checkpoints) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        text = refused(checkpoints, size=3000)
        assert os.strerror(errno.EFBIG) in text
        assert hidden(checkpoints) == []

    assert end(start(work)) == 0
    require_intact(checkpoints)


@needs_fork
def test_directory_without_permission() -> None:
    with tempfile.TemporaryDirectory() as name:
        checkpoints = Checkpoints(Path(name), keep=2)
        save(checkpoints, 4)
        save(checkpoints, 1, best=True)
        save(checkpoints, 4)
        Path(name).chmod(0o755)
        checkpoints.folder.chmod(0o555)

        def work() -> None:
            if os.getuid() == 0:
                os.setuid(65534)
            assert "Permission denied; make it writable" in refused(checkpoints)
            require_intact(checkpoints)

        assert end(start(work)) == 0
        checkpoints.folder.chmod(0o755)
        assert checkpoints.steps() == [1, 4]


def mounted(*options: str) -> bool:
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or not mounted("-t", "tmpfs", "-o", "size=1m", "saccade-test", str(folder)):
        pytest.skip("a small disk can be mounted only by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = Checkpoints(small_disk / "run", keep=2)
    save(checkpoints, 1, best=True)
    save(checkpoints, 4)
    assert "not enough space" in refused(checkpoints, size=6000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**40))  # as if filled by others meanwhile
    for size in range(9000, 20_000, 250):
        room = os.statvfs(small_disk).f_bavail
        if 96 * size > room * 4096:
            assert f"{os.strerror(errno.ENOSPC)}; free some space" in refused(checkpoints, size=size)
            assert hidden(checkpoints) == []
            assert os.statvfs(small_disk).f_bavail == room
    require_intact(checkpoints)


def test_disk_turned_read_only(small_disk: Path) -> None:
    checkpoints = Checkpoints(small_disk / "run", keep=2)
    save(checkpoints, 1, best=True)
    save(checkpoints, 4)
    assert mounted("-o", "remount,ro", str(small_disk))
    assert "Read-only file system; make it writable" in refused(checkpoints)
    require_intact(checkpoints)
