"""Pooling under a Gaussian kernel, softmax(-|q - k|²/2) v, for vectors of few numbers (Nadaraya 1964, Watson 1964).

One pass over the keys, no Q×K matrix, forward and backward. Distances are those of the vectors themselves: writing them as a
dot product, as a fused kernel of attention wants it, costs digits, and for a few numbers a vector it is slower. Its meaning
is `pool_definition`; float32 and float64 on the CPU run in `saccade.kernels.loops.gaussian_loops`.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run

# Wider vectors, or more values a key, and matrix products are quicker.
WIDEST = MOST_VALUES = 16
# Both sides times this, and -|q - k|² is an exponent of two.
SCALE = math.sqrt(0.5 * math.log2(math.e))


def gaussian_on(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the kernel takes these: float32 or float64 on the CPU, few numbers a vector."""
    narrow = query.shape[-1] <= WIDEST and value.shape[-1] <= MOST_VALUES
    if not narrow or query.dtype not in (torch.float32, torch.float64):
        return False
    return kernels_on(query, key, value, dtype=query.dtype)


def gaussian_pool(
    query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"], value: Float[Tensor, "... K V"], others: bool = False
) -> Float[Tensor, "... Q V"]:
    """The context of each query; `others` keeps each from the key at its own place, the last query's being the last key.

    All have the same leading dimensions. Ask `gaussian_on` first.
    """
    flat = (part.reshape(-1, *part.shape[-2:]) for part in (query, key, value))
    return applied(_GaussianPool, *flat, others).view(*query.shape[:-1], value.shape[-1])


def pool_definition(query: Tensor, key: Tensor, value: Tensor, others: bool = False) -> Tensor:
    """The same in plain torch, with the Q×K matrix."""
    scores = -0.5 * (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)
    if not others:
        return scores.softmax(-1) @ value
    closed = torch.eye(key.shape[-2], dtype=torch.bool, device=key.device)[key.shape[-2] - query.shape[-2] :]
    return scores.masked_fill(closed, -math.inf).softmax(-1).nan_to_num() @ value


class _GaussianPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, others: bool) -> Tensor:
        context, level = query.new_empty(*query.shape[:2], value.shape[2]), query.new_empty(query.shape[:2])
        shift = key.shape[1] - query.shape[1] if others else None
        arrays = (_rows(query), _columns(key), _turned(value))
        run("gaussian_pool", *arrays, _place(shift, key), context.numpy(), level.numpy())
        keep(ctx, (query, key, value, others), context, level)
        return context

    @staticmethod
    @differentiable_by(pool_definition)
    def backward(ctx: Any, pull: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (query, key, value, others), (context, level) = kept(ctx)
        shift = key.shape[1] - query.shape[1] if others else None
        none, pull = key.new_zeros(key.shape[:2]), pull.contiguous()
        of_queries = (pull, level, (pull * context).sum(-1))
        of_keys = (value.contiguous(), none, none)
        query_grad, _ = _pulled(query, of_queries, key, of_keys, shift)
        back = None if shift is None else -shift
        key_grad, value_grad = _pulled(key, of_keys, query, of_queries, back)
        return query_grad, key_grad, value_grad, None


def _pulled(
    rows: Tensor, mine: tuple[Tensor, ...], columns: Tensor, theirs: tuple[Tensor, ...], shift: int | None
) -> tuple[Tensor, Tensor]:
    """The gradient of one side, and what its rows pool of the other's values; of each side values, level and mean."""
    grad, pooled = rows.new_empty(rows.shape), rows.new_empty(mine[0].shape)
    ours = (part.detach().numpy() for part in mine)
    other = (_turned(theirs[0]), *(part.detach().numpy() for part in theirs[1:]))
    run("gaussian_pull", _rows(rows), *ours, _columns(columns), *other, _place(shift, columns), grad.numpy(), pooled.numpy())
    return grad.div_(SCALE), pooled


def _place(shift: int | None, columns: Tensor) -> int:
    """The column that the first row does not see; one behind all of them if it sees all."""
    return columns.shape[1] if shift is None else shift


def _rows(vectors: Tensor) -> Any:
    return (vectors.detach() * SCALE).contiguous().numpy()


def _columns(vectors: Tensor) -> Any:
    """Number by number, in one copy: there may be millions."""
    turned = vectors.detach().transpose(1, 2)
    return torch.mul(turned, SCALE, out=turned.new_empty(turned.shape)).numpy()


def _turned(values: Tensor) -> Any:
    return values.detach().transpose(1, 2).contiguous().numpy()
