"""The layers of a Transformer that writes step by step, and what a search keeps of them from one step to the next.

Where all layers are of the ordinary kind, their weights are laid out at the first step, and a step of all hypotheses
through all of them is one compiled call (`saccade.kernels.layer_steps`). Otherwise layer comes after layer.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules import module as modules

from saccade.attention import ScaledDot, Softmax
from saccade.attention.masks import Causal
from saccade.kernels.layer_steps import LayerTable, StepLayer, StepShape
from saccade.kernels.packed_weights import ACTIVATIONS
from saccade.kernels.runtime import kernels_on
from saccade.layers.cache import KeyValueCache, KeyValues, Past
from saccade.layers.linear import Map, at_rest, logits, store_at_rest
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, Residual, SelfAttention

Layer = EncoderLayer | DecoderLayer
Weights = Callable[[], Tensor]


class LayersOutput(NamedTuple):
    """What the last layer leaves, and how to see where each layer looked in what was written, and in what was read."""

    output: Float[Tensor, "B W D"]
    written: Sequence[Weights]
    read: Sequence[Weights]


class WritingLayers:
    """Layers with the keys and values of all hypotheses of a search."""

    def __init__(self, layers: Sequence[Any], laid: "Laid | None" = None) -> None:
        self.layers: Sequence[Layer] = layers
        self.laid = laid or Laid(layers)
        self.caches = [layer.mixer.start() for layer in layers]

    def fresh(self) -> "WritingLayers":
        """The same layers, before the first position."""
        return WritingLayers(self.layers, self.laid)

    @property
    def used(self) -> int:
        """Rows that each layer's pools have."""
        used: int = self.caches[0].used
        return used

    def step(self, x: Float[Tensor, "B W D"], past: Past, memory: Sequence[KeyValues] = ()) -> LayersOutput:
        """The newest position of B × W hypotheses, or of a prompt the last W positions of B × 1.

        `past` has their places, `memory` each layer's keys and values of what was read.
        """
        newest = x.shape[1] == past.places.shape[1]
        if newest and self.laid.takes(x) and all(kept.key.is_contiguous() and kept.value.is_contiguous() for kept in memory):
            return self._at_once(x, past, memory)
        with at_rest(store=self.laid.store):
            return self._one_by_one(x, past, memory)

    def logits(self, x: Float[Tensor, "B W D"], output: Map) -> Float[Tensor, "B W V"]:
        """What an output layer makes of what the layers left."""
        with at_rest(store=self.laid.store):
            return logits(x, output)

    def _one_by_one(self, x: Tensor, past: Past, memory: Sequence[KeyValues]) -> LayersOutput:
        written: list[Weights] = []
        read: list[Weights] = []
        for number, (layer, cache) in enumerate(zip(self.layers, self.caches, strict=True)):
            if isinstance(layer, DecoderLayer):
                x, own, other = layer.step(x, past, cache, memory[number])
                read.append(other.weights)
            else:
                own = layer.step(x, past, cache)
                x = own.output
            written.append(own.weights)
        return LayersOutput(x, written, read)

    def _at_once(self, x: Tensor, past: Past, memory: Sequence[KeyValues]) -> LayersOutput:
        rows = x.flatten(0, 1)
        first = self._room(rows)
        pools = [(cache.key.rows, cache.value.rows) for cache in self.caches]
        where: dict[str, Any] = {}
        if memory:
            places, counts = memory[0].places[:, 0], memory[0].counts
            counts = torch.full((len(places),), places.shape[1]) if counts is None else counts
            where = {
                "kept": [(kept.key, kept.value) for kept in memory],
                "kept_places": places.int(),
                "counts": counts.int(),
            }
        written_at = past.places.flatten(0, 1)
        lengths = None if past.counts is None else past.counts.repeat_interleave(x.shape[1])
        out, queries, readers = self.laid.table.step(rows, pools, first, written_at, lengths=lengths, **where)
        written = [
            partial(_weights, layer.mixer.attention, query.view(x.shape), cache, past)  # type: ignore[attr-defined]
            for layer, query, cache in zip(self.layers, queries, self.caches, strict=True)
        ]
        read = [
            partial(_kept_weights, layer.cross, query.view(x.shape), kept)  # type: ignore[arg-type]
            for layer, query, kept in zip(self.layers, readers, memory, strict=False)
        ]
        return LayersOutput(out.view(x.shape), written, read)

    def _room(self, rows: Tensor) -> int:
        """Make room in the pools for these rows' keys and values; where it begins."""
        first = self.used
        for cache in self.caches:
            cache.key.extend(rows)
            cache.value.extend(rows)
        return first


