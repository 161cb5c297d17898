"""The public data sets that saccade knows: what they are, where they are on this machine, and what is missing.

A data set NAME is the directory NAME inside the data directory, which is the first of `--data-dir`, SACCADE_DATA and the
user's cache. Its files, with size and SHA-256 of their contents and where they are published, are written in known.toml; on
the disk a file may lie plain or gzipped. `saccade.data.fetching` downloads them.
"""

import functools
import hashlib
import os
import re
import sys
import tomllib
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from saccade.errors import DataError, UnknownName, UsageError
from saccade.inputs import amount, content, opened

CHUNK = 1 << 20
SHOWN = 3  # files that a message names
ELSEWHERE = "set SACCADE_DATA to the directory that has it"
# A repository's files at a commit, and where else GitHub's are served.
GITHUB = re.compile(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/([0-9a-f]{40})/(.*)")
MIRROR = r"https://cdn.jsdelivr.net/gh/\1@\2/\3"

State = Literal["here", "missing", "incomplete", "damaged"]


@dataclass(frozen=True)
class KnownFile:
    """A file of a data set: its path inside the data set's directory, and what its content must be."""

    path: str
    bytes: int
    """Size of the content."""
    sha256: str
    """Of the content; of an archive with `members`, of what `sha256sum` prints of them, sorted."""
    addresses: tuple[str, ...] = ()
    """Where it is published, in the order in which they are tried; what follows # is a member of an archive."""
    members: str = ""
    """A pattern of the members that are the content of an archive, which stays packed; its group is a member's name."""
    also: str = ""
    """Another name that such an archive may have."""

    @property
    def names(self) -> tuple[str, ...]:
        """The paths under which it may lie."""
        if self.members:
            return (self.path, self.also) if self.also else (self.path,)
        return (self.path, f"{self.path}.gz")


@dataclass(frozen=True)
class Known:
    """A data set."""

    name: str
    about: str
    licence: str
    address: str
    """The official page; may be empty, or a few words where no page is known."""
    files: tuple[KnownFile, ...] = ()
    generated: bool = False
    """Whether saccade makes it, so that there is nothing to download."""
    note: str = ""
    """How the files differ from what the official page offers; empty where they do not."""


@dataclass(frozen=True)
class Status:
    """Whether a data set is here, and which of its files are not or are not what they must be."""

    state: State
    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


class MissingData(DataError):  # noqa: N818 - reads as what it is
    """A file of a data set that is not there; `item` can be downloaded if `offered`."""

    def __init__(self, item: Known, file: KnownFile, directory: Path, fix: str) -> None:
        way = way_to(item, [file], directory)
        super().__init__(f"{item.name}/{file.path} is missing in {directory}; {way}, or {fix}")
        self.item, self.offered = item, bool(file.addresses)


def known() -> dict[str, Known]:
    """Every data set by its name."""
    return dict(_read())


def lookup(name: str) -> Known:
    """The data set of this name; hyphens and underscores, as in a recipe's `data.name`, make no difference."""
    names = {_plain(each): each for each in _read()}
    if _plain(name) not in names:
        raise UnknownName("data set", name, _read())
    return _read()[names[_plain(name)]]


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def unzipped(path: Path) -> bytes:
    """What a file of a data set holds, which may be gzipped."""
    try:
        return content(path)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); download it again, or take it from where it was whole") from None


def data_directory(given: str | None = None) -> Path:
    """Where data sets are looked for: what is given, else SACCADE_DATA, else a place in the user's cache."""
    try:
        directory = given or os.environ.get("SACCADE_DATA")
        return Path(directory).expanduser() if directory else cache(sys.platform, os.environ) / "saccade" / "data"
    except RuntimeError as error:  # nobody's home
        raise UsageError(f"no data directory ({error}); name one by --data-dir or SACCADE_DATA") from None


def cache(platform: str, environment: Mapping[str, str]) -> Path:
    """Where programs of this platform keep what they can fetch again."""
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches"
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    return base if base.is_absolute() else Path.home() / ".cache"  # the standard has relative ones ignored


def status(item: Known, directory: Path, verify: bool = False) -> Status:
    """What is there of a data set. Sizes are always compared, which is quick; contents only to verify."""
    states = {file.path: _state(file, present(item, file, directory), verify) for file in item.files}
    missing, damaged = (tuple(path for path in states if states[path] == state) for state in ("missing", "damaged"))
    if damaged:
        return Status("damaged", missing, damaged)
    if missing:
        return Status("missing" if len(missing) == len(item.files) else "incomplete", missing)
    return Status("here")


def wanted(item: Known, directory: Path) -> list[KnownFile]:
    """The files that are missing or whose contents are damaged."""
    state = status(item, directory, verify=True)
    return [file for file in item.files if file.path in {*state.missing, *state.damaged}]


