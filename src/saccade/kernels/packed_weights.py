"""Products with weights that were laid out once for them: panels of 16 columns, in float32 or rounded to 8 bits.

Not differentiable. For texts that are written step by step: few rows meet all weights again and again, and laying the
weights out would each time cost as much as a good part of the product.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from saccade.kernels.runtime import kernels_on, run

COLUMNS = 16
# Products of 8-bit weights and rounded rows are added up in 32 bits; a row is rounded as finely as the longest sum allows.
_LARGEST_WEIGHT, _LARGEST_SUM, _FINEST = 127, 2**31 - 1, 8191


class PackedWeight(NamedTuple):
    """A weight (N, inner) and a bias (N) in panels; `scales` where the numbers are 8-bit ones.

    Shapes: numbers (P, inner, 16), or (P, inner / 2, 32) of 8 bits, two of the inner dimension side by side; bias and scales
    (16 P)
    """

    width: int
    inner: int
    numbers: Tensor
    bias: Tensor
    scales: Tensor | None = None


def panels_on(x: Tensor) -> bool:
    """Whether `times` takes this."""
    return kernels_on(x) and not (torch.is_grad_enabled() and x.requires_grad)


def laid_out(weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> PackedWeight:
    """These weights in float32."""
    width, inner = weight.shape
    count = -(-width // COLUMNS)
    numbers = torch.empty(count, inner, COLUMNS)
    run("pack", weight.detach().t().numpy(), numbers.numpy())
    return PackedWeight(width, inner, numbers, _padded(bias, width))


def rounded(weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> PackedWeight:
    """These weights in whole numbers from −127 to 127, each row with a scale of its own."""
    width, inner = weight.shape
    scales = weight.detach().abs().amax(1) / _LARGEST_WEIGHT if inner else weight.new_zeros(width)
    whole = (weight.detach() / scales.clamp_min(torch.finfo(torch.float32).tiny)[:, None]).round().to(torch.int8)
    pairs = -(-inner // 2)
    numbers = torch.zeros(-(-width // COLUMNS), COLUMNS, pairs, 2, dtype=torch.int8)
    numbers.view(-1, 2 * pairs)[:width, :inner] = whole
    turned = numbers.transpose(1, 2).reshape(len(numbers), pairs, 2 * COLUMNS)
    return PackedWeight(width, inner, turned, _padded(bias, width), _padded(scales, width))


def _padded(values: Tensor | None, width: int) -> Tensor:
    padded = torch.zeros(-(-width // COLUMNS) * COLUMNS)
    if values is not None:
        padded[:width] = values.detach()
    return padded


def times(x: Float[Tensor, "... I"], panels: PackedWeight, lowest: float = -np.inf) -> Float[Tensor, "... N"]:
    """max(x W' + b, lowest); 0 as the lowest makes it a ReLU."""
    rows = x.detach().reshape(math.prod(x.shape[:-1]), panels.inner)
    out = rows.new_empty(len(rows), panels.width)
    if panels.inner == 0:
        return out.copy_(panels.bias[: panels.width].clamp_min(lowest)).view(*x.shape[:-1], panels.width)
    if len(rows) and panels.width and panels.scales is None:
        address, strides = rows.data_ptr(), rows.stride()
        run("product", address, *strides, panels.numbers.numpy(), panels.bias.numpy(), np.float32(lowest), out.numpy())
    elif len(rows) and panels.width:
        whole, own = _rounded_rows(rows, panels)
        arrays = [part.numpy() for part in (whole, own, panels.numbers, panels.scales, panels.bias) if part is not None]
        run("byte_product", *arrays, np.float32(lowest), out.numpy())
    return out.view(*x.shape[:-1], panels.width)


def _rounded_rows(rows: Tensor, panels: PackedWeight) -> tuple[Tensor, Tensor]:
    """Each row in whole numbers, and its scale."""
    limit = min(_FINEST, _LARGEST_SUM // (_LARGEST_WEIGHT * panels.inner))
    whole = torch.empty(len(rows), 2 * panels.numbers.shape[1], dtype=torch.int16)
    scales = rows.new_empty(len(rows))
    run("round_rows", rows.contiguous().numpy(), np.float32(limit), whole.numpy(), scales.numpy())
    return whole, scales
