"""Attention of the hypotheses of a search over keys and values that they share, found by their place in a pool.

What a hypothesis has written so far is a list of places in the pool, one a step. Reordering hypotheses reorders these
lists; no key or value is ever moved. Not differentiable: for writing only.
"""

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from saccade.kernels.runtime import kernels_on, run


def beams_on(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the kernel takes these."""
    return kernels_on(query, key, value) and not query.requires_grad and key.is_contiguous() and value.is_contiguous()


def pool_beams(
    query: Float[Tensor, "N D"],
    key: Float[Tensor, "R D"],
    value: Float[Tensor, "R D"],
    rows: Int[Tensor, "M T"],
    counts: Int[Tensor, " M"],
    heads: int,
    scale: float,
) -> Float[Tensor, "N D"]:
    """softmax(scale · q·k) v for each head over the first `counts` places of `rows`; N / M queries share a list of places.

    Rows with no place give zeros. Its meaning is `attend` over the gathered keys and values.
    """
    context = query.new_empty(query.shape)
    arrays = [part.detach().contiguous().numpy() for part in (query, key, value, rows, counts)]
    run("beams_forward", *arrays, heads, np.float32(scale), context.numpy())
    return context