def find(name: str, file: str, directory: Path | None = None, fix: str = ELSEWHERE) -> Path:
    """The path of a file that is there, plain or gzipped; its contents are left for its reader to judge."""
    item = lookup(name)
    if item.generated:
        raise UsageError(f"{name} is generated by saccade: there is no file {file!r} to look for")
    listed = {each.path: each for each in item.files}.get(file)
    if listed is None:
        raise UnknownName(f"file of {name}", file, (each.path for each in item.files))
    directory = data_directory() if directory is None else directory
    path = present(item, listed, directory)
    if path is None:
        raise MissingData(item, listed, directory, fix)
    return path


def table(directory: Path, verify: bool = False) -> list[dict[str, Any]]:
    """A row for every data set, for a terminal or as JSON: words, and lists of its files and of what is wrong with them."""
    return [_row(item, directory, verify) for item in known().values()]


def place(item: Known, file: KnownFile, directory: Path) -> Path:
    """Where a file belongs; a path that would lead out of the data set's directory is refused."""
    for text in (item.name, *file.names):
        if not text.isprintable() or any(mark in text for mark in ":\\") or {"", ".", ".."} & set(text.split("/")):
            raise DataError(f"{item.name}: the path {text!r} may lead out of the data set's directory; mend known.toml")
    return directory / item.name / file.path


def present(item: Known, file: KnownFile, directory: Path) -> Path | None:
    """Where a file lies, under the first of its names that is there."""
    place(item, file, directory)
    paths = (directory / item.name / name for name in file.names)
    return next((path for path in paths if _size(path) is not None), None)


def digest(file: KnownFile, path: Path) -> str:
    """SHA-256 of the content of a file at this path; empty if it cannot be read."""
    try:
        if file.members:
            from saccade.data import archives  # few commands unpack any

            return archives.digest(path, file.members, file.bytes)
        hashed = hashlib.sha256()
        with opened(path) as stream:
            while piece := stream.read(CHUNK):
                hashed.update(piece)
        return hashed.hexdigest()
    except (OSError, EOFError, zlib.error, DataError):
        return ""


def named(files: Collection[str]) -> str:
    """Files on a line: the first few by name."""
    shown = ", ".join(list(files)[:SHOWN])
    return f"{shown} and {len(files) - SHOWN} more" if len(files) > SHOWN else shown


def way_to(item: Known, files: Collection[KnownFile], directory: Path) -> str:
    """How files are come by."""
    if all(file.addresses for file in files):
        return f"run `saccade data get {item.name}`"
    origin = item.address or "its authors (no official address is known)"
    note = f" ({item.note})" if item.note else ""
    paths = named([file.path for file in files])
    return f"no public address: take {paths} from {origin}{note} and put it into {directory / item.name}"


@functools.cache
def _read() -> dict[str, Known]:
    # importlib.resources would take longer to import than the rest of this file together
    document = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    sets = {}
    for name, entry in document.items():
        groups = [*entry.pop("from", ()), {"files": entry.pop("files", ())}]
        files = sorted((file for group in groups for file in _files(**group)), key=lambda file: file.path)
        sets[name] = Known(name, **entry, files=tuple(files))
    return sets


def _files(
    files: list[list[Any]], addresses: Collection[str] = (), members: str = "", also: str = ""
) -> Iterator[KnownFile]:
    """The files of a group, each with all of its addresses; {package} is what they are published as up to its first /."""
    for path, size, sha256, *published in files:
        name = published[0] if published else path
        package, _, file = name.partition("/")
        own = [each.replace("{}", name).replace("{package}", package).replace("{file}", file) for each in addresses]
        mirrors = [GITHUB.sub(MIRROR, address) for address in own if GITHUB.match(address)]
        yield KnownFile(path, size, sha256, (*own, *mirrors), members, also)


def _state(file: KnownFile, path: Path | None, verify: bool) -> State:
    if path is None:
        return "missing"
    size = _size(path) if file.members or path.name == Path(file.path).name else _unpacked_size(path)
    right = bool(size) if file.members else size == file.bytes % 2**32
    return "here" if right and (not verify or digest(file, path) == file.sha256) else "damaged"


def _size(path: Path) -> int | None:
    """Bytes of a file, None where there is none."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _unpacked_size(path: Path) -> int:
    """Bytes that a gzipped file becomes, as its last four say; -1 if they cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            return int.from_bytes(file.read(), "little")
    except OSError:
        return -1


def _row(item: Known, directory: Path, verify: bool) -> dict[str, Any]:
    state = status(item, directory, verify)
    return {
        "name": item.name,
        "status": "generated" if item.generated else state.state,
        "size": "" if item.generated else amount(sum(file.bytes for file in item.files)),
        "licence": item.licence,
        "about": item.about,
        "where": "" if item.generated else str(directory / item.name),
        "address": item.address,
        "files": [file.path for file in item.files],
        "missing": list(state.missing),
        "damaged": list(state.damaged),
    }
