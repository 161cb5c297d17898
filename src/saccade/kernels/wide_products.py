"""Linear maps through oneDNN where that uses the processor's widest vectors and torch's own choice does not.

Torch multiplies by MKL, which keeps AVX-512 from AMD's processors; oneDNN, which torch has, too, does not, and is about
twice as quick there. Elsewhere, and for small products, whose call would cost more than it saves, nothing changes.
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, traced

LEAST = 1 << 21  # multiplications from which a call is repaid
AMD = "AuthenticAMD"


@cache
def vendor() -> str:
    """Who made the processor; empty where that is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="ignore").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")


@cache
def wider() -> bool:
    """Whether oneDNN has wider vectors here than MKL."""
    both = torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()
    wide = both and vendor() == AMD and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return wide and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def linear(x: Float[Tensor, "... I"], weight: Float[Tensor, "N I"], bias: Float[Tensor, " N"] | None) -> Tensor:
    """x W' + b, as `torch.nn.functional.linear`."""
    if not wide(x, weight, bias):
        return F.linear(x, weight, bias)
    # Rows: of anything else oneDNN returns a view, which nobody may change in place once it has left a Function.
    rows = applied(_Linear, x.reshape(-1, x.shape[-1]), weight, bias)
    return rows.view(*x.shape[:-1], len(weight))


def wide(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    """Whether x W' is better made by `times`: it is large enough, and of plain tensors of float32 with nobody between them
    and their numbers, neither autocast nor somebody who counts operations."""
    if traced() or not wider() or x.numel() * len(weight) < LEAST:  # while torch traces, sizes are not known
        return False
    given = (x, weight) if bias is None else (x, weight, bias)
    plain = all(type(one) in (Tensor, torch.nn.Parameter) for one in given)
    watched = torch._C._len_torch_dispatch_stack() > 0 or torch.is_autocast_enabled("cpu")
    return plain and not watched and kernels_on(*given)


def times(x: Float[Tensor, "... I"], weight: Float[Tensor, "N I"], bias: Tensor | None = None) -> Float[Tensor, "... N"]:
    """x W' + b by oneDNN; not differentiable."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, dense(weight), bias, "none", [], "")
    return product


def dense(weight: Float[Tensor, "N I"]) -> Float[Tensor, "N I"]:
    """The matrix itself, or a copy of one that is cut out of a wider one: on those oneDNN takes a thousand times as long."""
    return weight if weight.is_contiguous() or weight.t().is_contiguous() else weight.contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        keep(ctx, (x, weight, bias))
        return times(x, weight, bias)

    @staticmethod
    @differentiable_by(F.linear)
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (x, weight, _), _ = kept(ctx)
        wanted = ctx.needs_input_grad
        return (
            times(grad, weight.t()) if wanted[0] else None,
            times(grad.t(), x.t()) if wanted[1] else None,
            grad.sum(0) if wanted[2] else None,
        )
