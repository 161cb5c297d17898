"""One writer for each run or data set: a lock that the system takes back when its holder dies, however it dies."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from saccade.errors import SaccadeError, UsageError

LOCK = ".lock"
GLANCE = 0.05  # seconds; longer than it takes to see whether a lock is held
TURN = 0.2  # seconds between two looks whether another process has finished

_held: set[int] = set()


class InUse(UsageError):  # noqa: N818 - reads as what it is
    """A directory that another process writes."""


if sys.platform == "win32":
    import msvcrt

    FAR = 2**30  # beyond the process id, which others must be able to read

    def _take(descriptor: int, *, shared: bool = False) -> bool:
        """Whether this process now holds the lock."""
        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int, *, shared: bool = False) -> bool:
        """Whether this process now holds the lock, by itself or with others that only look."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _let_go() -> None:
        """In a forked worker: its copy of the file would hold the lock after the trainer is gone."""
        for descriptor in _held:
            os.close(descriptor)
        _held.clear()

    os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def locked(folder: Path, kind: str = "run") -> Iterator[None]:
    """Be the only writer of a directory, or be told the process that is."""
    descriptor = _acquire(folder, kind)
    _held.add(descriptor)
    try:
        yield
    finally:
        if descriptor in _held:  # not in a forked worker, where the number may by now be another file
            _held.remove(descriptor)
            os.close(descriptor)


def is_held(folder: Path) -> bool:
    """Whether a process writes this directory. Whoever begins to write it at this moment is not sent away."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _take(descriptor, shared=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _take_later(descriptor: int) -> bool:
    """One more try, for the case that somebody only looked."""
    time.sleep(GLANCE)
    return _take(descriptor)


@contextlib.contextmanager
def alone(folder: Path, kind: str) -> Iterator[None]:
    """Wait until no other process writes a directory, and be the only one."""
    while True:
        with contextlib.suppress(InUse), locked(folder, kind):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):  # Windows keeps what is open
                    (folder / LOCK).unlink()
            return
        time.sleep(TURN)


def _acquire(folder: Path, kind: str) -> int:
    path = folder / LOCK
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _unlockable(path, error, kind) from error
        try:
            if not (_take(descriptor) or _take_later(descriptor)):
                raise InUse(
                    f"{kind} {folder} is in use by {_holder(descriptor)}; wait for it, stop it, or name another {kind}"
                )
            if _is_still_there(path, descriptor):
                _sign(descriptor)
                return descriptor
        except OSError as error:
            os.close(descriptor)
            raise _unlockable(path, error, kind) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the directory was removed between opening and locking: lock the one that is there now


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"{os.getpid()}\n".encode())


def _holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, 20).decode(errors="replace").strip()
    return f"process {text}" if text.isdecimal() else "another process"


def _unlockable(path: Path, error: OSError, kind: str) -> SaccadeError:
    return SaccadeError(f"cannot lock {path}: {error.strerror}; choose a {kind} directory on a disk you can write to")
