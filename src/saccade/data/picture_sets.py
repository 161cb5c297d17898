"""Sets of pictures that are put together only when they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from saccade.data.examples import Bag, Example

Integers = NDArray[np.int64]
Found = tuple[NDArray[np.uint8], Integers]  # pictures and their classes
HELD_OUT = 5000  # pictures of a training part that only validation sees


@dataclass(frozen=True, eq=False)
class PictureSets(Sequence[Example]):
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
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> "PictureSets": ...
    def __getitem__(self, place: int | slice) -> "Example | PictureSets":
        if isinstance(place, slice):
            listed = (self.chosen[place], self.marks[place], self.targets[place], self.groups[place])
            return PictureSets(self.pictures, *listed)
        items = (self.pictures[self.chosen[place]] / 255).astype(np.float32)
        return Example(Bag(items, self.marks[place]), self.targets[place], self.groups[place], f"{place}")


def held_out(found: Found) -> tuple[Found, Found]:
    """Training pictures, and others for validation."""
    images, labels = found
    first = len(labels) - min(HELD_OUT, len(labels) // 2)
    return (images[:first], labels[:first]), (images[first:], labels[first:])
