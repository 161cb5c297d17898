"""Batches of pictures as tensors."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class LabeledPictures:
    """Standardized pictures and the number of the label of each.

    Shapes: pictures (B, C, height, width), in memory pixel by pixel (channels last), label (B)
    """

    pictures: Float[Tensor, "B C height width"]
    label: Int[Tensor, " B"]

    @property
    def tokens(self) -> int:
        """How many labels there are to write."""
        return len(self.label)
