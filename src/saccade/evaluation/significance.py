"""Whether two runs differ on one test: paired bootstrap (Efron 1979; Koehn 2004), exact McNemar test (McNemar 1947)."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Score = Callable[[NDArray[np.int64]], float]  # of the examples with these numbers, some of them more than once
Row = dict[str, float | None]

SEED = 12345
BOOTSTRAP, MCNEMAR = "paired bootstrap", "exact McNemar test"


def mean_of(values: Floats, weights: Floats | None = None) -> Score:
    """The score that is the mean of these values, (N), where they count so much."""
    total, count = (values, np.ones_like(values)) if weights is None else (values * weights, weights)
    return lambda indices: float(total[indices].sum() / count[indices].sum())


def is_share(values: Floats) -> bool:
    """Whether these are right or wrong, 1 or 0."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def mcnemar(first: Floats, other: Floats) -> float:
    """p of the exact two-sided test: of the examples that only one has right, each is as likely to have half of them."""
    only = [int(((first == 1) & (other == 0)).sum()), int(((first == 0) & (other == 1)).sum())]
    every, fewer = sum(only), min(only)
    logs = (math.lgamma(every + 1) - math.lgamma(k + 1) - math.lgamma(every - k + 1) for k in range(fewer + 1))
    return min(1.0, 2 * math.fsum(math.exp(log - every * math.log(2)) for log in logs))


def paired_rows(scores: Mapping[str, Score], count: int, samples: int) -> dict[str, Row]:
    """Of each run its score, its mean and half its 95 % interval over resampled tests, the difference to the first, and p:
    how likely so large a difference is where there is none. All runs have the same samples, and always the same.

    A sample in which a score is not defined, such as AUC where a label does not occur, does not count."""
    dice = np.random.default_rng(SEED)
    draws = [dice.integers(0, count, count) for _ in range(samples)]
    rows: dict[str, Row] = {}
    first: tuple[float, Floats] | None = None
    for name, score in scores.items():
        whole, drawn = score(np.arange(count)), np.array([score(draw) for draw in draws])
        low, high = np.nanpercentile(drawn, (2.5, 97.5))
        row: Row = {"score": whole, "mean": float(np.nanmean(drawn)), "interval": float(high - low) / 2}
        if first is None:
            first = whole, drawn
            rows[name] = {**row, "difference": None, "p": None}
        else:
            # Samples of one example are all alike: they do not tell how much a difference varies.
            p = _chance(whole - first[0], drawn - first[1]) if count > 1 else 1.0
            rows[name] = {**row, "difference": whole - first[0], "p": p}
    return rows


def _chance(difference: float, drawn: Floats) -> float:
    """How often differences of samples are as far from their mean as this one is from nothing."""
    known = drawn[~np.isnan(drawn)]
    far = np.abs(known - known.mean()) >= abs(difference) - 1e-12
    return float((far.sum() + 1) / (len(known) + 1))


def compare_values(values: Mapping[str, Floats], samples: int, weights: Floats | None = None) -> tuple[str, dict[str, Row]]:
    """The test that fits, and its rows, of a metric that is the mean of what each example has."""
    first = next(iter(values.values()))
    rows = paired_rows({name: mean_of(own, weights) for name, own in values.items()}, len(first), samples)
    if weights is not None or not all(map(is_share, values.values())):
        return BOOTSTRAP, rows
    shares: dict[str, Any] = {name: {"p": mcnemar(first, values[name])} for name in list(values)[1:]}
    return MCNEMAR, {name: {**row, **shares.get(name, {})} for name, row in rows.items()}
