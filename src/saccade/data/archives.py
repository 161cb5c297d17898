"""Archives as they are published, zip or tar: their files, one after the other, without unpacking them to the disk."""

import functools
import hashlib
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from saccade.errors import DataError
from saccade.inputs import too_much

# Zipfile has many words for damage, and tarfile hands on those of what packed it.
DAMAGES = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def entries(path: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """The name and size of every file of an archive, and what reads it while it is the last that was given."""
    try:
        yield from _zipped(path) if zipfile.is_zipfile(path) else _tarred(path)
    except DAMAGES as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise DataError(f"{path}: expected a zip or tar archive ({reason}); download it again") from None


def _zipped(path: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, entry.file_size, functools.partial(archive.read, entry)


def _tarred(path: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    with tarfile.open(path, "r:*") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, member.size, content.read


def digest(path: Path, pattern: str, most: int) -> str:
    """SHA-256 of what `sha256sum` prints of the members whose names match, sorted, each called by the pattern's group.

    So the same files in another archive, beside others, in another order or packed otherwise have the same digest.
    """
    rows, left = [], most
    for name, size, read in entries(path):
        if match := re.search(pattern, name):
            left -= size
            if left < 0:
                raise too_much(path, most)
            rows.append(f"{hashlib.sha256(read()).hexdigest()}  {match[1]}\n")
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()
