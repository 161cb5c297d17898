"""The odd one out of a set, by equivariant layers and a margin (Zaheer et al. 2017).

Reads: the items of a set, rows of features or pictures, each by itself.
Attends: in every layer each item to what all of them have in common, their mean or their maximum.
Writes: which item does not belong: a score for each, that of the odd one above all others by a margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import attend_edges, bags
from saccade.config import Positive, Rate, Share
from saccade.data.tensors import BagInput, Batch
from saccade.layers.image_encoders import lenet
from saccade.layers.pooling import bag_sums
from saccade.layers.set_layers import Equivariant, owners
from saccade.systems.system import BatchLook, Output, RaggedLook, Recorded, System, cosine

READS, WRITES = "bag", "item"
DEFAULTS = {"train": cosine(1500, 1e-3, every=150, patience=4) | {"batch_tokens": 256}}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and the margin."""

    hidden_size: Positive = 128
    "Width of what is read of an item, and of the layers."
    num_layers: Positive = 2
    "Equivariant layers before the score."
    pool: Literal["max", "mean", "sum"] = "mean"
    "What all items of a set have in common."
    margin: Rate = 1.0
    "By how much the score of the odd one must be above that of every other."
    dropout: Share = 0.0
    "Dropout before each layer."


class Model(System):
    """Each item read, equivariant layers, and a score for each item."""

    def __init__(self, config: Config, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.margin = config.margin
        self.reader = lenet(shape, config.hidden_size) if len(shape) > 1 else nn.Linear(shape[0], config.hidden_size)
        self.layers = nn.ModuleList(
            Equivariant(config.hidden_size, config.hidden_size, config.pool) for _ in range(config.num_layers)
        )
        self.score = Equivariant(config.hidden_size, 1, config.pool)
        self.dropout = nn.Dropout(config.dropout)

    def scores(self, input: BagInput) -> Float[Tensor, " N"]:
        """How odd each item is in its set."""
        items: Tensor = self.reader(input.items)
        for layer in self.layers:
            items = layer(self.dropout(items), input.sizes).relu()
        scores: Tensor = self.score(self.dropout(items), input.sizes)
        return scores[:, 0]

    def forward(self, batch: Batch) -> Output:
        """How far f({x} ∪ X) is from f({x'} ∪ X) + Δ, x the odd one and x' any other: the mean of each set, summed."""
        sizes = batch.input.sizes
        scores, starts = self.scores(batch.input), sizes.cumsum(0) - sizes
        odd = scores[starts + batch.target.labels]
        # The odd one itself is short of the margin by exactly the margin, whatever it scores.
        short = (self.margin + scores - odd[owners(sizes, len(scores))]).clamp(min=0)
        others = bag_sums(short[:, None], sizes)[:, 0] - self.margin
        return Output((others / (sizes - 1).clamp(min=1)).sum(), len(sizes))

    def looks(self, input: BagInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """How odd each item is beside the others of its set: its score under softmax."""
        scores, query = output[:, None], output.new_ones(len(input.sizes), 1)
        weights = attend_edges(query, scores, scores, bags(input.sizes, len(output)), score="dot").weights()
        return [RaggedLook("odd", "output", "input", weights, input.sizes)]
