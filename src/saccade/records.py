"""Small JSON records that readers and writers keep in a run: labels, scales, n-grams."""

import json
from pathlib import Path
from typing import Any

from saccade.errors import DataError


def text(value: Any) -> str:
    """A value that JSON can hold, as text."""
    return json.dumps(value, ensure_ascii=False)


def parse(content: str) -> Any:
    """The value of such a text; ValueError if it is none."""
    return json.loads(content)


def save(path: Path, value: Any) -> None:
    """Write a record."""
    path.write_text(text(value) + "\n", encoding="utf-8", newline="\n")


def load(path: Path) -> Any:
    """Read it again."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: object) -> DataError:
    """What is raised for a file that holds something else than was saved."""
    return DataError(f"{path}: cannot be read ({error}); put the file back or train anew")
