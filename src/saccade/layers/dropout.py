"""Dropout that costs little on a CPU (Srivastava et al. 2014): the mask is drawn in 16-bit steps."""

from torch import Tensor, nn

from saccade.attention.fused import drop


class Dropout(nn.Module):
    """Strikes numbers out in training, and scales the others up; a chance is rounded to a multiple of 1/65536."""

    def __init__(self, chance: float) -> None:
        super().__init__()
        self.chance = chance

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.chance) if self.training and self.chance > 0 else x
