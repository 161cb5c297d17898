"""How a file has parameters that are not one tensor of its own each: transposed, or several of ours joined in one tensor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TensorLayout:
    """Where a file has one of our parameters: a tensor, or one of the equal parts that a tensor joins."""

    part: int = 0
    "Which of the parts it is; parts are joined along our first dimension."
    parts: int = 1
    "How many are joined."
    transposed: bool = False
    "Whether the file has inputs down and outputs across, as Conv1D of GPT-2's authors."
    by_head: bool = False
    "Whether the file has heads and the numbers of each as two dimensions, as XLNet's authors."

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the tensor in the file, of which a part has `shape`."""
        whole = (shape[0] * self.parts, *shape[1:])
        return whole[::-1] if self.transposed else whole

    def taken(self, stored: Tensor) -> Tensor:
        """Our part of the tensor in the file, which is flat."""
        return (stored.t() if self.transposed else stored).chunk(self.parts)[self.part]

    def flat(self, stored: Tensor) -> Tensor:
        """The tensor in the file without a dimension of its own for heads."""
        return stored.flatten(1) if self.by_head and stored.dim() > 2 else stored

    def stored(self, parts: Sequence[Tensor]) -> Tensor:
        """The tensor in the file, of all parts in their order."""
        whole = torch.cat([*parts]) if self.parts > 1 else parts[0]
        return (whole.t() if self.transposed else whole).contiguous()


PLAIN = TensorLayout()


def layout_of(layouts: Mapping[str, TensorLayout], name: str) -> TensorLayout:
    """That of one of our parameters, by what its name ends with."""
    return next((layout for ending, layout in layouts.items() if name.endswith(ending)), PLAIN)


def stored_tensors(
    ours: Mapping[str, Tensor], layouts: Mapping[str, TensorLayout], renamed: Callable[[str], str]
) -> dict[str, Tensor]:
    """Our parameters as a file has them; `renamed` gives the name there."""
    joined: dict[str, dict[int, tuple[TensorLayout, Tensor]]] = {}
    for name, tensor in ours.items():
        layout = layout_of(layouts, name)
        joined.setdefault(renamed(name), {})[layout.part] = (layout, tensor)
    return {
        name: parts[0][0].stored([parts[number][1] for number in range(parts[0][0].parts)]) for name, parts in joined.items()
    }
