"""Networks that see all of a picture at once, the controls of the recurrent attention model (Mnih et al. 2014).

Reads: a picture, whole.
Attends: to nothing; every pixel costs the same.
Writes: a label.
"""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Positive, Share
from saccade.data.tensors import PictureInput
from saccade.errors import UsageError
from saccade.layers.linear import Linear
from saccade.systems.system import Labeler, cosine

READS, WRITES = "picture", "label"
DEFAULTS = {"train": cosine(4000, 1e-3, every=400, patience=0) | {"batch_tokens": 128, "clip": 0.0}}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes; the defaults are the paper's."""

    kind: Literal["convolutional", "fully_connected"] = "convolutional"
    "convolutional: filters, then a layer of hidden units; fully_connected: two layers of hidden units."
    hidden_size: Positive = 256
    "Units of a hidden layer."
    filters: Positive = 8
    "Filters of the convolution."
    filter_size: Positive = 10
    "Height and width of a filter in pixels."
    stride: Positive = 5
    "Pixels from one place of a filter to the next."
    dropout: Share = 0.0
    "Dropout of hidden units."


def attends(config: Config) -> bool:
    """All pixels are read alike."""
    return False


class Model(Labeler):
    """Filters or a hidden layer, a hidden layer, and the label; rectified units."""

    def __init__(self, config: Config, channels: int, height: int, width: int, labels: int) -> None:
        super().__init__()
        hidden, pixels = config.hidden_size, channels * height * width
        self.filters: nn.Conv2d | None = None
        if config.kind == "convolutional":
            if config.filter_size > min(height, width):
                raise UsageError(f"filter_size: expected at most {min(height, width)} pixels, got {config.filter_size}")
            self.filters = nn.Conv2d(channels, config.filters, config.filter_size, config.stride)
            rows, columns = ((size - config.filter_size) // config.stride + 1 for size in (height, width))
            layers = [Linear(config.filters * rows * columns, hidden)]
        else:
            layers = [Linear(pixels, hidden), Linear(hidden, hidden)]
        self.hidden = nn.ModuleList(layers)
        self.dropout = nn.Dropout(config.dropout)
        self.label = Linear(hidden, labels)

    def logits(self, input: PictureInput) -> Float[Tensor, "B labels"]:
        x = input.pixels if self.filters is None else F.relu(self.filters(input.pixels))
        x = x.flatten(1)
        for layer in self.hidden:
            x = self.dropout(F.relu(layer(x)))
        logits: Tensor = self.label(x)
        return logits
