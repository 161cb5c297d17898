"""What is prepared once from large data and kept: directories of a cache, each whole or not there, made by one process.

They lie in `saccade/prepared` of the user's cache, or where SACCADE_CACHE says, each under a name that depends on all that
it was made from. Whatever takes long tells a listener how far it is (`told_of_preparing`).
"""

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from saccade import durable_files
from saccade.data.known import cache
from saccade.errors import SaccadeError, UsageError
from saccade.inputs import amount
from saccade.lock import alone

VARIABLE = "SACCADE_CACHE"
UNUSED = 60 * 24 * 3600.0  # seconds after which what nobody has opened is removed
OFTEN = 0.1  # seconds between two words to the listener
MAKING, NEW = ".making", "new"

Listener = Callable[[str, int, int], None]  # what is done, how much of it, of how much
T = TypeVar("T")

_listener: list[Listener] = []


def directory() -> Path:
    """Where prepared data is kept."""
    try:
        given = os.environ.get(VARIABLE)
        return Path(given).expanduser() if given else cache(sys.platform, os.environ) / "saccade" / "prepared"
    except RuntimeError as error:  # nobody's home
        raise UsageError(f"no directory for prepared data ({error}); name one by {VARIABLE}") from None


def name_of(kind: str, *facts: Any) -> str:
    """The name of what is made from these facts."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def prepared(name: str, make: Callable[[Path], None]) -> Path:
    """The directory of this name; where there is none, `make` fills a new one, which then appears whole."""
    place = directory() / name
    if not place.is_dir():
        try:
            with alone(place.with_name(f"{name}{MAKING}"), "prepared data"):
                if not place.is_dir():  # another process may have made it meanwhile
                    _made(place, make)
        except OSError as error:
            fix = f"free some space, or name another directory by {VARIABLE}"
            raise durable_files.unwritable(error.filename or place, error, fix, SaccadeError) from None
    with contextlib.suppress(OSError):  # a cache that is only read
        os.utime(place)
    return place


def _made(place: Path, make: Callable[[Path], None]) -> None:
    _sweep(place.parent)
    aside = place.with_name(f"{place.name}{MAKING}") / NEW
    durable_files.remove(aside)  # of a process that was killed
    aside.mkdir()
    try:
        make(aside)
        for file in aside.iterdir():
            durable_files.sync(file)
        durable_files.sync_directory(aside)
        aside.rename(place)
        durable_files.sync_directory(place.parent)
    finally:
        durable_files.remove(aside)


def _sweep(folder: Path) -> None:
    """Remove what has not been opened for a long time."""
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > UNUSED:
                durable_files.remove(old)


def require_room(size: int) -> None:
    """Refuse to prepare what the disk cannot hold."""
    place = directory()
    durable_files.make_directory(place, durable_files.unseen)
    free = shutil.disk_usage(place).free
    if free < size:
        fix = f"free some space, or name another directory by {VARIABLE}"
        raise SaccadeError(f"not enough space in {place}: about {amount(size)} needed, {amount(free)} there; {fix}")


@contextmanager
def told_of_preparing(listener: Listener) -> Iterator[None]:
    """Inside this block the listener is told how far preparations are."""
    _listener.append(listener)
    try:
        yield
    finally:
        _listener.remove(listener)


def tell(what: str, done: int, total: int) -> None:
    """Say how far something is; a total of 0 is unknown."""
    if _listener:
        _listener[-1](what, done, total)


def followed(items: Iterable[T], what: str, total: int, size: Callable[[T], int] = lambda item: 1) -> Iterator[T]:
    """The items, of which the listener is told now and then how many there were; also of the last."""
    done, spoken = 0, time.monotonic()
    for item in items:
        yield item
        done += size(item)
        if time.monotonic() - spoken >= OFTEN:
            spoken = time.monotonic()
            tell(what, done, total)
    tell(what, done, done)
