"""Writing a file whole or not at all: under a temporary name, then renamed."""

import os
import secrets
from pathlib import Path

from saccade.errors import DataError
from saccade.view.labels import visible


def write(path: str | Path, content: bytes) -> None:
    """Puts the bytes at the path; a reader sees the old file or the new one, never a part."""
    try:
        # A link stays a link: what it points to is replaced.
        _replace(Path(os.path.realpath(path)), content)
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{visible(str(path))}: cannot be written ({reason}); choose another place") from None


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)  # gone already, unless something went wrong
