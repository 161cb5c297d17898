"""Files that are read: regular ones, since a pipe may never answer and a device never end; unpacked, but only to a bound."""

import gzip
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from saccade.errors import DataError, UsageError

# What a packed file may come to: published texts and pictures come to ten times their size, bombs to a thousand times.
TIMES, ALWAYS = 100, 256_000_000
VARIABLE = "SACCADE_UNPACKED"
LONGEST_LINE = 16_000_000
KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def amount(size: int) -> str:
    """A number of bytes as people read it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def require_regular(path: Path, fix: str = "name a file on the disk") -> None:
    """Refuse what is there and is no regular file, before it is opened; what is not there is for its reader to tell."""
    kind = stat.S_IFMT(path.stat().st_mode)
    if kind != stat.S_IFREG:
        raise DataError(f"{path}: expected a file, got {KINDS.get(kind, 'something else')}; {fix}")


def opened(path: Path, fix: str = "name a file on the disk") -> BinaryIO:
    """A regular file, unpacked where it ends in .gz; what the system says against it is for the caller to tell."""
    require_regular(path, fix)
    if path.suffix.lower() == ".gz":
        return bounded(gzip.open(path, "rb"), path)
    return path.open("rb")


def content(path: Path, fix: str = "name a file on the disk") -> bytes:
    """All of a file, as `opened` reads it."""
    with opened(path, fix) as file:
        return file.read()


def text(path: Path, fix: str = "name a file on the disk") -> str:
    """A regular file in UTF-8."""
    require_regular(path, fix)
    return path.read_text(encoding="utf-8")


def most_unpacked(packed: int) -> int:
    """Bytes that so many may become."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return max(ALWAYS, TIMES * packed)
    try:
        return int(float(given))
    except (ValueError, OverflowError):
        raise UsageError(f"{VARIABLE}: expected a number of bytes, such as 4e9, got {given!r}") from None


def too_much(path: Path | str, most: int, got: str = "more") -> DataError:
    """What is said of a file that becomes larger than it may."""
    rule = f"{TIMES} times its own size, and {amount(ALWAYS)} in any case, unless {VARIABLE} says otherwise"
    expected = f"expected at most {amount(most)} when unpacked ({rule}), got {got}"
    return DataError(f"{path}: {expected}; if it is meant to be so large, set {VARIABLE}=BYTES")


def bounded(stream: io.BufferedIOBase | IO[bytes], path: Path) -> BinaryIO:
    """What an unpacker reads from the file of this path; an error where that becomes too much."""
    return io.BufferedReader(_Bounded(stream, path, most_unpacked(path.stat().st_size)))


class _Bounded(io.RawIOBase):
    def __init__(self, stream: io.BufferedIOBase | IO[bytes], path: Path, most: int) -> None:
        self.stream, self.path, self.most = stream, path, most
        self.left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the abstract one takes any buffer
        piece = self.stream.read(len(buffer))
        self.left -= len(piece)
        if self.left < 0:
            raise too_much(self.path, self.most)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self.stream.close()
        super().close()


def lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a stream with their ends; one that does not come to an end is refused before it fills the memory."""
    number = 1
    while line := stream.readline(LONGEST_LINE + 1):
        require_line(line, f"{name}:{number}")
        yield line
        number += 1


def require_line(line: bytes, where: str) -> None:
    """Refuse a line that is too long to be one."""
    if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
        raise DataError(f"{where}: expected a line of at most {amount(LONGEST_LINE)}, got more; is it text with lines?")
