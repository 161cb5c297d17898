"""Point clouds by equivariant layers (Zaheer et al. 2017).

Reads: the points of a cloud, in no order, by their coordinates.
Attends: in every layer each point to the largest of each feature among all points.
Writes: a label, from the largest of each feature at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from saccade.config import Positive, Share
from saccade.data.tensors import BagInput
from saccade.errors import ShapeError
from saccade.layers.set_layers import Equivariant, pool_named
from saccade.systems.system import BatchLook, Labeler, Recorded, cosine

READS, WRITES = "bag", "label"
DEFAULTS = {"train": cosine(600, 2e-3, every=100, patience=4) | {"batch_tokens": 6400}}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes; the defaults are the authors'."""

    hidden_size: Positive = 256
    "Features of a point in every layer."
    num_layers: Positive = 3
    "Equivariant layers."
    pool: Literal["max", "mean"] = "max"
    "What points have in common in each layer, and how they become one in the end."
    dropout: Share = 0.5
    "Dropout of the pooled cloud and before the label."


def attends(config: Config) -> bool:
    """No point is weighed against others."""
    return False


class Model(Labeler):
    """Equivariant layers with tanh, a pool, and two layers that read it."""

    def __init__(self, config: Config, shape: tuple[int, ...], labels: int) -> None:
        super().__init__()
        if len(shape) != 1:
            raise ShapeError(f"point_cloud: expected points as rows of coordinates, got items of shape {shape}")
        widths = [shape[0]] + [config.hidden_size] * (config.num_layers - 1)
        self.layers = nn.ModuleList(Equivariant(width, config.hidden_size, config.pool) for width in widths)
        self.pool = pool_named(config.pool)
        drop = nn.Dropout(config.dropout)
        middle = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Sequential(drop, middle, nn.Tanh(), drop, nn.Linear(config.hidden_size, labels))

    def logits(self, input: BagInput) -> Float[Tensor, "B labels"]:
        points = input.items
        for layer in self.layers:
            points = layer(points, input.sizes).tanh()
        logits: Tensor = self.output(self.pool(points, input.sizes))
        return logits

    def looks(self, input: BagInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """No point is weighed against others."""
        return []
