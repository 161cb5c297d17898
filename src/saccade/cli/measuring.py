"""What `saccade perplexity` does: a text of any length is scored, token by token."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from saccade.cli import verbs


def perplexity(path: Path, file: Path, *, stride: int | None, which: str | None, device: str, machine: bool) -> None:
    """Print what the model makes of the text."""
    model = verbs.opened_model(path, which, device)
    with bar(file, quiet=machine) as tick:
        found = model.perplexity(file, stride=stride, tick=tick)
    print(json.dumps({"model": str(path), "file": str(file), **found.table()}) if machine else found)


@contextmanager
def bar(file: Path, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, as far as a file is read."""
    if quiet or not sys.stderr.isatty() or not file.is_file():
        yield lambda done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(file.name, total=None if file.suffix == ".gz" else file.stat().st_size)
        yield lambda done: progress.update(task, completed=done)
