"""The vision transformer (Dosovitskiy et al. 2021) as Hugging Face's classes `ViT…` store it: names and config are theirs.

The features of a cell are those of its patch after the last layer norm; the class token is left out.
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend
from saccade.errors import DataError

PIXELS = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))  # mean and deviation where nothing else is said


class PatchAttention(nn.Module):
    """Every patch looks at all. Shapes: (B, N, D) -> (B, N, D)"""

    def __init__(self, width: int, heads: int, *, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.attention = nn.ModuleDict({name: nn.Linear(width, width, bias=bias) for name in ("query", "key", "value")})
        self.output = nn.ModuleDict({"dense": nn.Linear(width, width)})

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        parts = [
            self.attention[name](x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
        ]
        context = attend(*parts, score="scaled_dot").context
        out: Tensor = self.output["dense"](context.transpose(1, 2).flatten(2))
        return out


class PatchLayer(nn.Module):
    """Self-attention and two maps, each behind a layer norm and with a way around. Shapes: (B, N, D) -> (B, N, D)"""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, inner, eps = config["hidden_size"], config["intermediate_size"], config.get("layer_norm_eps", 1e-12)
        self.layernorm_before, self.layernorm_after = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention = PatchAttention(width, config["num_attention_heads"], bias=config.get("qkv_bias", True))
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = nn.ModuleDict({"dense": nn.Linear(inner, width)})

    def forward(self, x: Float[Tensor, "B N D"]) -> Float[Tensor, "B N D"]:
        x = x + self.attention(self.layernorm_before(x))
        out: Tensor = x + self.output["dense"](F.gelu(self.intermediate["dense"](self.layernorm_after(x))))
        return out


class Embeddings(nn.Module):
    """Patches as vectors, the class token before them, and where each stands. Shapes: (B, C, H, W) -> (B, 1 + patches, D)"""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, size, self.image_size = config["hidden_size"], config["patch_size"], config["image_size"]
        self.grid = (self.image_size // size, self.image_size // size)
        projection = nn.Conv2d(config.get("num_channels", 3), width, size, size)
        self.patch_embeddings = nn.ModuleDict({"projection": projection})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position_embeddings = nn.Parameter(torch.zeros(1, 1 + self.grid[0] * self.grid[1], width))

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B N D"]:
        size, got = self.image_size, tuple(pixels.shape[2:])
        if got != (size, size):
            raise DataError(
                f"this ViT reads pictures of {size} × {size} pixels, got {got[0]} × {got[1]}; set data.size={size}"
            )
        patches = self.patch_embeddings["projection"](pixels).flatten(2).transpose(1, 2)
        return torch.cat((self.cls_token.expand(len(pixels), -1, -1), patches), 1) + self.position_embeddings


class VisionTransformer(nn.Module):
    """Shapes: pixels (B, C, H, W) -> (B, D, rows, columns)"""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        layers = nn.Sequential(*(PatchLayer(config) for _ in range(config["num_hidden_layers"])))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.layernorm = nn.LayerNorm(config["hidden_size"], config.get("layer_norm_eps", 1e-12))

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D _ _"]:
        patches = self.layernorm(self.encoder["layer"](self.embeddings(pixels)))[:, 1:]
        out: Tensor = patches.transpose(1, 2).unflatten(2, self.embeddings.grid)
        return out


def network(config: Mapping[str, Any]) -> VisionTransformer:
    """That of a config.json."""
    try:
        if config.get("hidden_act", "gelu") != "gelu":
            raise DataError(f"hidden_act: expected gelu, got {config['hidden_act']!r}; take another ViT")
        return VisionTransformer(config)
    except (KeyError, TypeError) as error:
        raise DataError(f"config.json: expected the sizes of a ViT ({error}); take the file as it is published") from None
