"""The labels of an axis of a matrix: names, or numbers with round ticks."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from saccade.view.output.scales import Floats, numbers, ticks

Labels = Iterable[str | float] | None


@dataclass(frozen=True)
class AxisLabels:
    """The labels of one axis of a matrix: names, which are all shown, or numbers, of which round ones are."""

    texts: list[str]
    values: Floats | None = None

    def marks(self, count: int = 5) -> list[tuple[float, str]]:
        """About `count` labels and where they stand, in cells from the edge (0.5 is the middle of the first)."""
        middles = np.arange(len(self.texts)) + 0.5
        if self.values is None or not _rises(self.values):
            indices = range(0, len(self.texts), -(-len(self.texts) // max(count, 1)))
            return [(float(middles[index]), self.texts[index]) for index in indices]
        round_values = ticks(float(self.values[0]), float(self.values[-1]), count)
        if np.array_equal(self.values, self.values.round()):
            round_values = round_values[round_values == round_values.round()]
        places = np.interp(round_values, self.values, middles)
        return list(zip(places.tolist(), numbers(round_values), strict=True))


def _rises(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and np.all(values[1:] > values[:-1]))


def axis_labels(labels: Labels, count: int, side: str) -> AxisLabels:
    """The labels of `count` cells; numbers from 0 where none are given."""
    given: list[str | float] = list(range(count)) if labels is None else list(labels)
    if len(given) != count:
        raise ValueError(f"expected {count} {side} labels, one per {side}, got {len(given)}")
    if any(isinstance(label, str) for label in given):
        return AxisLabels([str(label) for label in given])
    values = np.array(given, dtype=np.float64)
    return AxisLabels(numbers(values), values)
