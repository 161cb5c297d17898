"""Sets of pictures that are put together only when they are read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from saccade.data.examples import Bag, Example, Picture, digest

Integers = NDArray[np.int64]
Found = tuple[NDArray[np.uint8], Integers]  # pictures and their classes
Draw = Callable[[Integers], NDArray[np.uint8]]  # the pictures with these numbers, (n, height, width)
HELD_OUT = 5000  # pictures of a training part that only validation sees
SAMPLED = 1000  # drawn pictures that a fingerprint is of


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


class DrawnPicture(Picture):
    """A picture that is drawn whenever its pixels are wanted."""

    __slots__ = ("_draw", "_number")
    _draw: Draw
    _number: int

    def __init__(self, draw: Draw, number: int) -> None:
        object.__setattr__(self, "_draw", draw)
        object.__setattr__(self, "_number", number)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The picture, (height, width)."""
        (picture,) = self._draw(np.array([self._number]))
        return np.asarray(picture)


@dataclass(frozen=True, eq=False)
class DrawnPictures(Sequence[Picture]):
    """Pictures by their numbers, of which a batch is drawn in one go: no two epochs need show the same ones."""

    draw: Draw
    numbers: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return DrawnPictures(self.draw, self.numbers[place])
        return DrawnPicture(self.draw, int(self.numbers[place]))

    def pixels(self, places: Integers) -> NDArray[np.uint8]:
        """Those in these places, (n, height, width)."""
        return self.draw(self.numbers[places])


@dataclass(frozen=True, eq=False)
class DrawnExamples(Sequence[Example]):
    """Labeled pictures that are drawn when they are wanted."""

    inputs: DrawnPictures
    targets: Sequence[str]

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return DrawnExamples(self.inputs[place], self.targets[place])
        return Example(self.inputs[place], self.targets[place], name=f"{self.inputs.numbers[place]}")

    @cached_property
    def fingerprint(self) -> str:
        """That of all numbers and labels, and of some of the pictures: all of them would take minutes."""
        some = self.inputs.pixels(np.linspace(0, len(self) - 1, min(len(self), SAMPLED)).astype(np.int64))
        return digest((self.inputs.numbers.tobytes(), "\0".join(self.targets).encode(), some.tobytes()))


def held_out(found: Found) -> tuple[Found, Found]:
    """Training pictures, and others for validation."""
    images, labels = found
    first = len(labels) - min(HELD_OUT, len(labels) // 2)
    return (images[:first], labels[:first]), (images[first:], labels[first:])
