"""A residual network with squeeze and excitation, or self-attention (He et al. 2016; Hu et al. 2018; Zhang et al. 2019).

Reads: a picture, by convolutions with a way around each two of them.
Attends: every block, from the mean of each channel, to its channels; after a stage, if asked for, every place to all places.
Writes: a label, from the mean over all places of what the last block let through.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Count, Positive, Share
from saccade.data.tensors import PictureInput
from saccade.errors import UsageError
from saccade.layers.picture_grid import convolution, shifted
from saccade.layers.spatial_attention import SpatialAttention
from saccade.layers.squeeze_excitation import SqueezeExcitation
from saccade.systems.system import BatchLook, Labeler, Recorded, cosine

READS, WRITES = "picture", "label"
DEFAULTS = {
    "model": {"flip": 0.0},
    "writer": {"label_smoothing": 0.1},
    "train": cosine(1500, 0.05, every=100, patience=6)
    | {"batch_tokens": 64, "warmup": 100, "optimizer": "sgd", "weight_decay": 5e-4},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and whether blocks have gates."""

    excitation: Literal["se", "none"] = "se"
    "se: squeeze and excitation at the end of each block; none: the plain network, the control."
    self_attention: Count = 0
    "Stage after which every place attends to all places; 0: none."
    reduction: Positive = 16
    "How many times narrower the layer is that the gates come from; the paper's r."
    channels: Positive = 32
    "Channels of the first stage; every further stage has twice as many."
    num_stages: Positive = 3
    "Parts of the network; the picture is halved from each to the next."
    num_blocks: Positive = 1
    "Blocks of two convolutions in each stage."
    stride: Literal[1, 2] = 2
    "Of the first stage. 1: it is as large as the picture; 2: half as high and half as wide, and quicker."
    flip: Share = 0.5
    "Chance that a picture is mirrored, left to right, in training."
    max_shift: Count = 2
    "Pixels that a picture is shifted by at most, in both directions, in training."


def attends(config: Config) -> bool:
    """Whether channels are weighed, or places."""
    return config.excitation == "se" or config.self_attention > 0


class Block(nn.Module):
    """Two convolutions, gated, and the way around them.

    Shapes: x (B, C, height, width) -> (B, channels, height / stride, width / stride)
    """

    def __init__(self, config: Config, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(before, channels, stride=stride)
        self.second = convolution(channels, channels)
        self.excitation = SqueezeExcitation(channels, config.reduction) if config.excitation == "se" else None
        self.stride = stride
        same = before == channels and stride == 1
        self.around = None if same else convolution(before, channels, size=1)

    def forward(self, x: Float[Tensor, "B C height width"]) -> Float[Tensor, "B _ _ _"]:
        residual = self.second(F.relu(self.first(x)))
        if self.excitation is not None:
            residual = self.excitation(residual)
        # A 1 × 1 convolution with a stride is one without, of fewer places. The backward of the former writes beyond its
        # memory where channels lie last and are no multiple of 8 (torch 2.13, oneDNN, AVX2).
        return F.relu(residual + (x if self.around is None else self.around(x[:, :, :: self.stride, :: self.stride])))


class Model(Labeler):
    """Stages of blocks, the mean over all places, and a linear layer."""

    def __init__(self, config: Config, channels: int, height: int, width: int, labels: int) -> None:
        super().__init__()
        _check(config, height, width)
        self.config = config
        widths = [config.channels * 2**stage for stage in range(config.num_stages)]
        first = max(1, config.channels // config.stride)  # before the picture is halved a channel costs most
        self.stem = convolution(channels, first)
        self.stages = nn.ModuleList(
            nn.Sequential(
                *(
                    Block(config, own if block else before, own, 1 if block else 2 if stage else config.stride)
                    for block in range(config.num_blocks)
                )
            )
            for stage, (before, own) in enumerate(zip([first, *widths], widths, strict=False))
        )
        self.attention = SpatialAttention(widths[config.self_attention - 1]) if config.self_attention else None
        self.grid = _grid(config, height, width) if config.self_attention else None
        self.output = nn.Linear(widths[-1], labels)

    def logits(self, input: PictureInput) -> Float[Tensor, "B labels"]:
        x = shifted(input.pixels, self.config.max_shift, self.config.flip) if self.training else input.pixels
        x = F.relu(self.stem(x))
        for number, stage in enumerate(self.stages, 1):
            x = stage(x)
            if self.attention is not None and number == self.config.self_attention:
                x = self.attention(x)
        logits: Tensor = self.output(x.mean((2, 3)))
        return logits

    def looks(self, input: PictureInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The gates of each block over its channels, and the places over all places."""
        weights = {name: seen[-1].weights()[:, None] for name, seen in recorded.items()}
        places = [BatchLook("self-attention", "input", "input", weights.pop("attention"))] if self.attention else []
        gates_of = {_block(name): gates for name, gates in weights.items()}
        gates = [BatchLook(name, "output", f"{own.shape[-1]} channels", own) for name, own in gates_of.items()]
        return [*places, *gates]


def _block(name: str) -> str:
    """The name of a block as people count: `stages.0.1.excitation` is stage 1 block 2."""
    _, stage, block, _ = name.split(".")
    return f"stage {int(stage) + 1} block {int(block) + 1}"


def _grid(config: Config, height: int, width: int) -> tuple[int, int]:
    """Rows and columns of the stage that attends."""
    halved = config.stride * 2 ** (config.self_attention - 1)
    return -(-height // halved), -(-width // halved)


def _check(config: Config, height: int, width: int) -> None:
    """Whether the stage that attends is there, and more than one place left at the end: a batch of one needs a spread."""
    if config.self_attention > config.num_stages:
        raise UsageError(f"self_attention: expected one of the {config.num_stages} stages, got {config.self_attention}")
    least = config.stride * 2 ** (config.num_stages - 1) + 1
    if min(height, width) < least:
        limit = f"{config.num_stages} stages halve a picture to one place"
        wanted = f"expected at least {least} × {least} pixels, got {height} × {width}"
        raise UsageError(f"{limit}: {wanted}; set model.num_stages")
