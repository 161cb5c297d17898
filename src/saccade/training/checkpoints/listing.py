"""What stands in a directory of checkpoints: the published ones, newest first, by their manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saccade.errors import DataError
from saccade.training.checkpoints import manifests
from saccade.training.checkpoints.names import directory_name, places


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
