"""Products with weights that were laid out once for them: panels of 48 columns, in float32 or rounded to 8 or to 4 bits.

Not differentiable. For texts that are written step by step: few rows meet all weights again and again, and laying the
weights out would each time cost as much as a good part of the product.
"""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.runtime import kernels_on, run

PANEL = 48  # columns side by side
GROUP = 32  # numbers of 4 bits that share a scale
FLOATS, BYTES, NIBBLES = range(3)
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "swish")
# Products of whole numbers and rounded rows are added up in 32 bits; a row is rounded as finely as the longest sum allows.
_LARGEST_BYTE, _LARGEST_NIBBLE, _LARGEST_SUM, _FINEST = 127, 7, 2**31 - 1, 8191


class PackedWeight:
    """A weight (N, inner) and a bias (N) in panels; `scales` where the numbers are rounded.

    Shapes: numbers (P, inner, 48) of float32; (P, inner / 2, 96) of 8 bits, two of the inner dimension side by side; or
    (P, inner / 4, 96) of 4 bits, in each byte one number and the next but one. bias (48 P); scales (48 P), or of groups
    (P, inner / 32, 48)
    """

    def __init__(
        self, width: int, inner: int, form: int, numbers: Tensor, bias: Tensor, scales: Tensor | None = None
    ) -> None:
        self.width, self.inner, self.form = width, inner, form
        self.numbers, self.bias, self.scales = numbers, bias, scales

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Form, addresses of numbers, bias and scales, inner dimension and width, as the compiled loops want them."""
        scales = 0 if self.scales is None else self.scales.data_ptr()
        return self.form, self.numbers.data_ptr(), self.bias.data_ptr(), scales, self.inner, self.width

    @property
    def limit(self) -> int:
        """The largest number of a rounded row."""
        return min(_FINEST, _LARGEST_SUM // (_LARGEST_BYTE * self.inner))

    @property
    def padded(self) -> int:
        """Numbers of a rounded row: whole pairs, or groups."""
        return -(-self.inner // 2) * 2 if self.form == BYTES else -(-self.inner // GROUP) * GROUP


def panels_on(x: Tensor) -> bool:
    """Whether `times` takes this."""
    return kernels_on(x) and not (torch.is_grad_enabled() and x.requires_grad)


def laid_out(weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> PackedWeight:
    """These weights in float32."""
    weight = _with_numbers(weight)
    width, inner = weight.shape
    numbers = np.empty((-(-width // PANEL), inner, PANEL), np.float32)  # on large pages
    run("pack", weight.t().numpy(), numbers)
    return PackedWeight(width, inner, FLOATS, torch.from_numpy(numbers), _padded(bias, width))


def rounded(weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> PackedWeight:
    """These weights in whole numbers from −127 to 127, each row with a scale of its own."""
    weight = _with_numbers(weight)
    width, inner = weight.shape
    whole, scales = byte_steps(weight)
    pairs = -(-inner // 2)
    numbers = torch.zeros(-(-width // PANEL), PANEL, pairs, 2, dtype=torch.int8)
    numbers.view(-1, 2 * pairs)[:width, :inner] = whole
    turned = _on_large_pages(numbers.transpose(1, 2).reshape(len(numbers), pairs, 2 * PANEL))
    return PackedWeight(width, inner, BYTES, turned, _padded(bias, width), _padded(scales, width))


def byte_steps(weight: Float[Tensor, "N I"]) -> tuple[Tensor, Tensor]:
    """Each row as whole numbers, and its scale (N): weight ≈ whole · scale."""
    scales = weight.abs().amax(1) / _LARGEST_BYTE
    return _steps(weight, scales[:, None]), scales


def rounded_in_groups(weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> PackedWeight:
    """These weights in whole numbers from −7 to 7, each 32 numbers of a row with a scale of their own."""
    weight = _with_numbers(weight)
    width, inner = weight.shape
    whole, scales = nibble_steps(weight)
    panels, groups = -(-width // PANEL), scales.shape[1]
    numbers, sizes = torch.zeros(panels * PANEL, groups * GROUP, dtype=torch.int8), torch.zeros(panels * PANEL, groups)
    numbers[:width], sizes[:width] = whole, scales
    low, high = numbers.view(panels, PANEL, -1, 2, 2).permute(3, 0, 2, 1, 4)
    both = (low & 15) | (high << 4)
    turned = _on_large_pages(both.reshape(panels, -1, 2 * PANEL))
    turned_sizes = sizes.view(panels, PANEL, groups).transpose(1, 2).contiguous()
    return PackedWeight(width, inner, NIBBLES, turned, _padded(bias, width), turned_sizes)


def nibble_steps(weight: Float[Tensor, "N I"]) -> tuple[Tensor, Tensor]:
    """Each row as whole numbers, zeros behind it up to a whole group, and the scales of its groups (N, I / 32)."""
    groups = F.pad(weight, (0, -weight.shape[1] % GROUP)).unflatten(1, (-1, GROUP))
    scales = groups.abs().amax(2) / _LARGEST_NIBBLE
    return _steps(groups, scales[..., None]).flatten(1), scales


def _steps(weight: Tensor, scales: Tensor) -> Tensor:
    return (weight / scales.clamp_min(torch.finfo(torch.float32).tiny)).round().to(torch.int8)


def _with_numbers(weight: Tensor) -> Tensor:
    """Rows of nothing become rows of one zero, so that the loops always have a step to take."""
    return weight.detach() if weight.shape[1] else weight.new_zeros(len(weight), 1)


def _on_large_pages(numbers: Tensor) -> Tensor:
    """The same in memory of NumPy, which asks the system for large pages; torch does not."""
    return torch.from_numpy(np.empty(numbers.shape, np.int8)).copy_(numbers)


def _padded(values: Tensor | None, width: int) -> Tensor:
    padded = torch.zeros(-(-width // PANEL) * PANEL)
    if values is not None:
        padded[:width] = values.detach()
    return padded


def times(x: Float[Tensor, "... I"], panels: PackedWeight, activation: str = "none") -> Float[Tensor, "... N"]:
    """activation(x W' + b)."""
    rows = x.detach().reshape(math.prod(x.shape[:-1]), x.shape[-1])
    out = rows.new_empty(len(rows), panels.width)
    if out.numel():
        kept = _Rows.of(rows if x.shape[-1] else rows.new_zeros(len(rows), 1), panels)
        run("product", panels.places, kept.places, ACTIVATIONS.index(activation), (out.data_ptr(), panels.width))
    return out.view(*x.shape[:-1], panels.width)


class _Rows(NamedTuple):
    """Rows as a product reads them: their numbers, and their scales if they are rounded."""

    numbers: Tensor
    scales: Tensor | None

    @classmethod
    def of(cls, rows: Tensor, panels: PackedWeight) -> "_Rows":
        if panels.form == FLOATS:
            return cls(rows, None)
        whole, scales = torch.empty(len(rows), panels.padded, dtype=torch.int16), rows.new_empty(len(rows))
        run("round_rows", rows.contiguous().numpy(), np.float32(panels.limit), whole.numpy(), scales.numpy())
        return cls(whole, scales)

    @property
    def places(self) -> tuple[int, ...]:
        scales = 0 if self.scales is None else self.scales.data_ptr()
        return self.numbers.data_ptr(), *self.numbers.stride(), scales, len(self.numbers)
