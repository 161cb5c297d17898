"""What checkpoints and the places of a run are called, and which are there; read without torch, and without opening one."""

import hashlib
import re
from pathlib import Path

from saccade.errors import DataError

NAME = re.compile(r"step-(\d{8,})")
REPLACED = ".old-"
FRESH, SWAP = ".fresh", ".swap"  # a new run beside an earlier one, as it grows and as it takes the place


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
