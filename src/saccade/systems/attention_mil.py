"""Attention-based multiple-instance learning (Ilse et al. 2018).

Reads: a bag of instances, rows of features or pictures, each by itself.
Attends: one learned query to the instances of the bag.
Writes: the label of the bag, from the sum of its instances under those weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from saccade.config import Positive, Share
from saccade.data.tensors import BagInput
from saccade.layers.image_encoders import lenet, perceptron
from saccade.layers.pooling import BagAttention, GatedBagAttention, bag_maxima, bag_means
from saccade.systems.system import BatchLook, Labeler, RaggedLook, Recorded, cosine

READS, WRITES = "bag", "label"
DEFAULTS = {
    # A tenth of some hundred bags is too few to choose a checkpoint by: the mean of the last five (docs/defaults.md).
    "train": cosine(600, 5e-4, every=50, patience=0)
    | {"average": 5, "batch_tokens": 64, "warmup": 50, "optimizer": "adamw", "weight_decay": 0.1}
}
POOLS = {"attention": BagAttention, "gated": GatedBagAttention}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and how instances become one."""

    pool: Literal["attention", "gated", "mean", "max"] = "attention"
    "attention: w'tanh(Vx); gated: that times a gate; mean, max: the controls that weigh nothing."
    attention_size: Positive = 64
    "Size of the layer that scores instances."
    hidden_sizes: tuple[int, ...] = (256, 128, 64)
    "Layers that read a row of features; of pictures, the last number is the width after LeNet's two convolutions."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    dropout: Share = 0.5
    "Dropout after each linear layer."


def attends(config: Config) -> bool:
    """Whether instances are weighed."""
    return config.pool in POOLS


class Model(Labeler):
    """Each instance read, all of a bag pooled, and a linear layer."""

    def __init__(self, config: Config, shape: tuple[int, ...], labels: int) -> None:
        super().__init__()
        width, drop = config.hidden_sizes[-1], config.dropout
        self.reader = lenet(shape, width, drop) if len(shape) > 1 else perceptron(shape[0], config.hidden_sizes, drop)
        weighs = config.pool in POOLS
        self.pool = POOLS[config.pool](width, config.attention_size, config.normalize) if weighs else None
        self.plain = bag_maxima if config.pool == "max" else bag_means
        self.output = nn.Linear(width, labels)

    def logits(self, input: BagInput) -> Float[Tensor, "B labels"]:
        read: Tensor = self.reader(input.items)
        pooled = self.plain(read, input.sizes) if self.pool is None else self.pool(read, input.sizes)
        logits: Tensor = self.output(pooled)
        return logits

    def looks(self, input: BagInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The weight of every instance; nothing where all count alike."""
        if self.pool is None:
            return []
        return [RaggedLook("instances", "output", "input", recorded["pool"][-1].weights(), input.sizes)]
