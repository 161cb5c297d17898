"""What can go wrong, as one tree; each kind knows the exit code of a command that ends by it.

SaccadeError (1: failed)
├── ShapeError     tensors that do not fit each other
├── UsageError (2: the command or its config is wrong)
│   ├── UnknownName    not in a registry; the nearest is named
│   └── MissingExtra   a package that is not installed; the command that installs it is named
└── DataError (3: a file, a line or a checkpoint is bad)
    └── InputError     a line that is to be answered
"""

import difflib
import re
from collections.abc import Iterable, Mapping

LISTED = 40  # known names that a message lists
# What a fix calls the keywords of Python; the command line has words of its own for them (cli/main.py).
KEYWORDS = {
    "out": "out",
    "resume": "resume=True",
    "fresh": "fresh=True",
    "checkpoint": "checkpoint",
    "data directory": "SACCADE_DATA",
    "train": 'saccade.train("dates")',
    "go on": 'saccade.train("…", resume=True)',
}


class SaccadeError(Exception):
    """Every error that saccade raises on purpose; its text is one line that names what was expected and what came.

    `fix` says what to do. {out} in it stands for that keyword, {go on:runs/dates} for how this run is gone on with: Python
    and the command line each have their own words for these.
    """

    exit_code = 1
    agreed = False  # of several processes: whether the first tells it for this one

    def __init__(self, text: str = "", *, fix: str = "") -> None:
        super().__init__(text)
        self.fix = fix

    def __str__(self) -> str:
        return self.worded(KEYWORDS)

    def worded(self, words: Mapping[str, str]) -> str:
        """The line, with these words for what a fix names."""
        names = "|".join(words)
        fix = re.sub(f"{{({names})(?::(.*?))?}}", lambda found: words[found[1]].replace("…", found[2] or ""), self.fix)
        return "; ".join(part for part in (*self.args, fix) if part)


class ShapeError(SaccadeError, ValueError):
    """Tensors whose shapes do not fit each other."""


class UsageError(SaccadeError):
    """A command or a config that cannot be carried out as it stands."""

    exit_code = 2


class DataError(SaccadeError):
    """A file, a line of it, or a checkpoint that cannot be used."""

    exit_code = 3


class InputError(DataError):
    """A line that is to be answered and cannot be; whoever knows its file names that, too."""

    def __init__(self, line: int, cause: SaccadeError) -> None:
        super().__init__(f"line {line}: {cause}")
        self.line, self.cause = line, cause


def described(error: BaseException) -> tuple[str, int]:
    """What an error says on one line, and its exit code."""
    if isinstance(error, SaccadeError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "out of memory", 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 1
    return " ".join(f"{type(error).__name__} {error}".split()), 1


class UnknownName(UsageError, KeyError):  # noqa: N818 - reads as what it is
    """A name that is not in a registry; the message lists the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1)
        more = f" and {len(known) - LISTED:,} more" if len(known) > LISTED else ""
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known[:LISTED])}{more}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class MissingExtra(UsageError, ImportError):  # noqa: N818 - reads as what it is
    """A part of saccade that needs a package which is not installed."""

    def __init__(self, part: str, package: str, extra: str) -> None:
        super().__init__(f"{part} needs {package}, which is not installed; pip install 'saccade[{extra}]'")
