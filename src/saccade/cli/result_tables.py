"""How a table is shown: for the terminal, as Markdown, and inside a page between two markers."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from saccade import durable_files
from saccade.errors import DataError
from saccade.evaluation.metrics import metric as known_metric
from saccade.experiments.table import Grid, Line
from saccade.inputs import require_regular

MANY = 10  # seeds that are not listed one by one


def metric(grid: Grid) -> str:
    """The metric's name, and what its values are counted in."""
    shown = known_metric(grid.metric)
    return f"{shown.label} {shown.unit}".rstrip()


def number(grid: Grid, value: float) -> str:
    """A value of the metric, without its unit."""
    shown = known_metric(grid.metric)
    return shown.show(value).removesuffix(shown.unit)


def _header(grid: Grid, lines: Sequence[Line]) -> list[str]:
    names = ["seeds", f"{metric(grid)}, mean ± sd", "each seed", "minutes"]
    names += [f"best on {grid.choose}"] if grid.choose else []
    return names + (["paper"] if _published(lines) else [])


def _published(lines: Sequence[Line]) -> bool:
    return any(line.row.paper != "" for line in lines)


def _each(grid: Grid, line: Line) -> str:
    """The value of every seed; of many, only the least and the most."""
    if len(line.values) > MANY and line.done:
        return f"{number(grid, min(line.done))} … {number(grid, max(line.done))}"
    return " ".join("–" if value is None else number(grid, value) for value in line.values)


def _entries(grid: Grid, line: Line, published: bool) -> list[str]:
    """A line's columns after its name."""
    done, every = len(line.done), len(line.values)
    spread = "" if line.deviation is None else f" ± {number(grid, line.deviation)}"
    return [
        str(done) if done == every else f"{done} of {every}",
        "–" if line.mean is None else number(grid, line.mean) + spread,
        _each(grid, line),
        f"{fmean(line.minutes):.1f}" if line.minutes else "–",
        *(["–" if line.chosen is None else number(grid, line.chosen)] if grid.choose else []),
        *([str(line.row.paper)] if published else []),
    ]


def _grouped(lines: Sequence[Line]) -> list[tuple[str, Line]]:
    """Each line with the heading before it, if a new one begins there."""
    before = ["", *(line.row.group for line in lines)]
    return [(line.row.group if line.row.group != group else "", line) for group, line in zip(before, lines, strict=False)]


def _below(grid: Grid, lines: Sequence[Line]) -> list[str]:
    signatures = dict.fromkeys(line.signature for line in lines if line.signature)
    return [*([grid.note] if grid.note else []), *signatures]


def text(title: str, grid: Grid, lines: Sequence[Line]) -> str:
    """The table for the terminal."""
    published = _published(lines)
    rows = [_header(grid, lines), *(_entries(grid, line, published) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    longest = max(len(line.row.name) for line in lines)
    head, *body = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    shown = [f"{title}: {grid.about}", "", f"  {'':{longest}}  {head}"]
    for (heading, line), columns in zip(_grouped(lines), body, strict=True):
        shown += [heading] if heading else []
        shown.append(f"  {line.row.name:{longest}}  {columns}")
    return "\n".join([*shown, "", *_below(grid, lines)]).rstrip()


def markdown(command: str, grid: Grid, lines: Sequence[Line]) -> str:
    """The table to paste into a page."""
    published = _published(lines)
    header = ["", *_header(grid, lines)]
    rows = [header, ["---"] * len(header)]
    for heading, line in _grouped(lines):
        rows += [[f"**{heading}**", *[""] * (len(header) - 1)]] if heading else []
        rows.append([line.row.name, *_entries(grid, line, published)])
    drawn = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    below = [f"`{line}`" if "|" in line else line for line in _below(grid, lines)]
    return "\n".join([f"`{command}`: {grid.about}", "", *drawn, *(part for line in below for part in ("", line))])


def _markers(title: str) -> tuple[str, str]:
    return f"<!-- table: {title} -->", f"<!-- /table: {title} -->"


def _parts(path: Path, title: str) -> tuple[str, str]:
    """What stands before and after the table's place in a page; its end, where it has none yet."""
    first, last = _markers(title)
    try:
        require_regular(path, "name a page with --into")
        page = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name a page, in UTF-8, with --into") from None
    if first not in page and last not in page:
        return page.rstrip("\n") + "\n\n" * bool(page), "\n"
    before, _, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not end or first in rest or last in before + after:
        raise DataError(f"{path}: expected {first} and after it {last}, each once; mend the markers")
    return before, after


def check(path: Path, title: str) -> None:
    """Refuse a page that the table could not be written into."""
    _parts(path, title)


def write(path: Path, title: str, section: str) -> None:
    """Put the table into the page, in one step, where it was or at the end."""
    before, after = _parts(path, title)
    first, last = _markers(title)
    durable_files.replace(path.resolve(), f"{before}{first}\n{section}\n{last}{after}")
