"""`saccade plot`: loss and metrics of runs, in the terminal or as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saccade.training.run_curves import plot as plotted
from saccade.view.output.display_text import visible
from saccade.view.output.saving import DRAWINGS, kind_of


def plot(
    paths: Sequence[Path],
    out: Sequence[Path],
    metrics: Sequence[str],
    over: Any,
    *,
    smooth: int,
    log: bool,
    width: int | None,
    color: bool | None,
) -> None:
    """Print the chart, or write it."""
    for path in out:
        kind_of(path, DRAWINGS)  # before anything is read
    chart = plotted(*paths, metric=metrics, over=over, smooth=smooth, log=log)
    for path in out:
        print(visible(str(chart.save(path))))
    if not out:
        print(chart.terminal(color, width))
