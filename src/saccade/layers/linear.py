"""Linear maps that know when their weights are at rest, and multiply faster then.

Inside `at_rest()` nobody changes a weight. What is multiplied there has its weights laid out once, for all products of the
block; on request they are rounded to 8 bits. Outside, and where gradients are wanted, a map is `torch.nn.Linear`.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.kernels.packed_weights import PackedWeight, laid_out, panels_on, rounded, times
from saccade.kernels.runtime import traced
from saccade.kernels.wide_products import linear

Precision = Literal["float32", "int8"]


class _Store:
    """Packed weights of maps that were asked for, and the maps themselves, so that nobody takes their place."""

    def __init__(self, precision: Precision) -> None:
        self.make = laid_out if precision == "float32" else rounded
        self.kept: dict[tuple[int, ...], tuple[PackedWeight, Sequence[nn.Linear]]] = {}

    def of(self, maps: Sequence[nn.Linear]) -> PackedWeight:
        key = tuple(id(layer.weight) for layer in maps)
        if key not in self.kept:
            self.kept[key] = (self.make(*joined(maps)), maps)
        return self.kept[key][0]


_store: ContextVar[_Store | None] = ContextVar("weights at rest", default=None)


class at_rest:  # noqa: N801 (read as a word of the language: with at_rest():)
    """For this block no weight changes; a block inside another one goes on with what is laid out, in its precision."""

    def __init__(self, precision: Precision = "float32") -> None:
        self.precision: Precision = precision

    def __enter__(self) -> None:
        self._token = _store.set(_store.get() or _Store(self.precision))

    def __exit__(self, *_: object) -> None:
        _store.reset(self._token)


def joined(maps: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """The weight and the bias of several maps of one tensor as one map."""
    if len(maps) == 1:
        return maps[0].weight, maps[0].bias
    bias = None if maps[0].bias is None else torch.cat([layer.bias for layer in maps])
    return torch.cat([layer.weight for layer in maps]), bias


def resting(maps: Sequence[nn.Linear], x: Tensor) -> PackedWeight | None:
    """The panels of these maps of x, if weights are at rest and no gradient is wanted."""
    if traced() or torch.is_grad_enabled():  # first: torch cannot trace a context variable
        return None
    store = _store.get()
    if store is None or not panels_on(x) or maps[0].weight.dtype != x.dtype:
        return None
    return store.of(maps)


class Linear(nn.Linear):
    """`torch.nn.Linear`, faster while weights are at rest.

    Shapes: (…, in) -> (…, out)
    """

    def forward(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... N"]:
        panels = resting((self,), x)
        return linear(x, self.weight, self.bias) if panels is None else times(x, panels)
