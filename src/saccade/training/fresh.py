"""A new run in the place of an earlier one: it grows beside it, and takes its place once it has a checkpoint.

    RUN/.fresh    the new run as it grows; the earlier one is as it was, and can be asked
    RUN/.swap     the new run as it takes the place: from this name on it is the run, whatever is killed

First the new run's own files are copied over those of the earlier one, and what else that one had is deleted; then its
checkpoints go, and the new ones come. Until that last rename .swap is whole, after it RUN is. Only what an earlier run has
recorded is ever deleted.
"""

import contextlib
import re
import shutil
from pathlib import Path

from saccade import durable_files
from saccade.data.formats.python_data import FILES
from saccade.errors import UsageError
from saccade.training.checkpoints import listing
from saccade.training.checkpoints.names import FRESH, NAME, REPLACED, SWAP
from saccade.training.checkpoints.store import LEFTOVERS, Checkpoints
from saccade.training.tensorboard import FOLDER, event_files

OLD = ".del-checkpoints"
LEARNED = ".tmp-learned"  # where a task saves what it has learned before all of it is moved into the run
ANEW = ".anew"  # marks a cell of a table that is to be trained anew
# what every run may have
OWN = ("config.toml", "configs.jsonl", "env.json", "log.jsonl", "scores.json", ANEW, *FILES.values())
SKIPPED = re.compile(r"skipped-step-\d+\.json")
POINTERS = ("LAST", "BEST")


def _at(point: str) -> None:
    """Called after each change of a swap: where tests kill the process."""


def holds_run(path: Path) -> bool:
    """Whether a run is in this directory, if only what is left of one."""
    return (path / "config.toml").exists() or bool(Checkpoints(path).recorded())


def seat(path: Path) -> Path:
    """Where the run in this directory is: there, or in .swap if a kill kept it from taking its place."""
    return path / SWAP if Checkpoints(path / SWAP).steps() else path


def home_of(path: Path) -> Path:
    """The directory that a run is for, which may still be growing inside of it."""
    return path.parent if path.name in (FRESH, SWAP) else path


def resumable(path: Path) -> Path:
    """Where the run is that --resume goes on with: a new one that has a checkpoint, if not yet the earlier one's place."""
    return path / FRESH if Checkpoints(path / FRESH).steps() else seat(path)


def recover(path: Path) -> bool:
    """Put right what a kill left behind; for the single writer, before it begins. Whether a new run was lost by it."""
    if Checkpoints(path / SWAP).steps():
        _take_over(path)
    _clean(path)
    half_written = (file for name in OWN for file in path.glob(f".tmp-{name}-*"))  # by a start that was killed
    for file in (path / LEARNED, *half_written):
        durable_files.remove(file)
    lost = (path / FRESH).exists() and not Checkpoints(path / FRESH).steps()
    if lost:
        durable_files.remove(path / FRESH)
    return lost


def take_place(path: Path) -> None:
    """Make the run in .fresh, which has a checkpoint, the run of this directory."""
    (path / FRESH).rename(path / SWAP)
    _at(f"rename {SWAP}")
    durable_files.sync_directory(path, _at)
    _take_over(path)
    _clean(path)


def require_room(path: Path, names: set[str]) -> None:
    """Refuse to write over files of these names that are in the directory and not of the run there."""
    known = owned(path)
    if Checkpoints(path).recorded() and (strange := sorted(name for name in names - known if (path / name).exists())):
        raise UsageError(f"{path / strange[0]}: in the way of a file of the run, and not of the earlier one; move it away")


def owned(path: Path) -> set[str]:
    """The names of the files of a run: what its checkpoints have recorded, and what every run has."""
    recorded = {name for entry in listing.published(path / "checkpoints") for name in entry.beside}
    plain = {name for name in recorded if Path(name).name == name}  # never a way out of the directory
    skipped = (file.name for file in path.glob("skipped-step-*.json") if SKIPPED.fullmatch(file.name))
    return {*plain, *OWN, *skipped, *(f"{FOLDER}/{file.name}" for file in event_files(path))}


def clear(path: Path, names: set[str]) -> None:
    """Delete what a start has made that came to nothing; last of all what says that it is a run."""
    if not Checkpoints(path).steps():
        folder = path / "checkpoints"
        if folder.is_dir() and all(_is_ours(file) for file in folder.iterdir()):
            durable_files.remove(folder)
        for name in sorted({*names, *owned(path)}, key=lambda name: name == "config.toml"):
            (path / name).unlink(missing_ok=True)
        _remove_empty(path / FOLDER)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # there is none, or somebody has put something there
        folder.rmdir()


def _take_over(path: Path) -> None:
    new = path / SWAP
    plain = (file.name for file in new.iterdir() if file.is_file())
    names = sorted([*plain, *(f"{FOLDER}/{file.name}" for file in event_files(new))])
    for name in sorted(owned(path) - set(names)):
        (path / name).unlink(missing_ok=True)
        _at(f"delete {name}")
    _remove_empty(path / FOLDER)
    for name in names:
        place = path / name
        place.parent.mkdir(exist_ok=True)
        aside = place.with_name(f".tmp-{place.name}")
        shutil.copyfile(new / name, aside)
        durable_files.sync(aside)
        _at(f"copy {name}")
        aside.replace(place)
        _at(f"rename {name}")
    durable_files.sync_directory(path, _at)
    if (path / "checkpoints").exists():
        (path / "checkpoints").rename(path / OLD)
        _at(f"rename {OLD}")
    (new / "checkpoints").rename(path / "checkpoints")
    _at("rename checkpoints")
    durable_files.sync_directory(path, _at)


def _clean(path: Path) -> None:
    """Delete what a swap is done with, but nothing that somebody else had put among the checkpoints."""
    if (path / OLD).is_dir() and (path / "checkpoints").is_dir():
        for file in (path / OLD).iterdir():
            if not _is_ours(file):
                file.replace(path / "checkpoints" / file.name)
    durable_files.remove(path / OLD)
    _at(f"delete {OLD}")
    durable_files.remove(path / SWAP)
    _at(f"delete {SWAP}")


def _is_ours(file: Path) -> bool:
    """Whether this is what a run has among its checkpoints."""
    return bool(NAME.fullmatch(file.name)) or file.name in POINTERS or file.name.startswith((*LEFTOVERS, REPLACED))
