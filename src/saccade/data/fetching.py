"""Downloading data sets: from the addresses of known.toml in order, resumed where it was cut, and verified by content.

A file appears under its name whole and verified, or not at all; what has arrived of it waits beside it for the next try.
SACCADE_MIRROR names a site that is asked instead of all addresses, for HOST/PATH of each; of a package for pip/NAME, say.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade.data import known, packages
from saccade.data.known import Known, KnownFile
from saccade.errors import DataError
from saccade.lock import alone

VARIABLE = "SACCADE_MIRROR"
SCHEMES = ("http", "https")
TIMEOUT = 30.0  # seconds without a byte
TRIES, PAUSE = 3, 1.0  # of an address that may yet answer; seconds before the second, which double
CHUNK = 1 << 16
LARGEST = 1 << 30  # bytes of an archive
PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP's codes that may be others the next time

Report = Callable[[str, int, int], None]  # the file, bytes so far, bytes in all or 0


class Passing(DataError):  # noqa: N818 - reads as what it is
    """Trouble of the network that may be gone the next time."""


def get(item: Known, directory: Path, report: Report) -> list[Path]:
    """Fetch the files that are missing or damaged and have an address, and return them; a good file is never touched."""
    files = tuple(file for file in known.wanted(item, directory) if file.addresses)
    if not files:
        return []
    folder = directory / item.name
    with alone(folder, "data set"):
        try:
            # Looked for anew: another process may have fetched them meanwhile.
            return _Session(folder, report, known.wanted(replace(item, files=files), directory)).fetch()
        except OSError as error:  # of the disk: those of the network come as DataError
            path = error.filename or folder
            fix = "free some space or choose another data directory; what has arrived is kept"
            raise DataError(f"{path}: cannot be written ({error.strerror or error}); {fix}") from None


@dataclass(frozen=True)
class _Session:
    """The files of a data set, one after the other."""

    folder: Path
    report: Report
    files: Sequence[KnownFile]
    archives: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    """Of those that are downloaded, by address, the members that are files of this data set."""
    down: set[str] = field(default_factory=set)
    """Hosts that did not answer, which are asked last from then on."""

    def fetch(self) -> list[Path]:
        """Each file in its place."""
        try:
            paths = [self._fetch(file) for file in self.files]
        except DataError:
            self._tidy()
            raise
        self._tidy()  # but not after Ctrl-C, so that the next try need not download an archive again
        return paths

    def _tidy(self) -> None:
        for url in self.archives:
            self._partial(url).unlink(missing_ok=True)

    def _fetch(self, file: KnownFile) -> Path:
        """The file from the first of its addresses that has it."""
        target = self.folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        troubles = []
        for address in sorted(map(_mirrored, file.addresses), key=lambda address: host_of(address) in self.down):
            try:
                path = self._from(address, file, target)
            except DataError as error:
                troubles.append(str(error))
                self.down.update({host_of(address)} if isinstance(error, Passing) else ())
            else:
                self._clear(file, target, path)
                return path
        others = len(troubles) - 1
        more = f" ({others} other address{'es' if others > 1 else ''} failed, too)" if others else ""
        raise DataError(f"{troubles[0]}{more}", fix=self._by_hand(file))

    def _by_hand(self, first: KnownFile) -> str:
        """What to do where there is no network: the files from this one on, and where they belong."""
        left = [file.path for file in self.files[self.files.index(first) :]]
        listed = f" (all are listed by: saccade data show {self.folder.name})" if len(left) > known.SHOWN else ""
        place = f"put {known.named(left)}{listed} into {self.folder} by hand, plain or gzipped"
        return f"or {place}; {{data directory}} names another directory"

    def _clear(self, file: KnownFile, target: Path, path: Path) -> None:
        """Take away what is damaged under another name, and what other addresses have begun."""
        names = {target.with_name(Path(name).name) for name in file.names} - {path}
        urls = {address.partition("#")[0] for address in map(_mirrored, file.addresses)} - self.archives.keys()
        for other in (*names, *map(self._partial, urls)):
            other.unlink(missing_ok=True)

    def _partial(self, url: str) -> Path:
        """Where what has arrived is kept until all is there."""
        return self.folder / f".part-{hashlib.sha256(url.encode()).hexdigest()[:8]}-{url.rpartition('/')[2][-64:]}"

    def _from(self, address: str, file: KnownFile, target: Path) -> Path:
        """The file from one address, verified."""
        url, _, member = address.partition("#")
        if member and url in self.archives:
            return _written(self.archives[url].get(member), address, file, target)
        partial = self._partial(url)
        resumed = partial.exists()
        most = LARGEST if member or file.members else file.bytes + file.bytes // 50 + CHUNK
        if packages.is_package(url):
            packages.fetch(url, partial)
        else:
            _download(url, partial, most, lambda done, total: self.report(file.path, done, total))
        try:
            if member:
                self.archives[url] = self._members(url, partial)
                return _written(self.archives[url].get(member), address, file, target)
            digest = known.digest(file, partial)
            if digest != file.sha256:
                raise _other(url, file, digest)
        except DataError:
            partial.unlink(missing_ok=True)
            self.archives.pop(url, None)
            if resumed:  # what was there may have been of another edition
                return self._from(address, file, target)
            raise
        packed = url.endswith(".gz") and not file.path.endswith(".gz")
        return partial.replace(target.with_name(f"{target.name}.gz") if packed else target)

    def _members(self, url: str, archive: Path) -> Mapping[str, bytes]:
        """The members of an archive that are files of this data set, as far as their sizes tell."""
        from saccade.data import archives  # few commands unpack any

        addresses = [(address, file.bytes) for file in self.files for address in map(_mirrored, file.addresses)]
        sizes = {address.removeprefix(f"{url}#"): size for address, size in addresses}
        return {name: read() for name, size, read in archives.entries(archive) if sizes.get(name) == size}


def _other(address: str, file: KnownFile, digest: str) -> DataError:
    got = f"SHA-256 {digest}" if digest else "nothing of it"
    fix = "it was changed by its publisher or on its way"
    return DataError(f"{address}: expected content of SHA-256 {file.sha256}, got {got}; {fix}")


def _written(content: bytes | None, address: str, file: KnownFile, target: Path) -> Path:
    """A member of an archive as a file, verified."""
    digest = hashlib.sha256(content).hexdigest() if content is not None else ""
    if content is None or digest != file.sha256:
        raise _other(address, file, digest)
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(content)
        return temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _mirrored(address: str) -> str:
    """The address, or where SACCADE_MIRROR has it."""
    mirror = os.environ.get(VARIABLE)
    return f"{mirror.rstrip('/')}/{below(address)}" if mirror else address


def below(address: str) -> str:
    """Where a mirror has it: HOST/PATH, of a package pip/NAME or npm/NAME."""
    return address.replace(":", "/", 1) if packages.is_package(address) else address.partition("://")[2]


def host_of(address: str) -> str:
    """Who is asked: a host, or the client of a package."""
    return below(address).partition("/")[0]


def _download(url: str, partial: Path, most: int, report: Callable[[int, int], None]) -> None:
    """All that an address offers, after what is there of it; tried again if the network fails."""
    for number in range(TRIES):
        try:
            _resume(url, partial, most, report)
        except Passing:
            if number == TRIES - 1:
                raise
            time.sleep(PAUSE * 2**number)
        else:
            return


def _resume(url: str, partial: Path, most: int, report: Callable[[int, int], None]) -> None:
    start = partial.stat().st_size if partial.exists() else 0
    try:
        with closing(_received(url, start)) as pieces, partial.open("ab") as output:
            for place, total, piece in pieces:
                if place != output.tell():  # the server begins anew
                    output.truncate(place)
                    output.seek(place)
                if place + len(piece) > most:
                    output.truncate(0)
                    raise DataError(f"{url}: expected at most {most} bytes, got more; it is another file")
                output.write(piece)
                report(place + len(piece), total)
            output.flush()
            os.fsync(output.fileno())
    finally:
        if partial.exists() and not partial.stat().st_size:  # nothing to go on with
            partial.unlink()


def _received(url: str, start: int) -> Generator[tuple[int, int, bytes], None, None]:
    """What the server sends, in pieces: the place of each, the size of the whole or 0, and the bytes; any trouble is one
    line. It is asked for what follows `start`, and may send all."""
    import http.client  # slow to import, and few commands fetch
    import urllib.error
    import urllib.request as web

    from saccade import __version__

    scheme = url.partition(":")[0].lower()
    if scheme not in SCHEMES:
        raise DataError(f"{url}: expected an address of {' or '.join(SCHEMES)}, got {scheme!r}")
    # Not urlopen: a redirect could lead it to file: or ftp:
    opener = web.OpenerDirector()
    handlers = [web.ProxyHandler, web.UnknownHandler, web.HTTPHandler, web.HTTPSHandler, web.HTTPDefaultErrorHandler]
    for handler in (*handlers, web.HTTPRedirectHandler, web.HTTPErrorProcessor):
        opener.add_handler(handler())
    headers = {"User-Agent": f"saccade/{__version__}", "Accept-Encoding": "identity"}
    try:
        request = web.Request(url, headers=headers | ({"Range": f"bytes={start}-"} if start else {}))
        with opener.open(request, timeout=TIMEOUT) as response:
            continued = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
            place = start if continued else 0
            length = int(response.headers.get("Content-Length") or 0)
            total = place + length if length else 0
            yield place, total, b""
            while piece := response.read1(CHUNK):  # what has come, without waiting for more
                yield place, total, piece
                place += len(piece)
        if place < total:
            raise Passing(f"{url}: expected {total} bytes, got {place}; the connection was cut: try again")
    except urllib.error.HTTPError as error:
        with error:  # it is a response as well
            if start and error.code == 416:  # nothing follows: all is there, or it is of another edition
                if error.headers.get("Content-Range") == f"bytes */{start}":
                    return
                yield 0, 0, b""
            kind = Passing if error.code in PASSING or (start and error.code == 416) else DataError
            raise kind(_failed(url, error)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Passing(_failed(url, error)) from None
    except ValueError as error:  # an address that cannot be read
        raise DataError(_failed(url, error)) from None


def _failed(url: str, error: Exception) -> str:
    """What went wrong, in a few words on one line; some of them may be the server's."""
    cause = getattr(error, "reason", error)
    words = f"{getattr(error, 'code', '')} {getattr(cause, 'strerror', None) or cause or type(cause).__name__}".split()
    reason = "".join(letter for letter in " ".join(words) if letter.isprintable())
    return f"{url}: cannot be downloaded ({reason}); check address and connection"
