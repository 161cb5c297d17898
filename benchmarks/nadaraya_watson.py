"""Nadaraya–Watson regression, 10,000 queries: beside statsmodels, scikit-learn's rbf_kernel, pykeops and plain torch.

python benchmarks/nadaraya_watson.py            all cases
python benchmarks/nadaraya_watson.py --quick    at most a minute

All take time in proportion to the queries: slow peers are timed on some of them, and their seconds scaled; we are timed on
all. Data are float32 for all but statsmodels, which knows float64 only. scikit-learn has no such estimator: its kernel
matrix is what one would use, in chunks of 1,000 queries. A peer that is not installed is left out. `--threads` are ours and
torch's; other peers go by OMP_NUM_THREADS, or use all cores.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from kit import Report, Run, arguments, extra_megabytes, interleave
from numpy.typing import NDArray

from saccade.estimators import NadarayaWatsonRegressor

Floats = NDArray[Any]
QUERIES, CHUNK, MOST_MEGABYTES, MOST_ERROR = 10_000, 1000, 200, 1e-4
BANDWIDTHS = {1: 0.05, 8: 0.25}


def sample(points: int, features: int) -> tuple[Floats, Floats, Floats]:
    """Points, their targets, and queries."""
    dice = np.random.default_rng(0)
    x, query = (dice.random((count, features)).astype(np.float32) for count in (points, QUERIES))
    y = np.sin(4 * x).sum(1) + 0.1 * dice.normal(size=points)
    return x, y.astype(np.float32), query


def statsmodels(x: Floats, y: Floats, query: Floats, bandwidth: float) -> Run:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    kinds = "c" * x.shape[1]
    model = KernelReg(y.astype(float), x.astype(float), kinds, reg_type="lc", bw=[bandwidth] * x.shape[1], rng=0)
    asked = query.astype(float)
    return lambda: model.fit(asked)[0]


def scikit_learn(x: Floats, y: Floats, query: Floats, bandwidth: float) -> Run:
    from sklearn.metrics.pairwise import rbf_kernel

    def run() -> Floats:
        means = []
        for first in range(0, len(query), CHUNK):
            weights = rbf_kernel(query[first : first + CHUNK], x, gamma=0.5 / bandwidth**2)
            means.append(weights @ y / weights.sum(1))
        return np.concatenate(means)

    return run


def pykeops(x: Floats, y: Floats, query: Floats, bandwidth: float) -> Run:
    import pykeops as package
    from pykeops.torch import LazyTensor

    package.set_verbose(False)
    keys, asked = torch.from_numpy(x), torch.from_numpy(query)
    values = torch.stack([torch.from_numpy(y), torch.ones(len(y))], 1)

    def run() -> Floats:
        squares = ((LazyTensor(asked[:, None]) - LazyTensor(keys[None])) ** 2).sum(-1)
        sums = (-squares * (0.5 / bandwidth**2)).exp() @ values
        mean: Floats = (sums[:, 0] / sums[:, 1]).numpy()
        return mean

    return run


def plain_torch(x: Floats, y: Floats, query: Floats, bandwidth: float) -> Run:
    keys, values, asked = (torch.from_numpy(part) for part in (x, y, query))

    def run() -> Floats:
        means = []
        for part in asked.split(CHUNK):
            weights = torch.exp(torch.cdist(part, keys).square() * (-0.5 / bandwidth**2))
            means.append(weights @ values / weights.sum(1))
        return torch.cat(means).numpy()

    return run


# How each is made, and which part of the queries it is timed on, with 10,000 and with 100,000 points.
PEERS: dict[str, tuple[Callable[..., Run], dict[int, int]]] = {
    "statsmodels": (statsmodels, {10_000: 50, 100_000: 500}),
    "sklearn": (scikit_learn, {10_000: 10, 100_000: 40}),
    "pykeops": (pykeops, {10_000: 2, 100_000: 10}),
    "torch": (plain_torch, {10_000: 10, 100_000: 40}),
}


def installed() -> list[str]:
    """The peers that are there; the others are named."""
    there = [name for name in PEERS if importlib.util.find_spec(name) is not None]
    if missing := sorted(set(PEERS) - set(there)):
        print(f"not installed, left out: {', '.join(missing)}; pip install 'saccade[bench]'")
    return there


def speed(report: Report, peers: list[str], points: int, features: int, rounds: int) -> None:
    """One size: everybody in turn, then how far we are from float64."""
    (x, y, query), bandwidth = sample(points, features), BANDWIDTHS[features]
    fitted = NadarayaWatsonRegressor(bandwidth=bandwidth).fit(x, y)
    runs: dict[str, Run] = {"ours": lambda: fitted.predict(query)}
    for name in peers:
        build, parts = PEERS[name]
        runs[name] = build(x, y, query[: QUERIES // parts[points]], bandwidth)
    times = interleave(runs, rounds, 0.05)
    scaled = {name: [t * (PEERS[name][1][points] if name in PEERS else 1) for t in seen] for name, seen in times.items()}
    case = f"n {points:,} d {features}"
    report.case(case, scaled)
    error = np.abs(fitted.predict(query[:200]) - exact(x, y, query[:200], bandwidth)).max() / y.std()
    report.value(f"{case} error", "1e-4 of the spread", MOST_ERROR / error, f"{error:.1e} of the target's spread")


def exact(x: Floats, y: Floats, query: Floats, bandwidth: float) -> Floats:
    """The definition in float64."""
    keys, values, asked = (part.astype(np.float64) for part in (x, y, query))
    means = []
    for row in asked:
        scores = -0.5 * ((row - keys) ** 2).sum(1) / bandwidth**2
        weights = np.exp(scores - scores.max())
        means.append(weights @ values / weights.sum())
    return np.array(means)


def memory(report: Report, features: int) -> None:
    """Extra memory of a million points and 10,000 queries."""
    x, y, query = sample(1_000_000, features)
    fitted = NadarayaWatsonRegressor(bandwidth=BANDWIDTHS[features]).fit(x, y)
    fitted.predict(query[:100])
    extra = extra_megabytes(lambda: fitted.predict(query))
    report.value(
        f"n 1,000,000 d {features} memory", "200 MB", MOST_MEGABYTES / max(extra, 0.1), f"{extra:.0f} MB more than the data"
    )


def main() -> None:
    options = arguments("Nadaraya-Watson regression beside statsmodels, scikit-learn, pykeops and plain torch.")
    torch.set_num_threads(options.threads)
    report, peers = Report(), installed()
    for points in (10_000, 100_000):
        for features in (1, 8):
            speed(report, peers, points, features, 2 if options.quick else 7)
    for features in (1,) if options.quick else (1, 8):
        memory(report, features)
    report.close(options.json)


if __name__ == "__main__":
    main()