def _weights(attention: MultiHeadAttention, query: Tensor, cache: KeyValueCache, past: Past) -> Tensor:
    return _kept_weights(attention, query, cache.at(past))


def _kept_weights(attention: MultiHeadAttention, query: Tensor, kept: KeyValues) -> Tensor:
    return attention.weights_at(query, kept)


class Laid:
    """Layers in the form of the compiled call, if they have one; laid out when that is first asked for."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers: Sequence[Layer] = layers
        self.store = store_at_rest()
        self.parts = [part for layer in layers for part in layer.modules()]
        ordinary = bool(layers) and all(map(_ordinary, layers))
        self.alike = ordinary and len(set(map(_shape, layers))) == 1

    def takes(self, x: Tensor) -> bool:
        """Whether the compiled call does what the layers would do with x: nothing else stands in the way of numbers."""
        if not self.alike or not kernels_on(x) or (torch.is_grad_enabled() and x.requires_grad) or self.layers[0].training:
            return False
        if modules._has_any_global_hook():
            return False
        return not any(part._forward_hooks or part._forward_pre_hooks for part in self.parts) and self._plain

    @cached_property
    def _plain(self) -> bool:
        return all(kernels_on(weight) for layer in self.layers for weight in layer.parameters())

    @cached_property
    def table(self) -> LayerTable:
        """All weights, laid out."""
        return LayerTable([self._step_layer(layer) for layer in self.layers], _shape(self.layers[0]))

    def _step_layer(self, layer: Layer) -> StepLayer:
        attention: MultiHeadAttention = layer.mixer.attention  # type: ignore[attr-defined]
        cross = layer.cross if isinstance(layer, DecoderLayer) else None
        norms = [torch.stack((part.norm.weight.detach(), part.norm.bias.detach())) for part in _residuals(layer)]
        return StepLayer(
            self.store.of((attention.query_map, attention.key_map, attention.value_map)),
            self.store.of((attention.output_map,)),
            None if cross is None else self.store.of((cross.query_map,)),
            None if cross is None else self.store.of((cross.output_map,)),
            self.store.of((layer.network.into,)),
            self.store.of((layer.network.out,)),
            norms[0],
            None if cross is None else norms[1],
            norms[-1],
        )


def _ordinary(layer: Layer) -> bool:
    """Whether this is self-attention by a scaled dot product and a softmax, perhaps cross-attention, and a network."""
    mixer, network = layer.mixer, layer.network
    if not isinstance(mixer, SelfAttention) or not isinstance(mixer.mask(None), Causal):
        return False
    if network.split or network.activation not in ACTIVATIONS:
        return False
    looks = [mixer.attention, *([layer.cross] if isinstance(layer, DecoderLayer) else [])]
    return all(_plainly(attention) for attention in looks) and all(_normed(part) for part in _residuals(layer))


def _plainly(attention: MultiHeadAttention) -> bool:
    same = attention.query_map.in_features == attention.key_map.in_features == attention.value_map.in_features
    return type(attention.score) is ScaledDot and type(attention.normalize) is Softmax and not attention.split and same


def _normed(residual: Residual) -> bool:
    return type(residual.norm) is nn.LayerNorm and residual.norm.elementwise_affine and residual.norm.bias is not None


def _residuals(layer: Layer) -> list[Residual]:
    return [layer.mixed, *([layer.crossed] if isinstance(layer, DecoderLayer) else []), layer.worked]


def _shape(layer: Layer) -> StepShape:
    attention, network = layer.mixer.attention, layer.network  # type: ignore[attr-defined]
    residual = layer.mixed
    scale = attention.score.scale(attention.query_map.weight[:, : attention.head_width])
    return StepShape(
        attention.heads, network.into.out_features, network.activation, residual.place == "pre", residual.norm.eps, scale
    )
