"""What `saccade reproduce` does: train the cells of a table, each to its end, and show what they came to."""

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from saccade.cli import result_tables, verbs
from saccade.errors import UsageError
from saccade.experiments import table
from saccade.experiments.cell import Cell
from saccade.experiments.table import Grid, Line
from saccade.training.interrupts import Interrupted
from saccade.training.progress import watcher

QUICK = ("train.steps=3", "search.max_length=8")


def reproduce(
    name: str,
    words: Sequence[str],
    out: Path | None,
    *,
    rows: str | None,
    seeds: int | None,
    show: bool,
    quick: bool,
    fresh: bool,
    markdown: bool,
    into: Path | None,
    data_dir: str | None,
    machine: bool,
) -> None:
    """Train what is not there yet, then show the table; everything that can be wrong is told before."""
    verbs.use(data_dir)
    if show and fresh:
        raise UsageError("--show and --fresh exclude each other: look at what there is, or begin anew")
    if machine and (markdown or into):
        raise UsageError("--json and --markdown exclude each other: for machines, or for a page")
    grid, title = table.read(name), Path(name).stem
    if into:
        result_tables.check(into, title)
    folder = out or Path("runs") / (f"{title}-quick" if quick else title)
    count, hasty = seeds or (1 if quick else None), QUICK if quick else ()
    parts = [(row, grid.cells(row, count, [*hasty, *words], folder)) for row in grid.chosen(rows)]
    cells = _in_order(cells for _, cells in parts)
    if not show:
        grid.check(parts, fresh=fresh)
    _prepare(cells, fresh=fresh, show=show)
    if not show:
        _carry_out(grid, cells, fresh=fresh, machine=machine)
    lines = table.lines(grid, parts)
    if machine:
        print(json.dumps(_facts(title, grid, lines)))
    elif markdown or into:
        command = _command(name, words, quick=quick, rows=rows, seeds=seeds)
        _hand_over(result_tables.markdown(command, grid, lines), into, title)
    else:
        print(result_tables.text(title, grid, lines))
        if quick:
            print(f"\nmade with --quick ({', '.join(QUICK)}): that it runs, not how good it is")


def _in_order(parts: Iterable[Sequence[Cell]]) -> list[Cell]:
    """Every cell once, the first seed of all rows first: so there is soon a whole table, if a rough one."""
    cells = {cell.path: cell for own in parts for cell in own}
    return sorted(cells.values(), key=lambda cell: cell.seed)


def _prepare(cells: Sequence[Cell], *, fresh: bool, show: bool) -> None:
    """Mark what is to be made anew; else find out what was made otherwise."""
    for cell in cells:
        if fresh:
            cell.begin_anew()
        elif show or not cell.anew:
            cell.check()


def _carry_out(grid: Grid, cells: Sequence[Cell], *, fresh: bool, machine: bool) -> None:
    """Train and score every cell that is not finished; a table that cannot even begin anew stays what it was."""
    marked = [cell for cell in cells if cell.anew] if fresh else []
    try:
        _complete(grid, cells, fresh=fresh, machine=machine)
    except BaseException as error:
        if all(cell.anew for cell in marked) and not isinstance(error, Interrupted):
            for cell in marked:
                cell.spare()
        raise


def _complete(grid: Grid, cells: Sequence[Cell], *, fresh: bool, machine: bool) -> None:
    for number, cell in enumerate(cells, 1):
        if cell.due(grid.split):
            if machine:
                facts = {"event": "cell", "cell": number, "cells": len(cells), "row": cell.row, "seed": cell.seed}
                print(json.dumps({**facts, "run": str(cell.path)}), flush=True)
            watching = watcher(machine=machine)
            watching.note(f"cell {number} of {len(cells)}: {cell.row}, seed {cell.seed} ({cell.path})")
            value = grid.value(cell.complete(grid.split, watching, fresh=fresh))
            watching.note(f"{result_tables.metric(grid)} {result_tables.number(grid, value)} on {grid.split}")


def _facts(title: str, grid: Grid, lines: Sequence[Line]) -> dict[str, object]:
    rows = [
        {
            "row": line.row.name,
            "slug": line.row.slug,
            "group": line.row.group,
            "same_as": line.row.same_as or None,
            "values": line.values,
            "mean": line.mean,
            "sd": line.deviation,
            **({"chosen": line.chosen} if grid.choose else {}),
            "minutes": line.minutes,
            "paper": line.row.paper or None,
            "signature": line.signature or None,
        }
        for line in lines
    ]
    return {"table": title, "metric": grid.metric, "split": grid.split, "rows": rows}


def _command(name: str, words: Sequence[str], *, quick: bool, rows: str | None, seeds: int | None) -> str:
    """What is typed to get this table again."""
    options = ["--quick"] * quick + (["--rows", rows] if rows else []) + (["--seeds", str(seeds)] if seeds else [])
    return shlex.join(["saccade", "reproduce", name, *words, *options])


def _hand_over(section: str, into: Path | None, title: str) -> None:
    if into:
        result_tables.write(into, title, section)
        print(into)
    else:
        print(section)
