"""What the formats of the user's own files have in common: where each part is, what is held out, and how a file is read."""

import codecs
import difflib
import glob
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO, Self

from saccade import inputs
from saccade.config import Share
from saccade.data.examples import Example, Splits
from saccade.data.hold_out import hold_out
from saccade.data.stored.held_back import held_back
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError

BOM = b"\xef\xbb\xbf"
FOREIGN = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip without .gz in its name"}
BLOCK = 1 << 20  # bytes that are read together
ALSO = {"validation": "valid", "val": "valid", "dev": "valid"}  # what others call the validation part


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Where the examples are."""

    train: str = ""
    """Training examples: a file or a folder."""
    valid: str = ""
    """Validation examples; empty: a part of train is held out."""
    test: str = ""
    """Test examples; may be empty."""
    held_out: Share = 0.1
    """Share of train that is held out when valid is empty, at most 2000 examples; 0: none."""

    def splits(
        self, read: Callable[[str], Sequence[Example]], key: Callable[[Example], bytes], *, every_label: bool = False
    ) -> Splits:
        """All parts, each read from its file; examples with the same key are held out together."""
        files = self.by_part()
        train = read(files.train)
        test = read(files.test) if files.test else []
        if files.valid:
            return Splits(train, read(files.valid), test)
        if isinstance(train, StoredExamples):
            return Splits(*held_back(train, self.held_out), test)
        return Splits(*hold_out(train, self.held_out, key, every_label=every_label), test)

    def by_part(self) -> Self:
        """The same, where train is a folder of the parts (folder/train, folder/valid, folder/test.csv …): each by itself."""
        if not os.path.isdir(os.path.expanduser(self.train)):
            return self
        children = sorted(Path(os.path.expanduser(self.train)).iterdir())
        stems = [child.name if child.is_dir() else child.name.partition(".")[0] for child in children]
        parts = {ALSO.get(stem, stem): str(child) for stem, child in zip(stems, children, strict=True)}
        if not ("train" in parts and {"valid", "test"} & parts.keys()):  # train alone may be the name of a label
            return self
        return replace(
            self, train=parts["train"], valid=self.valid or parts.get("valid", ""), test=self.test or parts.get("test", "")
        )


def located(config: Any, bases: Sequence[Path]) -> Any:
    """A config of the user's own files with each path as it is found from the first of these directories that has it."""
    names = _keys_of_files(config)
    changes = {name: _resolved(getattr(config, name), bases) for name in names}
    return replace(config, **changes) if changes else config


def require_there(config: Any) -> None:
    """Refuse files of the user's own that are not there, before any of them is read."""
    for given in (getattr(config, name) for name in _keys_of_files(config)):
        paths = [Path(os.path.expanduser(name.strip())) for name in given.split(",") if name.strip()]
        missing = [path for path in paths if not there(path)]
        if missing and not os.path.exists(os.path.expanduser(given)):  # whose name may have commas
            raise _missing(missing[0])


def _keys_of_files(config: Any) -> list[str]:
    """The keys of a config that name files."""
    return [
        name
        for name in ("train", "valid", "test", "nodes", "edges", "images", "facts")
        if isinstance(getattr(config, name, None), str)
    ]


def _missing(path: Path) -> DataError:
    return DataError(f"{path}: no such file{_nearest(path)}")


def _resolved(given: str, bases: Sequence[Path]) -> str:
    """A path, or several with commas between, from the first base that has all of them."""
    for base in bases if given else ():
        for names in ([given], [name.strip() for name in given.split(",")]):
            paths = [os.path.normpath(base / os.path.expanduser(name)) for name in names]
            if all(map(there, paths)):
                # As it was given where that is the same: messages then name what the user has typed.
                return given if all(map(_same, names, paths)) else ",".join(paths)
    return given


def there(path: str | Path) -> bool:
    """Whether a file or a folder is there, or one that a pattern such as parts/*.tsv means."""
    return os.path.exists(path) or bool(matching(path))


