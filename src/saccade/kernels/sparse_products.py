"""Products of a sparse matrix with a dense one, where the sparse one is data: only the dense one has a gradient.

Its meaning is `torch.sparse.mm`; float32 on the CPU runs in `saccade.kernels.loops.sparse_loops`.
"""

from typing import Any

import torch
from torch import Tensor

from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run


def sparse_times(matrix: Tensor, table: Tensor) -> Tensor:
    """matrix @ table for a sparse (N, F), COO or CSR, and a dense (F, D)."""
    matrix = matrix if matrix.layout == torch.sparse_coo else matrix.to_sparse_coo()
    if matrix.requires_grad or not kernels_on(matrix.detach()._values(), table):
        plain: Tensor = torch.sparse.mm(matrix, table)
        return plain
    # As it is: entries that stand twice count twice, and need not be joined first.
    return applied(_Times, matrix._indices(), matrix._values(), matrix.shape[0], table)


def _gathered(into: Tensor, rows: Tensor, values: Tensor, table: Tensor, count: int) -> Tensor:
    """Row into[e] of the result is Σ values[e] · table[rows[e]]."""
    out = table.new_empty(count, table.shape[1])
    arrays = (part.detach().contiguous().numpy() for part in (into, rows, values, table))
    run("gather_rows", *arrays, out.numpy())
    return out


def times_definition(indices: Tensor, values: Tensor, rows: int, table: Tensor) -> Tensor:
    """The same in plain torch."""
    return table.new_zeros(rows, table.shape[1]).index_add(0, indices[0], values[:, None] * table[indices[1]])


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, indices: Tensor, values: Tensor, rows: int, table: Tensor) -> Tensor:
        keep(ctx, (indices, values, rows, table))
        return _gathered(indices[0], indices[1], values, table, rows)

    @staticmethod
    @differentiable_by(times_definition)
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, Tensor]:
        (indices, values, _, table), _ = kept(ctx)
        return None, None, None, _gathered(indices[1], indices[0], values, grad, len(table))
