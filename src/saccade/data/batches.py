"""Batches of examples of like length, each within a budget of tokens, in an order that two integers bring back.

The order of an epoch is a pure function of (lengths, max_tokens, seed, epoch): `PlannedBatches` remembers where it stands by
the epoch and the number of its batches that were taken.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.data.draws import uniform
from saccade.errors import DataError, ShapeError, UsageError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SPREAD = 5.0  # of a normal distribution, five mean absolute deviations hold 95 %
WHOLE = 1 << 18  # examples up to which an epoch is planned at once
GROUP = 1 << 17  # examples that are planned together where there are more
BLOCK = 1 << 8  # neighbors that come into one group, so that files are read in long stretches
JITTER = 0.25  # how far an example may stray in an epoch, in batches


@dataclass(frozen=True)
class Part:
    """Which examples of every batch are this process's own, where several train one model: each `of`-th from `index` on."""

    index: int = 0
    of: int = 1

    def batch(self, indices: Any, make: Callable[[Any], Any]) -> Any:
        """The batch of its own examples. Where there are none, of the first one: all processes must compute something, and
        what is `idle` counts nothing."""
        own = indices[self.index :: self.of]
        return make(own) if len(own) else replace(make(indices[:1]), idle=True)


ALL = Part()


class BatchSource(Protocol):
    """Where training batches come from; `state` is all that `restore` needs to go on exactly there."""

    part: Part
    """What of every batch this process takes; the state does not depend on it."""

    @property
    def epoch(self) -> int:
        """Passes over the data so far, where there are such."""
        ...

    def next(self) -> Any: ...
    def state(self) -> dict[str, int]: ...
    def restore(self, state: Mapping[str, int]) -> None: ...
    def steps(self, epochs: float) -> int:
        """How many batches so many epochs are."""
        ...


class Encoded(Protocol):
    """Encoded examples: the lengths that batches are planned by, and the batch of some of them."""

    def __len__(self) -> int: ...
    def lengths_of(self, indices: Integers) -> Integers: ...
    def batch(self, indices: Integers) -> Any: ...


class Reordered:
    """Encoded examples in another order, in which some may come more than once."""

    def __init__(self, corpus: Encoded, order: Integers) -> None:
        self.corpus, self.order = corpus, order

    def __len__(self) -> int:
        return len(self.order)

    def lengths_of(self, indices: Integers) -> Integers:
        """How long the examples in these places are."""
        return self.corpus.lengths_of(self.order[indices])

    def batch(self, indices: Integers) -> Any:
        """The batch of these places of the order."""
        return self.corpus.batch(self.order[indices])

    def in_epoch(self, seed: int, epoch: int) -> "Reordered":
        """The same as this epoch sees it."""
        return Reordered(in_epoch(self.corpus, seed, epoch), self.order)


def in_epoch(corpus: Any, seed: int, epoch: int) -> Any:
    """Encoded examples as this epoch of training sees them: changed at random, where a reader does so."""
    return corpus.in_epoch(seed, epoch) if hasattr(corpus, "in_epoch") else corpus


