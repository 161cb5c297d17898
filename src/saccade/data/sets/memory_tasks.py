"""The tasks of Neural Turing Machines (Graves et al. 2014, section 4): copy, repeat copy, associative recall, priority sort.

Sequences are typed as `readers/bits.py` reads them; test sequences come in groups, as long as those of training and longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from saccade.config import Count, Positive
from saccade.data.draws import Draws
from saccade.data.examples import Example, Splits

INPUT, TARGET = str, str


@dataclass(frozen=True, kw_only=True)
class Config:
    """The task, and how much of it there is."""

    task: Literal["copy", "repeat_copy", "associative_recall", "priority_sort"] = "copy"
    "What is asked for."
    train_size: Positive = 40_000
    "Training sequences."
    valid_size: Positive = 200
    "Validation sequences, as long as those of training."
    test_size: Positive = 200
    "Test sequences of each group."
    seed: Count = 0
    "Decides which sequences are made."


# Of each task the bits of a vector, the shortest and longest training sequence, and the sizes of test groups.
SIZES = {
    "copy": (8, 1, 20, (10, 20, 30, 40)),
    "repeat_copy": (8, 1, 10, (10, 20)),
    "associative_recall": (6, 2, 6, (6, 8, 10)),
    "priority_sort": (8, 20, 20, (20,)),
}
REPEATS, ITEM, HIGHEST = (
    10,
    3,
    16,
)  # most repeats, vectors of an item, and how many vectors of the highest priority are asked for


def load(config: Config) -> Splits:
    """All three parts."""
    _, least, most, tested = SIZES[config.task]
    parts = [_part(config, part, least, most, count) for part, count in enumerate((config.train_size, config.valid_size))]
    test = [
        example
        for place, size in enumerate(tested)
        for example in _part(config, 2 + place, size, size, config.test_size, f"size {size}")
    ]
    return Splits(parts[0], parts[1], test)


def _part(config: Config, part: int, least: int, most: int, count: int, group: str = "") -> list[Example]:
    draws = Draws(config.seed, part)
    make = {
        "copy": _copy,
        "repeat_copy": _repeat_copy,
        "associative_recall": _associative_recall,
        "priority_sort": _priority_sort,
    }[config.task]
    bits = SIZES[config.task][0]
    return [Example(*make(draws, int(size), bits), group) for size in draws.whole(least, most, count)]


def _vectors(draws: Draws, count: int, bits: int) -> list[str]:
    return ["".join(map(str, row)) for row in draws.whole(0, 1, count, bits).tolist()]


def _asked(shown: Sequence[str], answer: Sequence[str]) -> tuple[str, str]:
    """The input with a point for each vector of the answer."""
    return " ".join((*shown, *("." * len(answer)))), " ".join(answer)


def _copy(draws: Draws, size: int, bits: int) -> tuple[str, str]:
    vectors = _vectors(draws, size, bits)
    return _asked((*vectors, ">"), vectors)


def _repeat_copy(draws: Draws, size: int, bits: int) -> tuple[str, str]:
    vectors, repeats = _vectors(draws, size, bits), int(draws.whole(1, REPEATS, 1)[0])
    return _asked((*vectors, f"repeat={repeats}"), vectors * repeats)


def _associative_recall(draws: Draws, size: int, bits: int) -> tuple[str, str]:
    """Items with a bar before each; one of them is shown again, and the next one is asked for."""
    items = [_vectors(draws, ITEM, bits) for _ in range(size)]
    asked = int(draws.whole(0, size - 2, 1)[0])
    shown = [word for item in items for word in ("|", *item)]
    return _asked((*shown, "?", *items[asked], ">"), items[asked + 1])


def _priority_sort(draws: Draws, size: int, bits: int) -> tuple[str, str]:
    """Vectors with priorities in [−1, 1]; those of the highest are asked for, the highest first."""
    vectors, priorities = _vectors(draws, size, bits), np.round(2 * draws.uniform(size) - 1, 4)
    order = np.argsort(-priorities, kind="stable")[:HIGHEST].tolist()
    shown = [f"{vector}@{priority:.4f}" for vector, priority in zip(vectors, priorities.tolist(), strict=True)]
    return _asked((*shown, ">"), [vectors[place] for place in order])
