"""Files that survive a kill or a power cut: written aside, flushed to the disk, then renamed into place."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from saccade.errors import SaccadeError, UsageError
from saccade.inputs import amount

Hook = Callable[[str], None]


ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "make it writable or choose another run directory",
    errno.EACCES: "make it writable or choose another run directory",
    errno.EPERM: "make it writable or choose another run directory",
}


ELSEWHERE = "choose another directory with {out}"


def unseen(point: str) -> None:
    """The hook where nobody follows what is written."""


def require_room(folder: Path, size: int) -> None:
    """Refuse to begin what the disk cannot hold twice: the old and the new are there together for a moment."""
    free = shutil.disk_usage(folder).free
    if free < 2 * size:
        needed = f"{amount(2 * size)} needed (twice the size of the checkpoint), {amount(free)} there"
        raise SaccadeError(f"not enough space in {folder}: {needed}; free some space or choose another run directory")


def trouble(what: str, folder: Path, error: OSError) -> SaccadeError:
    """The one line that tells what the disk said and what to do about it."""
    path = error.filename or folder
    advice = ADVICE.get(error.errno or 0, "check the disk")
    return SaccadeError(f"cannot {what}: {path}: {error.strerror or error}; {advice}, earlier checkpoints are as they were")


def create(path: Path, data: bytes, at: Hook) -> None:
    """A new file that is on the disk, not only in the system's memory, when this returns."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        at(f"write {path.name}")
        os.fsync(file.fileno())
        at(f"sync {path.name}")


def sync(path: Path) -> None:
    """Put a file that was written on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_directory(path: Path, at: Hook = unseen) -> None:
    """Put the names in a directory on the disk; renames do not outlive a power cut before this."""
    if os.name != "nt":  # Windows cannot open a directory, and keeps names in order by itself
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    at(f"sync {path.name}/")


def make_directory(path: Path, at: Hook) -> None:
    """The directory with its parents, each name on the disk."""
    if not path.is_dir():
        make_directory(path.parent, at)
        path.mkdir(exist_ok=True)
        sync_directory(path.parent, at)


def replace(path: Path, content: str | bytes, at: Hook = unseen) -> None:
    """Put a file in its place in one step: whoever reads it sees the old content or the new one, never a part."""
    aside = unused(path.with_name(f".tmp-{path.name[:64]}"))
    try:
        create(aside, content.encode() if isinstance(content, str) else content, at)
        aside.replace(path)
    except Exception:  # a kill leaves it to the next sweep
        remove(aside)
        raise
    at(f"rename {path.name}")
    sync_directory(path.parent, at)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write piece by piece, which takes its place once all of it is on the disk; else nothing does."""
    aside = unused(path.with_name(f".tmp-{path.name[:64]}"))
    try:
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        raise unwritable(path, error, ELSEWHERE) from None
    finally:
        remove(aside)
    sync_directory(path.parent)


def write(path: Path, content: str | bytes, fix: str = ELSEWHERE) -> None:
    """The same, of what a command makes: what the disk has against it is told with this fix."""
    try:
        replace(path, content)
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        raise unwritable(path, error, fix) from None


def unwritable(path: Path | str, error: Exception, fix: str, kind: type[SaccadeError] = UsageError) -> SaccadeError:
    """What is said of a place that cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return kind(f"{path}: cannot be written ({reason})", fix=fix)


def unused(path: Path) -> Path:
    """The path with an ending that nothing else has, so that a leftover is never in the way."""
    return path.with_name(f"{path.name}-{secrets.token_hex(4)}")


def remove(path: Path) -> None:
    """Delete a file or a tree as far as possible; what a reader still holds open is left to the next sweep."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
