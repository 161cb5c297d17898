"""How a Neural Turing Machine finds a place of its memory: by content, by the last place, by a shift (Graves et al. 2014).

The scores are cosines of keys and rows of the memory. What a head does with them, figure 2 of the paper, is a normalizer:
softmax of the cosines times β, mixed with the last weights by g, turned in a circle by s, and sharpened by γ.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from saccade.attention import Group, Normalizer


class Address(NamedTuple):
    """What heads say of where they go.

    Shapes: key (B, H, M), strength (B, H, 1), gate (B, H, 1), shift (B, H, 2S + 1), sharpness (B, H, 1)
    """

    key: Float[Tensor, "B H M"]
    strength: Float[Tensor, "B H 1"]
    gate: Float[Tensor, "B H 1"]
    shift: Float[Tensor, "B H _"]
    sharpness: Float[Tensor, "B H 1"]

    @classmethod
    def sizes(cls, width: int, most: int) -> list[int]:
        """How many numbers each part takes, for rows of this width and shifts of at most so many places."""
        return [width, 1, 1, 2 * most + 1, 1]

    @classmethod
    def of(cls, numbers: Float[Tensor, "B H _"], width: int, most: int) -> "Address":
        """From the controller's numbers: β > 0, g in (0, 1), s a distribution, γ ≥ 1."""
        key, strength, gate, shift, sharpness = numbers.split(cls.sizes(width, most), -1)
        return cls(key.tanh(), F.softplus(strength), gate.sigmoid(), shift.softmax(-1), 1 + F.softplus(sharpness))


class Addressing(Normalizer):
    """Weights of heads from cosines, their address, and the weights before (equations 5 to 9)."""

    def __init__(self, address: Address, before: Float[Tensor, "B H N"]) -> None:
        super().__init__()
        self.address, self.before = address, before

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        content = group.softmax(self.address.strength * scores)
        mixed = self.address.gate * content + (1 - self.address.gate) * self.before
        return sharpened(shifted_in_circle(mixed, self.address.shift), self.address.sharpness)


def shifted_in_circle(weights: Float[Tensor, "B H N"], shift: Float[Tensor, "B H _"]) -> Float[Tensor, "B H N"]:
    """Σ_j w(j) s(i − j), places in a circle: the first of 2S + 1 shifts goes S places back."""
    most = shift.shape[-1] // 2
    turned = [torch.roll(weights, step, -1) for step in range(-most, most + 1)]
    return (torch.stack(turned, -1) * shift[..., None, :]).sum(-1)


def sharpened(weights: Float[Tensor, "B H N"], sharpness: Float[Tensor, "B H 1"]) -> Float[Tensor, "B H N"]:
    """w^γ / Σ w^γ; the largest weight is made 1 before, so that no sum vanishes."""
    peak = weights.detach().amax(-1, keepdim=True).clamp(min=1e-30)
    powers = (weights / peak).clamp(min=1e-12) ** sharpness
    return powers / powers.sum(-1, keepdim=True)
