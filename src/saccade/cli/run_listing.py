"""`saccade runs`: how every run stands, a line each."""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from saccade.errors import UsageError
from saccade.evaluation.metrics import METRICS
from saccade.inputs import amount
from saccade.training.run_list import RunSummary, run_list
from saccade.view.output.display_text import columns, visible

HEAD = ("run", "system", "data", "state", "best", "age", "size")
LEFT_OUT = ("size", "data", "system")  # one after the other, where the terminal is too narrow for all
DEFAULT = Path("runs")


def runs(folder: Path, *, machine: bool) -> None:
    """List the runs in a directory, what was changed last first."""
    if not folder.is_dir() and folder != DEFAULT:
        there = "a file" if folder.exists() else "nothing"
        raise UsageError(f"{folder}: expected a directory with runs, got {there}; see what is there: saccade runs .")
    found = run_list(folder)
    if machine:
        print(json.dumps([asdict(one) for one in found]))
        return
    if not found:
        print(f"no runs in {visible(str(folder))}; train one: saccade train dates; runs elsewhere: saccade runs DIR")
    else:
        print("\n".join(_table(found)))


def _table(found: Sequence[RunSummary]) -> list[str]:
    """A line for each run, as wide as the terminal, and below it what is wrong."""
    rows = [dict(zip(HEAD, cells, strict=True)) for cells in (HEAD, *map(_cells, found))]
    widths = {name: max(columns(row[name]) for row in rows) for name in HEAD}
    room = shutil.get_terminal_size().columns
    for name in LEFT_OUT:
        if sum(widths.values()) + 2 * (len(widths) - 1) > room:
            del widths[name]
    lines = []
    for row, note in zip(rows, ("", *(one.note for one in found)), strict=True):
        cells = (row[name] + " " * (width - columns(row[name])) for name, width in widths.items())
        lines += ["  ".join(cells).rstrip(), *([f"  {visible(note)}"] if note else [])]
    return lines


def _cells(one: RunSummary) -> tuple[str, ...]:
    known = METRICS.get(one.metric)
    best = "" if known is None or one.score is None else f"{known.label} {known.show(one.score)}"
    return tuple(map(visible, (one.path, one.system, one.data, one.state, best, age(one.changed), amount(one.size))))


def age(changed: float) -> str:
    """How long ago that was, in the largest unit that fits."""
    seconds = max(0.0, time.time() - changed)
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
