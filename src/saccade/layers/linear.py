"""Linear maps that know when their weights are at rest, and multiply faster then.

Inside `at_rest()` nobody changes a weight. What is multiplied there has its weights laid out once, for all products of the
block; on request they are rounded to 8 or 4 bits. Outside, and where gradients are wanted, a map is `torch.nn.Linear`.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.kernels.packed_weights import PackedWeight, laid_out, panels_on, rounded, rounded_in_groups, times
from saccade.kernels.runtime import traced
from saccade.kernels.wide_products import linear

Precision = Literal["float32", "int8", "int4"]
MAKERS = {"float32": laid_out, "int8": rounded, "int4": rounded_in_groups}


class OutputWeights(NamedTuple):
    """Weight and bias of an output layer that is no module of its own."""

    weight: Tensor
    bias: Tensor | None


Map = nn.Linear | nn.Embedding | OutputWeights


class WeightStore:
    """Packed weights of maps that were asked for, and the maps themselves, so that nobody takes their place."""

    def __init__(self, precision: Precision = "float32") -> None:
        self.precision = precision
        self.kept: dict[tuple[int, ...], tuple[PackedWeight, Sequence[Map]]] = {}

    def of(self, maps: Sequence[Map], *, finest: bool = False) -> PackedWeight:
        """The panels of several maps of one tensor; the finest are not rounded further than to 8 bits."""
        key = tuple(id(part) for layer in maps for part in (layer.weight, getattr(layer, "bias", None)))
        if key not in self.kept:
            make = MAKERS["int8" if finest and self.precision == "int4" else self.precision]
            self.kept[key] = (make(*joined(maps)), maps)
        return self.kept[key][0]


_store: ContextVar[WeightStore | None] = ContextVar("weights at rest", default=None)


class at_rest:  # noqa: N801 (read as a word of the language: with at_rest():)
    """For this block no weight changes; a block inside another one goes on with what is laid out, in its precision."""

    def __init__(self, precision: Precision = "float32", store: WeightStore | None = None) -> None:
        self.precision: Precision = precision
        self.store = store

    def __enter__(self) -> None:
        self._token = _store.set(self.store or _store.get() or WeightStore(self.precision))

    def __exit__(self, *_: object) -> None:
        _store.reset(self._token)


def store_at_rest() -> WeightStore:
    """What is laid out in this block, or, outside of any, room for a search of its own."""
    return _store.get() or WeightStore()


def joined(maps: Sequence[Map]) -> tuple[Tensor, Tensor | None]:
    """The weight and the bias of several maps of one tensor as one map."""
    biases = [getattr(layer, "bias", None) for layer in maps]
    if len(maps) == 1:
        return maps[0].weight, biases[0]
    bias = None if biases[0] is None else torch.cat(biases)  # type: ignore[arg-type]
    return torch.cat([layer.weight for layer in maps]), bias


def resting(maps: Sequence[Map], x: Tensor, *, finest: bool = False) -> PackedWeight | None:
    """The panels of these maps of x, if weights are at rest and no gradient is wanted."""
    if traced() or torch.is_grad_enabled():  # first: torch cannot trace a context variable
        return None
    store = _store.get()
    if store is None or not panels_on(x) or maps[0].weight.dtype != x.dtype:
        return None
    return store.of(maps, finest=finest)


def rounded_at_rest(output: OutputWeights, x: Tensor) -> PackedWeight | None:
    """The panels of an output layer, where weights are at rest in less than float32; else they would be no quicker here."""
    store = None if traced() else _store.get()
    rounded = store is not None and store.precision != "float32"
    return resting((output,), x, finest=True) if rounded else None


def logits(x: Float[Tensor, "... D"], output: Map) -> Float[Tensor, "... V"]:
    """The output layer: a map to the vocabulary, or its tokens' vectors. Never rounded to 4 bits, which costs most here."""
    panels = resting((output,), x, finest=True)
    return linear(x, *joined((output,))) if panels is None else times(x, panels)


class Linear(nn.Linear):
    """`torch.nn.Linear`, faster while weights are at rest.

    Shapes: (…, in) -> (…, out)
    """

    def forward(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... N"]:
        panels = resting((self,), x)
        return linear(x, self.weight, self.bias) if panels is None else times(x, panels)
