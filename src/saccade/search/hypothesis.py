"""What search gives back: a text that was written, how likely it was, and where was looked while writing it."""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from saccade.search.protocol import Keys


def divisor(length: int | Tensor, penalty: float) -> Tensor:
    """What a log-probability is divided by to rank texts of different lengths: length ** penalty, kept finite.

    0 ranks by the plain sum, which favors short texts; 1 by the mean over the tokens, the end token among them.
    """
    power = torch.as_tensor(length, dtype=torch.float64) ** penalty
    return power.clamp(max=torch.finfo(torch.float64).max)


@dataclass(frozen=True)
class HypothesisLook:
    """Where was looked while one text was written, one row per token written; a step with fewer keys has 0 for the rest.

    Shapes: weights (heads, steps, keys)
    """

    name: str
    keys: Keys
    weights: Tensor


@dataclass(frozen=True)
class Hypothesis:
    """One text for one input.

    `log_prob` is the sum over its tokens as the writer gave them, the end token included; it is ranked by `score`.
    `finished` is false where the length limit came before the end token. `looks` is empty unless requested; the
    end token has a row of its own. `log_probs` are those of the single tokens, the end token's last.
    """

    tokens: list[int]
    log_prob: float
    score: float
    finished: bool
    looks: list[HypothesisLook]
    log_probs: list[float]

    def until(self, size: int) -> "Hypothesis":
        """Its first tokens alone, as a text that has not ended."""
        looks = [replace(look, weights=look.weights[:, :size]) for look in self.looks]
        log_probs = self.log_probs[:size]
        total = math.fsum(log_probs)
        return replace(self, tokens=self.tokens[:size], log_prob=total, finished=False, looks=looks, log_probs=log_probs)
