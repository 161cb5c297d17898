"""What `saccade perplexity` does: a text of any length is scored, token by token."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from saccade.cli import verbs
from saccade.evaluation.likelihood import Likelihood
from saccade.trained import TrainedModel


def perplexity(
    path: Path, file: Path, *, stride: int | None, precision: str | None, which: str | None, device: str, machine: bool
) -> None:
    """Print what the model makes of the text, and what it makes of it with rounded weights."""
    model = verbs.opened_model(path, which, device)
    rest = verbs.resting(model.module, precision) if precision else None
    found = _scored(model, file, stride, quiet=machine)
    told, rows = found.table(), [str(found)]
    if rest:
        with rest:
            rounded = _scored(model, file, stride, quiet=machine)
        more = rounded.perplexity - found.perplexity
        told[str(precision)] = rounded.table()
        share = f"{more:+.3f} ({more / found.perplexity:+.2%})"
        rows.append(f"{precision:10}  {rounded.perplexity:.3f} per token, which is {share}")
    print(json.dumps({"model": str(path), "file": str(file), **told}) if machine else "\n".join(rows))


def _scored(model: TrainedModel, file: Path, stride: int | None, *, quiet: bool) -> Likelihood:
    with bar(file, quiet=quiet) as tick:
        return model.perplexity(file, stride=stride, tick=tick)


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
