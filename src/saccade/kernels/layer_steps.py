"""One step of several hypotheses through all layers of a Transformer that writes, in one compiled call.

Its meaning is `step` of the layers one after another (`saccade.layers.transformer_blocks`). Not differentiable.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.kernels.packed_weights import ACTIVATIONS, PackedWeight
from saccade.kernels.runtime import run

FIELDS = 46  # numbers of a layer in the table: weights of six, norms and pools of two
NOTHING: Sequence[int] = (0,) * 6


class StepLayer(NamedTuple):
    """What one layer computes with: weights of its products, and of each norm a weight and a bias; no cross, no query.

    Shapes: joint (D, 3D), back, query, read (D, D), into (D, F), out (F, D), norms (2, D)
    """

    joint: PackedWeight
    back: PackedWeight
    query: PackedWeight | None
    read: PackedWeight | None
    into: PackedWeight
    out: PackedWeight
    mixed: Tensor
    crossed: Tensor | None
    worked: Tensor

    def places(self) -> list[int]:
        """Where all of it stands, as the compiled loop reads it; pools are not known yet."""
        row: list[int] = []
        for weight in self[:6]:
            row += NOTHING if weight is None else weight.places
        for norm in self[6:]:
            row += (0, 0) if norm is None else (norm[0].data_ptr(), norm[1].data_ptr())
        return [*row, 0, 0, 0, 0]


class StepShape(NamedTuple):
    """What all layers have in common."""

    heads: int
    hidden: int
    activation: str
    pre: bool
    eps: float
    scale: float


class LayerTable:
    """Layers in the form of the compiled loop, laid out once for many steps."""

    def __init__(self, layers: Sequence[StepLayer], shape: StepShape) -> None:
        self.layers, self.shape = layers, shape
        self.numbers = np.array([layer.places() for layer in layers], dtype=np.int64)
        assert self.numbers.shape == (len(layers), FIELDS)

    def step(
        self,
        x: Float[Tensor, "N D"],
        pools: Sequence[tuple[Tensor, Tensor]],
        first: int,
        places: Int[Tensor, "N T"],
        kept: Sequence[tuple[Tensor, Tensor]] = (),
        kept_places: Int[Tensor, "B K"] | None = None,
        counts: Int[Tensor, " B"] | None = None,
        lengths: Int[Tensor, " N"] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What the last layer leaves (N, D); all layers' queries for what was written, and for what was read (L, N, D).

        The keys and values of these rows join each layer's pools from row `first` on; row n attends to the first
        lengths[n] of its places, None: to all. `kept` are those that were read, of which N / B hypotheses share the first
        `counts` of a list of places.
        """
        table, shape, out = self.numbers.copy(), self.shape, x.detach().clone(memory_format=torch.contiguous_format)
        table[:, 42:44] = [[key.data_ptr(), value.data_ptr()] for key, value in pools]
        written = out.new_empty(len(table), *out.shape)
        read = out.new_empty(len(table) if kept else 0, *out.shape)
        if kept:
            table[:, 44:46] = [[key.data_ptr(), value.data_ptr()] for key, value in kept]
        nowhere = torch.zeros(0, 0, dtype=torch.int32)
        read_at, many = nowhere if kept_places is None else kept_places, nowhere.flatten() if counts is None else counts
        written_many = torch.full((len(out),), places.shape[1]) if lengths is None else lengths
        joint = self.layers[0].joint
        sizes = (shape.heads, shape.hidden, ACTIVATIONS.index(shape.activation), int(shape.pre), joint.form)
        numbers = (np.float32(shape.eps), np.float32(shape.scale), np.float32(joint.limit))
        arrays = [part.contiguous().numpy() for part in (read_at, many, written, read)]
        written_at = [part.int().contiguous().numpy() for part in (places, written_many)]
        run("layer_steps", out.numpy(), table, sizes, numbers, *written_at, first, *arrays)
        return out, written, read
