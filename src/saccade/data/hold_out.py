"""Validation examples held out of the training examples, where a user's data names none."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from saccade.data.examples import Example

MOST = 2000  # examples that are held out


def hold_out(
    examples: Sequence[Example], share: float, key: Callable[[Example], bytes], *, every_label: bool = False
) -> tuple[list[Example], list[Example]]:
    """The examples in two parts, for training and for validation.

    They are taken in the order of the SHA-256 of their keys, so the choice depends neither on a seed nor on the order of
    lines, and hardly changes when examples are added. Examples with equal keys stay together: what validation sees was
    never trained on. With `every_label`, training keeps an example of every label. Nothing is held out of equal examples.
    """
    if not share or len(examples) < 2:
        return list(examples), []
    where: dict[bytes, list[int]] = {}
    for index, example in enumerate(examples):
        where.setdefault(hashlib.sha256(key(example)).digest(), []).append(index)
    labels = Counter(example.target for example in examples) if every_label else Counter[str]()

    def spared(rows: Sequence[int]) -> bool:
        """Whether training can do without these."""
        own = Counter(examples[row].target for row in rows) if every_label else Counter[str]()
        spare = not any(labels[name] <= count for name, count in own.items())
        labels.subtract(own if spare else {})
        return spare

    held, _ = taken(where, most_held(len(examples), share), spared)
    if not held and not every_label:
        held = rarest(where)
    return [one for i, one in enumerate(examples) if i not in held], [one for i, one in enumerate(examples) if i in held]


def most_held(count: int, share: float) -> int:
    """How many of so many examples are held out at most."""
    return min(max(round(share * count), 1), MOST, count - 1)


def taken(
    where: Mapping[bytes, Sequence[int]], left: int, spared: Callable[[Sequence[int]], bool] = lambda rows: True
) -> tuple[set[int], int]:
    """Rows with equal digests together, in the order of these, as many as are left to take; and how many are left then."""
    held: set[int] = set()
    for digest in sorted(where):
        if len(where[digest]) <= left and spared(where[digest]):
            held.update(where[digest])
            left -= len(where[digest])
    return held, left


def rarest(where: Mapping[bytes, Sequence[int]]) -> set[int]:
    """Where every key comes more often than wanted: the rarest, if there are others."""
    return {*where[min(sorted(where), key=lambda digest: len(where[digest]))]} if len(where) > 1 else set()