class PlannedBatches:
    """Batches of like length, epoch after epoch.

    Of very many examples some are planned together, a group; which, is drawn anew in each epoch. `position` is the number
    of the group times GROUP, and of the batch in the group: no other group must be planned to go on from there.
    """

    def __init__(self, corpus: Encoded, *, batch_tokens: int, batch_size: int = 0, seed: int = 0) -> None:
        self.corpus, self.seed, self.part = corpus, seed, ALL
        self.alike, self.budget = batch_size > 0, batch_size or batch_tokens
        self.epoch = self.position = 0
        self._plan: tuple[tuple[int, int], list[Integers]] = ((-1, 0), [])

    def next(self) -> Any:
        """The next batch; after the last of a group comes the first of the next, and after the last group an epoch."""
        many = len(self.corpus) > WHOLE
        group, place = divmod(self.position, GROUP) if many else (0, self.position)
        if place >= len(self._batches(group)):
            group, place = group + 1, 0
            if group >= groups(len(self.corpus)):
                self.epoch, group = self.epoch + 1, 0
        indices = self._batches(group)[place]
        self.position = group * GROUP + place + 1
        return self.part.batch(indices, in_epoch(self.corpus, self.seed, self.epoch).batch)

    def _batches(self, group: int) -> list[Integers]:
        if self._plan[0] != (self.epoch, group):
            self._plan = ((self.epoch, group), self._planned(self.epoch, group))
        if not self._plan[1]:
            raise DataError("there is nothing to train on: the training data is empty")
        return self._plan[1]

    def _planned(self, epoch: int, group: int) -> list[Integers]:
        """The batches of one group."""
        own = grouped(len(self.corpus), self.seed, epoch, group)
        lengths = np.ones(len(own), dtype=np.int64) if self.alike else self.corpus.lengths_of(own)
        return [own[batch] for batch in plan(lengths, self.budget, self.seed, epoch, group)]

    def state(self) -> dict[str, int]:
        """Where it stands."""
        return {"epoch": self.epoch, "position": self.position}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from there."""
        self.epoch, self.position = state["epoch"], state["position"]

    def steps(self, epochs: float) -> int:
        """As many as the first epoch has, times the epochs."""
        planned = (len(self._planned(0, group)) for group in range(groups(len(self.corpus))))
        return max(1, math.ceil(epochs * sum(planned)))


def groups(count: int) -> int:
    """In how many groups so many examples are planned."""
    return 1 if count <= WHOLE else -(-count // GROUP)


def grouped(count: int, seed: int, epoch: int, group: int) -> Integers:
    """The indices of the examples of a group: all, or blocks of neighbors that are drawn for it; each comes in one group."""
    if count <= WHOLE:
        return np.arange(count)
    blocks = -(-count // BLOCK)
    order = np.argsort(uniform(_philox(seed, epoch, 0), blocks), kind="stable")
    own = np.sort(order[group * (GROUP // BLOCK) : (group + 1) * (GROUP // BLOCK)])
    indices = (own[:, None] * BLOCK + np.arange(BLOCK)).reshape(-1)
    return indices[indices < count]


def _philox(seed: int, *purpose: int) -> np.random.Philox:
    # Philox's raw numbers stay the same in every version of numpy, which is not promised of what is drawn through Generator.
    return np.random.Philox(np.random.SeedSequence(seed, spawn_key=purpose))


def plan(lengths: NDArray[np.integer], max_tokens: int, seed: int, epoch: int, group: int = 0) -> list[Integers]:
    """The batches of one epoch, or of one group of its examples, each the indices of its examples; every index comes once.

    `lengths` is (N,) or (N, 2), source and target. Rows × (longest source + longest target) of a batch is at most
    `max_tokens`; an example that is longer than this by itself stands alone.
    """
    sources, targets = _columns(lengths)
    if max_tokens < 1 or seed < 0 or epoch < 0:
        raise UsageError(f"expected max_tokens ≥ 1, seed ≥ 0, epoch ≥ 0, got {max_tokens}, {seed}, {epoch}")
    # What is longer than a batch stands alone whatever its length; cut here, it cannot overflow a product below.
    sources, targets = np.minimum(sources, max_tokens + 1), np.minimum(targets, max_tokens + 1)
    philox = _philox(seed, epoch, *([group] if group else []))
    order = _order(sources, targets, max_tokens, uniform(philox, len(sources)))
    ends = _ends(sources[order], targets[order], max_tokens)
    batches = [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [batches[index] for index in np.argsort(uniform(philox, len(batches)), kind="stable")]


def padding_share(lengths: NDArray[np.integer], batches: Sequence[Integers]) -> float:
    """The share of a plan's places that hold padding and not a token."""
    if not batches:
        return 0.0
    sources, targets = _columns(lengths)
    rows = np.array([len(batch) for batch in batches])
    order, starts = np.concatenate(batches), np.cumsum(rows) - rows
    longest = np.maximum.reduceat(sources[order], starts) + np.maximum.reduceat(targets[order], starts)
    places = int((rows * longest).sum())
    return 1 - int((sources + targets)[order].sum()) / places if places else 0.0


