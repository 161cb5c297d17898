"""Where the nucleus of a distribution ends (Holtzman et al. 2020): the least of the likeliest that together reach a share.

Its meaning is `nucleus_definition`, which sorts; the kernel counts by the bits of the numbers instead.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.kernels.runtime import kernels_on, run


def least_of_nucleus(likely: Float[Tensor, "N M"], share: float) -> Float[Tensor, "N 1"]:
    """In each row of numbers ≥ 0, the least of the fewest large ones that together reach this share of the whole; NaN where
    a number is NaN."""
    if not kernels_on(likely) or not likely.is_contiguous() or likely.numel() == 0:
        return nucleus_definition(likely, share)
    least = likely.new_empty(len(likely), 1)
    run("nucleus", likely.numpy(), share, least.numpy())
    return least


def nucleus_definition(likely: Float[Tensor, "N M"], share: float) -> Float[Tensor, "N 1"]:
    """The same in plain torch."""
    ordered = likely.sort(descending=True).values
    reached = ordered.cumsum(-1, dtype=torch.float64)
    beyond = reached - ordered >= share * reached[..., -1:]
    return ordered.masked_fill(beyond, float("inf")).amin(-1, keepdim=True)
