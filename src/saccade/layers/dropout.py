"""Dropout (Srivastava et al. 2014): of numbers, cheap on a CPU (the mask is drawn in 16-bit steps), and of words."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from saccade.attention.fused import drop
from saccade.attention.operator import check_dropout


class Dropout(nn.Module):
    """Strikes numbers out in training, and scales the others up; a chance is rounded to a multiple of 1/65536."""

    def __init__(self, chance: float) -> None:
        super().__init__()
        check_dropout(chance)
        self.chance = chance

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.chance) if self.training and self.chance > 0 else x


class WordDropout(nn.Module):
    """Reads so many words as `unknown` in training. Else nothing would teach what to make of words that were never seen,
    where each training word is known.

    Shapes: words (B, K) -> (B, K)
    """

    def __init__(self, share: float, unknown: int) -> None:
        super().__init__()
        check_dropout(share)
        self.share, self.unknown = share, unknown

    def forward(self, words: Int[Tensor, "B K"]) -> Int[Tensor, "B K"]:
        if not (self.training and self.share):
            return words
        return words.masked_fill(torch.rand(words.shape, device=words.device) < self.share, self.unknown)
