"""Deep Sets (Zaheer et al. 2017).

Reads: the items of a set, words, rows of features or pictures, each by itself.
Attends: to all of them alike: their vectors are added up, in no order.
Writes: a number, from the sum.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Count, Positive
from saccade.data.tensors import BagInput, Batch
from saccade.data.tokenizers import Vocabulary
from saccade.layers.image_encoders import lenet
from saccade.layers.recurrent import RecurrentReader
from saccade.layers.set_layers import in_rows, pool_named
from saccade.systems.system import Output, System, cosine

READS, WRITES = "set", "number"
DEFAULTS = {
    "tokens": {"kind": "word"},
    "writer": {"metric": "mae"},
    "train": cosine(4000, 1e-2, every=200, patience=0) | {"batch_tokens": 640},
}
LOSSES = {"absolute": F.l1_loss, "huber": F.smooth_l1_loss, "squared": F.mse_loss}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and how items become one."""

    hidden_sizes: tuple[Positive, ...] = (100, 30)
    "Layers that read an item; the first is the width of a word's vector, or what LeNet makes of a picture."
    pool: Literal["sum", "mean", "max", "lstm"] = "sum"
    "How items become one. sum, mean, max: in no order; lstm: one after the other, the control."
    hidden_size: Count = 0
    "Width of a layer between the sum and the number; 0: none, and what holds for small sets holds for large ones."
    loss: Literal["absolute", "huber", "squared"] = "absolute"
    "What an error costs: its size; its size where it is large and its square where it is small; or its square."


def attends(config: Config) -> bool:
    """All items count alike, or none is looked at."""
    return False


class Model(System):
    """ρ(Σ φ(x)): φ reads an item, ρ says the number."""

    def __init__(self, config: Config, source: Vocabulary | None, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_sizes[-1]
        self.items = item_reader(config.hidden_sizes, source.size if source else 0, shape)
        self.reader = RecurrentReader(width, width, cell="lstm", directions=1) if config.pool == "lstm" else None
        middle = [nn.Linear(width, config.hidden_size), nn.Tanh()] if config.hidden_size else []
        self.output = nn.Sequential(*middle, nn.Linear(config.hidden_size or width, 1))

    def forward(self, batch: Batch) -> Output:
        target = batch.target.numbers
        return Output(LOSSES[self.config.loss](self.numbers(batch.input), target, reduction="sum"), len(target))

    def numbers(self, input: BagInput) -> Float[Tensor, " B"]:
        """A number for each set."""
        items: Tensor = self.items(input.items)
        numbers: Tensor = self.output(self.pooled(items, input.sizes))
        return numbers[:, 0]

    def pooled(self, items: Float[Tensor, "N D"], sizes: Tensor) -> Float[Tensor, "B D"]:
        """A vector for each set."""
        if self.reader is None:
            return pool_named(self.config.pool)(items, sizes)
        rows, there = in_rows(items, sizes)
        ends: list[Tensor] = self.reader(rows.transpose(0, 1).contiguous(), there.T.contiguous())[1]
        return ends[0]


def item_reader(widths: tuple[int, ...], words: int, shape: tuple[int, ...]) -> nn.Sequential:
    """φ: words by their vectors, rows of features by a linear layer, pictures by LeNet; then layers with tanh."""
    first: nn.Module
    if words:
        first = nn.Embedding(words, widths[0])
    else:
        first = lenet(shape, widths[0]) if len(shape) > 1 else nn.Sequential(nn.Linear(shape[0], widths[0]), nn.Tanh())
    return nn.Sequential(first, *(part for a, b in pairwise(widths) for part in (nn.Linear(a, b), nn.Tanh())))