def cut(order: Iterable[int], lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Batches of examples that come in the order of their lengths: rows × longest of each is at most the budget."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _columns(lengths: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Source and target lengths; a single column counts as the target, along which examples are sorted."""
    lengths = np.asarray(lengths)
    if lengths.ndim not in (1, 2) or (lengths.ndim == 2 and lengths.shape[1] != 2):
        raise ShapeError(f"expected lengths of shape (N,) or (N, 2), got {lengths.shape}")
    if lengths.size and (lengths.dtype.kind not in "iu" or lengths.min() < 0):
        raise ShapeError(f"expected lengths that are whole and not negative, got {lengths.dtype} from {lengths.min()}")
    whole = lengths.astype(np.int64)
    return (whole[:, 0], whole[:, 1]) if lengths.ndim == 2 else (np.zeros_like(whole), whole)


def _order(sources: Integers, targets: Integers, max_tokens: int, chance: Floats) -> Integers:
    """All indices so that neighbors have like source and target lengths: along the target, strip of sources after strip.

    Every second strip runs backwards, so that a batch across the border of two strips has like targets, too.
    Whole lengths with less than one added keep their order, and equal ones change places by chance; in thin regions
    the added part is larger, and neighboring batches exchange examples between epochs.
    """
    strips, straying = _strips(sources, targets, max_tokens)
    along = targets + np.maximum(straying, 1.0) * chance
    width = float(along.max(initial=0.0)) + 1
    return np.argsort(np.where(strips % 2 == 0, along, width - along) + strips * width, kind="stable")


def _strips(sources: Integers, targets: Integers, max_tokens: int) -> tuple[Integers, Floats]:
    """The strip of each example, and how far it may stray along it.

    In a strip of width w with n examples over T target lengths, a batch of R rows spans w sources and R·T/n targets.
    Together this is least where both are equal: a strip grows, source length by source length, until w·n ≥ R·T.
    """
    values, which, counts = np.unique(sources, return_inverse=True, return_counts=True)
    means = np.bincount(which, targets) / np.maximum(counts, 1)
    deviations = np.bincount(which, np.abs(targets - means[which]))
    rows = max_tokens / np.maximum(values + means, 1)
    strip_of_value = np.zeros(len(values), dtype=np.int64)
    stray_of_value = np.zeros(len(values))
    first, strip, count, spread = 0, 0, 0, 0.0
    for last, (value, here, deviation) in enumerate(zip(values.tolist(), counts.tolist(), deviations.tolist(), strict=True)):
        count, spread = count + here, spread + SPREAD * deviation
        span = float(rows[last]) * spread / count
        strip_of_value[last] = strip
        if last == len(values) - 1 or (value - int(values[first]) + 1) * count >= span:
            stray_of_value[first : last + 1] = JITTER * span / count
            first, strip, count, spread = last + 1, strip + 1, 0, 0.0
    return strip_of_value[which], stray_of_value[which]


def _ends(sources: Integers, targets: Integers, max_tokens: int) -> list[int]:
    """Where each batch of the ordered examples ends: as late as its budget allows."""
    # The first row's length bounds how many rows there can be, so that each step looks only at a short window.
    bounds: list[int] = (max_tokens // np.maximum(sources + targets, 1)).tolist()
    rows = np.arange(1, max(bounds, default=0) + 1)
    ends: list[int] = []
    start, total = 0, len(sources)
    while start < total:
        window = slice(start, start + bounds[start])
        longest = np.maximum.accumulate(sources[window]) + np.maximum.accumulate(targets[window])
        fits = int(np.count_nonzero(longest * rows[: len(longest)] <= max_tokens))
        start += max(fits, 1)
        ends.append(start)
    return ends
