"""One checkpoint on the disk: its files, and the manifest that says what each must be.

Nothing is used before its size and SHA-256 agree with the manifest, and the manifest agrees with its own.
"""

import hashlib
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError
from torch import Tensor

from saccade import __version__
from saccade.durable_files import Hook, create, sync_directory
from saccade.errors import DataError
from saccade.training.checkpoints import split_files, strict_json, tensor_files

FORMAT: Literal[1] = 1
MANIFEST, STATE, TENSORS = "MANIFEST.json", "state.json", ".safetensors"
LARGEST_MANIFEST = 2**24

Contents = tuple[dict[str, dict[str, Tensor]], dict[str, Any]]


@dataclass(frozen=True)
class Mark:
    """What a file must be."""

    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a checkpoint must hold, and where it came from."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    format: Literal[1] = FORMAT
    step: int
    """Steps of training done."""
    serial: int
    """Counts the saves of a run; the newest has the highest, also after going back to an earlier step."""
    best: bool
    """Whether it was the best so far when it was saved."""
    files: dict[str, Mark]
    beside: dict[str, Mark] = field(default_factory=dict)
    """Files of the run that its predictions depend on, such as its config, labels and tokenizers."""
    aliases: dict[str, tensor_files.Aliases]
    """For each file of tensors: tied names and the names they are stored under."""
    threads: int
    """Threads of the run; another number can change the last bits of sums."""
    versions: dict[str, str]


MANIFESTS = TypeAdapter(Manifest)


def mark(data: bytes) -> Mark:
    """What a file with this content is known by."""
    return Mark(hashlib.sha256(data).hexdigest(), len(data))


def require_same(path: Path, expected: Sequence[Mark], fix: str = "put it back as it was, or train anew") -> None:
    """Refuse a file of a run that is no longer what it was when the run was made."""
    try:
        got = "another one" if mark(path.read_bytes()) not in expected else ""
    except OSError as error:
        got = "none" if isinstance(error, FileNotFoundError) else f"one that cannot be read ({error.strerror})"
    if got:
        raise DataError(f"{path}: expected the file that the run was made with, got {got}", fix=fix)


def draw_up(
    step: int,
    serial: int,
    best: bool,
    files: Mapping[str, bytes],
    aliases: dict[str, tensor_files.Aliases],
    beside: Mapping[str, Mark],
    parts: Mapping[str, Mark],
) -> Manifest:
    """The manifest of these files, of the parts that several processes have written, and of those beside them."""
    marks = {**{name: mark(data) for name, data in files.items()}, **parts}
    versions = {"saccade": __version__, "torch": str(torch.__version__), "python": sys.version.split()[0]}
    threads = torch.get_num_threads()
    return Manifest(
        step=step,
        serial=serial,
        best=best,
        files=marks,
        beside=dict(beside),
        aliases=aliases,
        threads=threads,
        versions=versions,
    )


def write_all(folder: Path, files: Mapping[str, bytes], manifest: Manifest, at: Hook) -> None:
    """A directory with all files on the disk, the manifest last; the parts of several processes may be there already."""
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        create(folder / name, data, at)
    create(folder / MANIFEST, strict_json.seal(strict_json.encode(MANIFESTS.dump_python(manifest), "manifest")), at)
    sync_directory(folder, at)


def read_manifest(folder: Path, step: int) -> Manifest:
    """The manifest, if it is whole and belongs to this step; else DataError."""
    path = folder / MANIFEST
    size = _size(path)
    if size > LARGEST_MANIFEST:
        raise DataError(f"{path} is damaged: {size} bytes are too many")
    try:
        body = strict_json.unseal(path.read_bytes())
        strict_json.decode(body)
        manifest = MANIFESTS.validate_json(body)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise DataError(f"{path} is not of format {FORMAT} ({where}): written by another version of saccade") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    if manifest.step != step:
        raise DataError(f"{path} belongs to step {manifest.step}, not to {step}")
    return manifest


def read_all(folder: Path, manifest: Manifest) -> Contents:
    """Tensors by file and name, and the state; DataError at the first file that is not what the manifest says."""
    _require_same_names(folder, manifest)
    tensors, state = {}, {}
    for name, expected in manifest.files.items():
        data = _read(folder / name, expected)
        try:
            if name == STATE:
                state = strict_json.decode(data)
            elif not name.startswith(split_files.PREFIX):
                tensors[name.removesuffix(TENSORS)] = tensor_files.unpack(data, manifest.aliases.get(name, {}))
        except (ValueError, RecursionError) as error:
            raise DataError(f"{folder / name} is damaged: {error}") from error
    if not isinstance(state, dict):
        raise DataError(f"{folder / STATE} is damaged: not a table")
    if any(name.startswith(split_files.PREFIX) for name in manifest.files):
        tensors |= split_files.read(folder, state.get(split_files.TIED, {}))
    return tensors, state


def _require_same_names(folder: Path, manifest: Manifest) -> None:
    try:
        present = {path.name for path in folder.iterdir()} - {MANIFEST}
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from error
    if missing := sorted({STATE, *manifest.files} - present):
        raise DataError(f"{folder / missing[0]} is missing")
    if extra := sorted(present - manifest.files.keys()):
        raise DataError(f"{folder / extra[0]} does not belong there")


def _read(path: Path, expected: Mark) -> bytes:
    size = _size(path)
    if size != expected.size:
        raise DataError(f"{path} is damaged: {size} bytes instead of {expected.size}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != expected.sha256:
        raise DataError(f"{path} is damaged: its checksum differs from the manifest's")
    return data


def _size(path: Path) -> int:
    """The size of a plain file; anything else (a pipe would block for ever) is refused."""
    try:
        status = path.lstat()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path} is not a plain file")
    return status.st_size
