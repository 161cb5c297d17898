"""Sets: batches of them as tensors, without padding; and sets of pictures that are put together only when they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.examples import Bag

Integers = NDArray[np.int64]
Found = tuple[NDArray[np.uint8], Integers]  # pictures and their classes
HELD_OUT = 5000  # pictures of a training part that only validation sees


@dataclass(frozen=True)
class SetBatch:
    """The items of all sets one after the other, how many of them belong to each, and what is to be said of each set.

    Shapes: items (N) numbers of words, or (N, …) features; sizes (B); target (B) a number, or the number of a word
    """

    items: Tensor
    sizes: Int[Tensor, " B"]
    target: Tensor

    @property
    def tokens(self) -> int:
        """How many sets there are."""
        return len(self.target)


def set_batch(items: Sequence[NDArray[Any]], targets: NDArray[Any]) -> SetBatch:
    """One batch of these sets."""
    sizes = torch.tensor([len(one) for one in items])
    return SetBatch(torch.from_numpy(np.concatenate(items)), sizes, torch.from_numpy(targets))


def alike(sizes: Integers) -> Integers:
    """Lengths to plan batches by in which sets of all sizes come together: nothing is padded, and small sets that came
    alone would pull the other way than large ones."""
    return np.full(len(sizes), max(1, round(float(sizes.mean()))) if len(sizes) else 1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PictureSets(Sequence[Bag]):
    """Bags of pictures of a collection, each bag known by the numbers of its pictures: all together would not fit memory.

    Shapes: pictures (P, height, width); for each bag chosen (n) and marks (n), what is known of each
    """

    pictures: NDArray[np.uint8]
    chosen: Sequence[Integers]
    marks: Sequence[Integers]
    targets: Sequence[str]
    groups: Sequence[str]

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, place: int) -> Bag: ...
    @overload
    def __getitem__(self, place: slice) -> "PictureSets": ...
    def __getitem__(self, place: int | slice) -> "Bag | PictureSets":
        if isinstance(place, slice):
            listed = (self.chosen[place], self.marks[place], self.targets[place], self.groups[place])
            return PictureSets(self.pictures, *listed)
        items = (self.pictures[self.chosen[place]] / 255).astype(np.float32)
        return Bag(items, self.targets[place], self.marks[place], self.groups[place], name=f"{place}")


def held_out(found: Found) -> tuple[Found, Found]:
    """Pictures to learn from, and some others to choose by."""
    images, labels = found
    first = len(labels) - min(HELD_OUT, len(labels) // 2)
    return (images[:first], labels[:first]), (images[first:], labels[first:])
