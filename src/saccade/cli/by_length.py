"""Scores by the length of the source: bars for one run, a table for several, and a picture of either."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from saccade.errors import UsageError
from saccade.evaluation.metrics import Metric
from saccade.view.charts.line_chart import Chart, Series, line_chart
from saccade.view.output import saving
from saccade.view.output.display_text import columns, fit

Bins = Sequence[Mapping[str, float]]
BAR = 40  # letters of a full one
NAME = 24  # columns of a run's name in the table


def check(lengths: bool, out: Sequence[Path]) -> None:
    """Whether the options fit each other, before anything is computed."""
    if out and not lengths:
        raise UsageError("--out: draws what --lengths scores; add --lengths")
    for target in out:
        saving.kind_of(target, saving.DRAWINGS)


def label(row: Mapping[str, float]) -> str:
    """The lengths of a bin: 1–5, or 3 where there is but one."""
    low, high = int(row["shortest"]), int(row["longest"])
    return f"{low}" if low == high else f"{low}–{high}"


def overall(bins: Bins, metric: Metric) -> float:
    """The mean over all examples of the bins. (BLEU has no such mean.)"""
    return sum(row[metric.name] * row["examples"] for row in bins) / sum(row["examples"] for row in bins)


def show_bars(bins: Bins, metric: Metric) -> None:
    """One run in the terminal."""
    most = 100 if metric.scale == 100 or metric.name in ("bleu", "chrf") else max([row[metric.name] for row in bins] or [1])
    for row in bins:
        value = row[metric.name] * metric.scale
        bar = "█" * round(BAR * value / (most or 1))
        shown = f"{metric.label} {metric.show(row[metric.name])}"
        print(f"  {f'{label(row)} words':12} {row['examples']:5,.0f} examples  {shown} {bar}")


def show_table(runs: Mapping[str, Bins], metric: Metric) -> None:
    """Several runs in the terminal: the score of each in every bin, and how far it is from the first."""
    if not runs:
        return
    first, *others = ([row[metric.name] * metric.scale for row in bins] for bins in runs.values())
    rows = next(iter(runs.values()))
    names = [_padded(name) for name in runs]
    print(f"\n  {_named(metric)} by words of the source, and the difference to the first run")
    print(f"  {'words':10} {'examples':>8}  {'  '.join(names)}")
    for number, row in enumerate(rows):
        cells = [f"{first[number]:.2f}".rjust(NAME), *(_with_gap(own[number], first[number]).rjust(NAME) for own in others)]
        print(f"  {label(row):10} {row['examples']:8,.0f}  {'  '.join(cells)}")


def _named(metric: Metric) -> str:
    return f"{metric.label}, {metric.unit}" if metric.unit else metric.label


def _with_gap(own: float, first: float) -> str:
    gap = f"({own - first:+.2f})".replace("-", "−")
    return f"{own:.2f} {gap:>9}"


def _padded(name: str) -> str:
    """The end of a name, which tells runs apart, at the right of its column."""
    shown = fit(name, 4 * NAME)
    shown = shown if columns(shown) <= NAME else f"…{shown[1 - NAME :]}"
    return " " * (NAME - columns(shown)) + shown


def draw(
    runs: Mapping[str, Bins], whole: Mapping[str, float], metric: Metric, signature: str, out: Sequence[Path], *, quiet: bool
) -> None:
    """The picture of all runs, into each of the files, which are named on standard output unless `quiet`."""
    first = next(iter(runs.values()))
    up = _named(metric)
    chart = Chart(
        title=f"{up[0].upper()}{up[1:].removesuffix(', %')} by length of the source",
        bins=[label(row) for row in first],
        counts=[int(row["examples"]) for row in first],
        series=[
            Series(f"{run} · {whole[run] * metric.scale:.2f} on all", [row[metric.name] * metric.scale for row in bins])
            for run, bins in runs.items()
        ],
        across="words of the source (in small type: how many sentences)",
        up=up,
        note=signature,
    )
    for target in out:
        written = saving.save_drawing(line_chart(chart), target)
        if not quiet:
            print(written)
