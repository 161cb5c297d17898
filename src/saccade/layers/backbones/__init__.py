"""Networks that others have trained to read pictures, from a directory in Hugging Face's layout, as grids of features.

A frozen one reads every picture once, outside of the model, which is given features (`FeatureGrid`); one that is fine-tuned
is a part of the model (`BackboneGrid`). Either way a system has (B, cells, D), `grid` and `features`, as from `PictureGrid`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from saccade.errors import DataError
from saccade.layers.backbones import resnet, vit
from saccade.layers.picture_grid import PictureGrid

CONFIG, PREPROCESSOR, TENSORS = "config.json", "preprocessor_config.json", "model.safetensors"
FAMILIES: Mapping[str, Any] = {"resnet": resnet, "vit": vit}
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Backbone:
    """A published network: its family, its config as published, how pixels (0 to 1) are standardized, and whether it stays
    as it is."""

    family: str
    config: Mapping[str, Any]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    frozen: bool = True

    @property
    def channels(self) -> int:
        """Of the pictures that it reads."""
        return int(self.config.get("num_channels", 3))

    def network(self) -> nn.Module:
        """It, without its parameters: pixels (B, C, H, W) -> (B, D, rows, columns)."""
        network: nn.Module = FAMILIES[self.family].network(self.config)
        return network.eval()

    def loaded(self, tensors: Tensors) -> nn.Module:
        """It, with these."""
        network = self.network()
        network.load_state_dict(tensors)
        return network.requires_grad_(not self.frozen)


def opened(directory: str, *, frozen: bool) -> tuple[Backbone, Tensors]:
    """The network of a directory, and its parameters by our names."""
    place = Path(directory).expanduser()
    config = _json(place / CONFIG)
    family = config.get("model_type", "")
    if family not in FAMILIES:
        raise DataError(
            f"{place / CONFIG}: expected model_type {' or '.join(FAMILIES)}, got {family!r}; name another directory"
        )
    shown = _json(place / PREPROCESSOR) if (place / PREPROCESSOR).exists() else {}
    mean, deviation = (
        tuple(shown.get(key, usual)) for key, usual in zip(("image_mean", "image_std"), FAMILIES[family].PIXELS, strict=True)
    )
    backbone = Backbone(family, config, mean, deviation, frozen)
    return backbone, _tensors(place, backbone)


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; name a directory with a ResNet or ViT in Hugging Face's layout") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}); download it again") from None
    return found


def _tensors(place: Path, backbone: Backbone) -> Tensors:
    """The parameters of the network alone: what stands behind it, a classifier say, is left out."""
    path = place / TENSORS
    with torch.device("meta"):
        wanted = backbone.network().state_dict()
    try:
        stored = load_file(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; save the model with save_pretrained, as safetensors") from None
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: cannot be read as safetensors ({error}); download it again") from None
    found = {name.removeprefix(f"{backbone.family}."): tensor for name, tensor in stored.items()}
    missing = [name for name, own in wanted.items() if name not in found or found[name].shape != own.shape]
    if missing:
        expected = f"{missing[0]} {tuple(wanted[missing[0]].shape)} and {len(missing) - 1} more as its config says"
        raise DataError(f"{path}: expected {expected}; take the file that belongs to it")
    return {name: found[name].to(own.dtype) for name, own in wanted.items()}


class FeatureGrid(nn.Module):
    """Features that a frozen network has computed, as cells.

    Shapes: (B, D, rows, columns) -> (B, rows · columns, D), row by row
    """

    def __init__(self, features: int, rows: int, columns: int) -> None:
        super().__init__()
        self.features, self.grid = features, (rows, columns)

    def forward(self, pixels: Float[Tensor, "B D rows columns"]) -> Float[Tensor, "B K D"]:
        return pixels.flatten(2).transpose(1, 2).contiguous()


class BackboneGrid(nn.Module):
    """A published network that is trained on. Statistics of batch normalization stay those that it came with.

    Shapes: pixels (B, C, H, W) -> (B, rows · columns, features), row by row
    """

    def __init__(self, backbone: Backbone, height: int, width: int) -> None:
        super().__init__()
        self.network = backbone.network()
        self.features, *grid = shape_of(backbone, height, width)
        self.grid = (grid[0], grid[1])

    def train(self, mode: bool = True) -> "BackboneGrid":
        super().train(mode)
        for part in self.network.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.eval()
        return self

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K D"]:
        cells: Tensor = self.network(pixels).flatten(2).transpose(1, 2).contiguous()
        return cells


def shape_of(backbone: Backbone, height: int, width: int) -> tuple[int, int, int]:
    """Features, rows and columns that the network makes of a picture, found without computing any."""
    with torch.device("meta"), torch.no_grad():
        found = backbone.network()(torch.empty(1, backbone.channels, height, width))
    return found.shape[1], found.shape[2], found.shape[3]


def grid_reader(
    backbone: Backbone | None, channels: int, height: int, width: int, first: int, num_stages: int, max_shift: int = 0
) -> PictureGrid | FeatureGrid | BackboneGrid:
    """The network that reads pictures for a system: its own small one, or one that is published."""
    if backbone is None:
        return PictureGrid(channels, height, width, first, num_stages, max_shift)
    return FeatureGrid(channels, height, width) if backbone.frozen else BackboneGrid(backbone, height, width)
