"""The numbers behind a drawing: arrays checked and pooled, their limits, round ticks, a linear scale."""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST = sys.float_info.max


def matrix(weights: ArrayLike) -> Floats:
    """The weights as a float matrix (queries × keys)."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"expected a matrix (queries × keys) with at least one cell, got shape {values.shape}")
    return values


def series(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Two sequences of the same length, as floats."""
    horizontal, vertical = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if horizontal.ndim != 1 or horizontal.shape != vertical.shape:
        raise ValueError(f"expected x and y of one length, got shapes {horizontal.shape} and {vertical.shape}")
    return horizontal, vertical


def limits(*arrays: Floats) -> tuple[float, float] | None:
    """The smallest and the largest finite number, or None where there is none."""
    numbers = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return (float(numbers.min()), float(numbers.max())) if numbers.size else None


def color_range(span: tuple[float, float] | None, *, signed: bool = False) -> tuple[float, float] | None:
    """What the colors of weights run over: from 0, or the smallest if below, to the largest; signed, as far to both sides.

    From 0, not from the smallest: equal differences then look alike in every map, and a nearly uniform one looks uniform.
    """
    if signed or span is None:
        return symmetric(span)
    return (min(span[0], 0.0), span[1]) if span[1] > 0 else span


def symmetric(span: tuple[float, float] | None) -> tuple[float, float] | None:
    """The span of signed numbers: as far below 0 as above, so that 0 is in the middle of its colors."""
    most = max(map(abs, span)) if span else 0.0
    return (-most, most) if most else span


def padded(span: tuple[float, float] | None, share: float = 0.05) -> tuple[float, float]:
    """The span with a margin at both ends; a span of one number (or none) is widened, so that it can be drawn."""
    low, high = span or (0.0, 1.0)
    air = (high / 2 - low / 2) * 2 * share if high > low else max(abs(low) * share, share)
    return max(low - air, -LARGEST), min(high + air, LARGEST)


def bins(count: int, most: int) -> Integers:
    """Where each of at most `most` bins starts, of sizes that differ by one at the most."""
    wanted = max(1, min(count, most))
    return np.arange(wanted) * count // wanted


def pool(values: Floats, rows: Integers, columns: Integers, *, signed: bool = False) -> Floats:
    """The largest cell of each bin (with `signed`, the farthest from 0), so that a thin line survives; a NaN, too."""
    if signed:
        above, below = pool(values, rows, columns), -pool(-values, rows, columns)
        return np.where(np.abs(below) > np.abs(above), below, above)
    return np.asarray(np.maximum.reduceat(np.maximum.reduceat(values, rows, axis=0), columns, axis=1))


def ticks(low: float, high: float, count: int = 5) -> Floats:
    """Round numbers from low to high, a step of 1, 2 or 5 times a power of ten apart: about `count` of them.

    Where fewer than two fit, the two ends: one number alone says nothing of a scale.
    """
    rough = (high / 2 - low / 2) / max(count, 2) * 2
    if rough < 1e-300:
        return np.array([low])
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10, 20) if factor * power >= rough)
    if math.isinf(step):  # no rounder number is left at the end of the floats
        return np.array([low, high])
    # A thousandth of a step: a scale from 1e-61 has its first tick at 0.
    first, last = math.ceil(low / step - 1e-3), math.floor(high / step + 1e-3)
    return np.arange(first, last + 1, dtype=np.float64) * step if last > first else np.array([low, high])


def numbers(values: Floats) -> list[str]:
    """Short texts, all with as many decimals as tell them apart; very large and very small ones with an exponent."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    if largest and not 1e-3 <= largest < 1e5:
        return [f"{value:.3g}" for value in values]
    gap = float(np.diff(np.unique(finite)).min()) if np.unique(finite).size > 1 else 1.0
    off = (np.abs(finite - finite.round(places)).max(initial=0.0) for places in range(3))
    decimals = next((places for places, error in enumerate(off) if error < gap / 20), 3)
    return [f"{value:.{decimals}f}" for value in values]


@dataclass(frozen=True)
class LinearScale:
    """A straight line from data (low to high) to the screen (start to stop)."""

    low: float
    high: float
    start: float = 0.0
    stop: float = 1.0

    def __call__(self, values: ArrayLike) -> Floats:
        # Halves: the difference of two huge numbers stays finite.
        half = np.asarray(values, dtype=np.float64) / 2 - self.low / 2
        span = self.high / 2 - self.low / 2
        unit = half / span if span > 0 else np.where(np.isnan(half), half, 0.5)
        return np.asarray(self.start + unit * (self.stop - self.start))

    def marks(self, count: int = 5) -> list[tuple[float, str]]:
        """Round numbers along the scale: their places on the screen and their texts."""
        values = ticks(self.low, self.high, count)
        return list(zip(self(values).tolist(), numbers(values), strict=True))


class CountScale(LinearScale):
    """Of what is counted: 200k and 1.5M are read faster than their zeros."""

    def marks(self, count: int = 5) -> list[tuple[float, str]]:
        """Round numbers along the scale, in thousands or millions where they are that many."""
        values = ticks(self.low, self.high, count)
        largest = float(np.abs(values).max())
        size, unit = next(
            ((size, unit) for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")) if largest >= size), (1.0, "")
        )
        size = 1e3 if unit == "k" else size
        return list(
            zip(self(values).tolist(), (f"{value / size:g}{unit if value else ''}" for value in values), strict=True)
        )


class LogScale(LinearScale):
    """From data to the screen by logarithms; its ends are logarithms already, what is not above 0 has no place."""

    def __call__(self, values: ArrayLike) -> Floats:
        numbers = np.asarray(values, dtype=np.float64)
        known = np.where(numbers > 0, numbers, np.nan)
        return super().__call__(np.log10(known))

    def marks(self, count: int = 5) -> list[tuple[float, str]]:
        """Powers of ten along the scale; with 2 and 5 times each where those are few."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        for factors in ((1,), (1, 2, 5)):
            values = [factor * 10.0**power for power in powers for factor in factors]
            inside = [value for value in values if self.low <= math.log10(value) <= self.high]
            if len(inside) >= 3 or factors == (1, 2, 5):
                break
        if len(inside) < 2:
            inside = [10**self.low, 10**self.high]
        shown = inside[:: max(1, len(inside) // max(count, 2))]
        return list(zip(self(shown).tolist(), (f"{value:.3g}" for value in shown), strict=True))
