"""Validation examples held out of the training examples, where a user's data names none."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

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
    left = min(max(round(share * len(examples)), 1), MOST, len(examples) - 1)
    labels = Counter(example.target for example in examples)
    held: set[int] = set()
    for digest in sorted(where):
        own = Counter(examples[index].target for index in where[digest])
        if len(where[digest]) <= left and not (every_label and any(labels[name] <= count for name, count in own.items())):
            held.update(where[digest])
            left -= len(where[digest])
            labels.subtract(own)
    if not held and len(where) > 1 and not every_label:  # every key comes more often than wanted: the rarest
        held.update(where[min(sorted(where), key=lambda digest: len(where[digest]))])
    return [one for i, one in enumerate(examples) if i not in held], [one for i, one in enumerate(examples) if i in held]