def matching(pattern: str | Path) -> list[str]:
    """The files that a pattern means, by name; none where it is none."""
    names = glob.glob(str(pattern), recursive=True) if glob.has_magic(str(pattern)) else []
    return sorted(name for name in names if os.path.isfile(name))


def _same(one: str, other: str) -> bool:
    return os.path.samefile(one, other) if os.path.exists(one) else os.path.abspath(one) == os.path.abspath(other)


def content(path: Path, known: str) -> bytes:
    """All of a file, unpacked; `known` says what is expected there."""
    with readable(path):
        unpacked = inputs.content(path, f"known: {known}")
    _require_utf8(path, unpacked)
    return unpacked


@contextmanager
def opened(path: Path, known: str) -> Iterator[BinaryIO]:
    """A file to read from, unpacked; `known` says what is expected there."""
    with readable(path), inputs.opened(path, f"known: {known}") as file:
        _require_utf8(path, file.peek(2)[:2] if isinstance(file, io.BufferedReader) else b"")
        yield file


def lines(path: Path, known: str) -> Iterator[bytes]:
    """The lines of a file, one after the other, without their ends and without a byte order mark."""
    with opened(path, known) as file:
        for number, line in enumerate(file):
            whole = line.removeprefix(BOM) if number == 0 else line
            yield whole.removesuffix(b"\n").removesuffix(b"\r")


def trimmed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without empty ones at their end."""
    empty = 0
    for line in lines:
        if line:
            yield from repeat(b"", empty)
            yield line
        empty = 0 if line else empty + 1


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What the system or an unpacker has against a file is told in one line."""
    try:
        yield
    except FileNotFoundError:
        raise _missing(path) from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _require_utf8(path: Path, first: bytes) -> None:
    """Refuse a file whose first bytes are those of something else."""
    if foreign := FOREIGN.get(first[:2]):
        raise DataError(f"{path}: expected UTF-8, got {foreign}; fix: convert or rename the file")


def text(path: Path, known: str) -> str:
    """All of a file in UTF-8, without a byte order mark."""
    raw = content(path, known)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _not_utf8(path, line, raw[error.start]) from None


def blocks(path: Path, known: str) -> Iterator[bytes]:
    """The same block by block, in UTF-8, each line ending in LF alone."""
    decoder, lines, left = codecs.getincrementaldecoder("utf-8")(), 1, b""
    with opened(path, known) as file:
        file_blocks = chain(iter(partial(file.read, BLOCK), b""), (b"",))
        for number, raw in enumerate(file_blocks):
            try:
                decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                line = lines + error.object.count(b"\n", 0, error.start)
                raise _not_utf8(path, line, error.object[error.start]) from None
            lines += raw.count(b"\n")
            whole = left + (raw.removeprefix(BOM) if number == 0 else raw)
            left = b"\r" if raw and whole.endswith(b"\r") else b""  # the next block may begin with its LF
            yield whole.removesuffix(left).replace(b"\r\n", b"\n")


def _not_utf8(path: Path, line: int, byte: int) -> DataError:
    return DataError(f"{path}:{line}: expected UTF-8, got 0x{byte:02x}; fix: convert the file")


def suffix(path: Path) -> str:
    """What a file is by its name, in small letters, without .gz."""
    own = [part.lower() for part in path.suffixes]
    return own[-2] if own[-1:] == [".gz"] and len(own) > 1 else own[-1] if own else ""


def _nearest(path: Path) -> str:
    """A hint at the file that may have been meant."""
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
        stems = {name.partition(".")[0]: name for name in names}
        near = [stems[one] for one in difflib.get_close_matches(path.name.partition(".")[0], stems, n=1)]
        alike = [name for name in names if path.suffix and name.endswith(path.suffix)]
        near = near or alike * (len(alike) == 1)
    except OSError:
        return f"; there is no directory {str(path.parent)!r} either"
    return f"; did you mean {str(path.parent / near[0])!r}?" if near else ""
