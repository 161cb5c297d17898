"""Curves over one axis in panels, one below the other: what is drawn of several trainings, and on which scales."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from saccade.view.output.scales import CountScale, Floats, LinearScale, LogScale, bins, limits, padded

FINEST = 500  # bins of a curve; of more points, the lowest and the highest of each bin are drawn


@dataclass(frozen=True)
class Curve:
    """One line of a run: its places, which of the runs it is of, and whether it has points (few numbers) or not."""

    run: int
    x: Floats
    y: Floats
    dotted: bool = False
    raw: Floats | None = None
    """What was smoothed, drawn faintly."""


@dataclass(frozen=True)
class Panel:
    """Curves of one quantity; `skipped` are the places of updates that were left out, and of which run."""

    title: str
    curves: Sequence[Curve]
    skipped: Sequence[tuple[int, float]] = ()
    log: bool = False

    def up(self, start: float, stop: float) -> LinearScale:
        """The scale of its heights, from the bottom to the top of its place."""
        values = [one.y if one.raw is None else np.concatenate((one.y, one.raw)) for one in self.curves]
        if not self.log:
            span = limits(*values) if values else None
            return LinearScale(*padded(None if span == (0.0, 0.0) else span), start, stop)  # what is all 0 stands low
        positive = [np.log10(value[value > 0]) for value in values]
        return LogScale(*padded(limits(*positive) if values else None), start, stop)


@dataclass(frozen=True)
class Panels:
    """The whole: names of the runs for the legend, panels, and the name of the axis that they share."""

    title: str
    names: Sequence[str]
    panels: Sequence[Panel]
    across: str
    counted: bool = True
    """Whether the axis counts things."""

    @cached_property
    def span(self) -> tuple[float, float]:
        """From the first to the last place of all panels."""
        places = [curve.x for panel in self.panels for curve in panel.curves]
        places += [np.array([place for _, place in panel.skipped]) for panel in self.panels]
        return padded(limits(*places) if places else None, 0.02)

    def horizontal(self, start: float, stop: float) -> LinearScale:
        """The scale of the axis that all panels share."""
        return (CountScale if self.counted else LinearScale)(*self.span, start, stop)


def smoothed(values: Floats, width: int) -> Floats:
    """The mean of so many neighbors, at the ends of fewer; what is not a number is left out and stays where it is."""
    known = np.isfinite(values)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, values, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    places = np.arange(len(values))
    first, last = np.maximum(places - (width - 1) // 2, 0), np.minimum(places + width // 2 + 1, len(values))
    means = (sums[last] - sums[first]) / np.maximum(counts[last] - counts[first], 1)
    return np.where(known, means, np.nan)


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """No more points than a picture can show; peaks and gaps stay."""
    if len(x) <= 2 * FINEST:
        return x, y
    starts = [*bins(len(x), FINEST).tolist(), len(x)]
    kept: list[int] = []
    for first, last in pairwise(starts):
        part = y[first:last]
        known = np.flatnonzero(np.isfinite(part))
        ends = {int(known[part[known].argmin()]), int(known[part[known].argmax()])} if len(known) else {0}
        gap = np.flatnonzero(~np.isfinite(part))[:1].tolist()
        kept += [first + place for place in sorted({*ends, *gap})]
    return x[kept], y[kept]
