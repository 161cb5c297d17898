"""Which positions of padded sequences hold something."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def live(lengths: Int[Tensor, "..."], size: int) -> Bool[Tensor, "... T"]:
    """True at the positions of each sequence, False in its padding; on the device of the lengths."""
    return torch.arange(size, device=lengths.device) < lengths[..., None]
