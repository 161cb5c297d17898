"""What stands in a directory of checkpoints: the published ones, newest first, and what LAST and BEST name."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saccade.errors import DataError
from saccade.training.checkpoints import manifests

NAME = re.compile(r"step-(\d{8,})")
REPLACED = ".old-"


@dataclass(frozen=True)
class Entry:
    """A published checkpoint as its manifest shows it; serial 0 stands for a manifest that cannot be read."""

    step: int
    path: Path
    serial: int = 0
    best: bool = False
    beside: Mapping[str, manifests.Mark] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return directory_name(self.step)


def directory_name(step: int) -> str:
    return f"step-{step:08d}"


def places(folder: Path) -> dict[int, Path]:
    """Published directories by step; one that is being replaced counts until the new one is there."""
    try:
        present = {path.name: path for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}; check its permissions") from error
    steps = {int(match[1]) for name in present if (match := NAME.fullmatch(name.removeprefix(REPLACED)))}
    paths = {step: present.get(directory_name(step)) or present.get(REPLACED + directory_name(step)) for step in steps}
    return {step: path for step, path in paths.items() if path}


def published(folder: Path) -> list[Entry]:
    """The newest first; those whose manifest cannot be read last."""
    entries = []
    for step, path in places(folder).items():
        try:
            manifest = manifests.read_manifest(path, step)
        except DataError:
            entries.append(Entry(step, path))
        else:
            entries.append(Entry(step, path, manifest.serial, manifest.best, manifest.beside))
    return sorted(entries, key=lambda entry: (entry.serial, entry.step), reverse=True)


def pointer_text(pointer: str, name: str) -> str:
    """The line in LAST or BEST; the check makes a flipped bit, or one file copied over the other, show."""
    check = hashlib.sha256(f"{pointer} {name}".encode()).hexdigest()[:16]
    return f"{name} {check}\n"


def pointed(folder: Path, pointer: str) -> str | None:
    """The name in LAST or BEST, if there is one; DataError if the file is damaged."""
    path = folder / pointer
    try:
        text = path.read_bytes()[:256].decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; check its permissions") from error
    name = text.split(" ")[0]
    if text != pointer_text(pointer, name) or not NAME.fullmatch(name):
        raise DataError(f"{path} is damaged; delete it, and the newest one marked {pointer.lower()} is taken")
    return name
