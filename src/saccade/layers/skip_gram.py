"""Vectors of words from texts alone (skip-gram with negative sampling, Mikolov et al. 2013).

All chance is a pure function of (seed, epoch, place): the same texts give the same vectors, bit for bit, on one core.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.config import Amount, Count, Positive, Rate
from saccade.errors import DataError
from saccade.kernels.negative_sampling import descend

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CHUNK = 10_000  # words whose pairs are made at once
TABLE = 1 << 20  # places that words to draw from are laid out on
LOWEST = 1e-2  # the rate falls to this share of itself
GOLDEN, FIRST, SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True, kw_only=True)
class Config:
    """How vectors are learned."""

    width: Positive = 100
    "Numbers of a vector."
    window: Positive = 5
    "How far a neighbor may be; for each word a distance up to this is drawn."
    negatives: Positive = 5
    "Words drawn by chance for each pair."
    epochs: Positive = 5
    "How often the texts are read."
    sample: Amount = 1e-3
    "Words more frequent than this share of all are left out now and then; 0: never."
    rate: Rate = 0.025
    "Learning rate at the start; it falls along a line."
    seed: Count = 0
    "Decides the first vectors and all that is drawn."


def chances(seed: int, stream: int, first: int, count: int) -> NDArray[np.uint64]:
    """Numbers first, first + 1 … of a stream of random 64-bit integers: SplitMix64 of their places (Steele et al. 2014)."""
    start = _mixed(np.array([seed], dtype=np.uint64) * GOLDEN + np.array([stream], dtype=np.uint64) * FIRST)
    return _mixed(np.arange(first + 1, first + count + 1, dtype=np.uint64) * GOLDEN + start)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def shares(numbers: NDArray[np.uint64]) -> Floats:
    """As numbers from [0, 1)."""
    return (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53


def learn(
    rows: Sequence[Sequence[int]],
    size: int,
    config: Config,
    report: Callable[[int, int, float], None] = lambda done, total, loss: None,
) -> Tensor:
    """A vector (size, width) for each word of these texts, rows of numbers below `size`; 0 for those that do not occur.

    `report` hears now and then how many of how many words were read, and the mean loss of their pairs.
    """
    words = np.fromiter((word for row in rows for word in row), dtype=np.int64)
    texts = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    counts = np.bincount(words, minlength=size)
    if not len(words):
        raise DataError("nothing to learn vectors from: expected texts with words, got none")
    drawn = np.repeat(np.arange(size), _laid_out(counts.astype(np.float64) ** 0.75))
    first = shares(chances(config.seed, 0, 0, size * config.width)).reshape(size, config.width)
    inputs = torch.from_numpy(((first - 0.5) / config.width * (counts > 0)[:, None]).astype(np.float32))
    outputs = torch.zeros(size, config.width)
    total = config.epochs * len(words)
    for epoch in range(config.epochs):
        kept = _kept(words, counts, config, epoch)
        for done, pairs in _pairs(words[kept], texts[kept], drawn, config, epoch):
            read = epoch * len(words) + round(done * len(words) / len(kept))
            rate = config.rate * max(1 - read / total, LOWEST)
            centers, contexts, negatives = (torch.from_numpy(part) for part in pairs)
            losses = descend(inputs, outputs, centers, contexts, negatives, rate)
            report(read, total, float(losses.mean()) if len(losses) else 0.0)
    return inputs


def _laid_out(weights: Floats) -> Integers:
    """How many of the table's places each word has, by its weight; every word that occurs has one."""
    ends = np.rint(np.cumsum(weights) / weights.sum() * TABLE).astype(np.int64)
    places: Integers = np.maximum(np.diff(ends, prepend=0), weights > 0)
    return places


def _kept(words: Integers, counts: Integers, config: Config, epoch: int) -> Integers:
    """The places of the words that are read in this epoch: of very frequent ones only some."""
    if not config.sample:
        return np.arange(len(words))
    shares_of = counts / counts.sum()
    with np.errstate(divide="ignore"):
        chance = np.sqrt(config.sample / shares_of) + config.sample / shares_of
    kept = np.flatnonzero(shares(chances(config.seed, 4 * epoch + 1, 0, len(words))) < chance[words])
    return kept if len(kept) else np.arange(len(words))


def _pairs(
    words: Integers, texts: Integers, drawn: Integers, config: Config, epoch: int
) -> Iterator[tuple[int, tuple[Integers, Integers, Integers]]]:
    """How many words were read, and centers, contexts and negatives of the next ones, center after center."""
    radii = 1 + (chances(config.seed, 4 * epoch + 2, 0, len(words)) % np.uint64(config.window)).astype(np.int64)
    reach = np.array([*range(-config.window, 0), *range(1, config.window + 1)])
    made = 0
    for start in range(0, len(words), CHUNK):
        here = np.arange(start, min(start + CHUNK, len(words)))[:, None]
        there = np.clip(here + reach, 0, len(words) - 1)
        fits = (here + reach == there) & (np.abs(reach) <= radii[here]) & (texts[there] == texts[here])
        centers, contexts = words[np.broadcast_to(here, there.shape)[fits]], words[there[fits]]
        numbers = chances(config.seed, 4 * epoch + 3, made, config.negatives * len(centers)) % np.uint64(len(drawn))
        made += len(numbers)
        yield start, (centers, contexts, drawn[numbers.astype(np.int64)].reshape(-1, config.negatives))
