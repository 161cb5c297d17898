"""Products of a sparse matrix with a dense one, where the sparse one is data: only the dense one has a gradient.

Its meaning is `torch.sparse.mm`; float32 on the CPU runs in `saccade.kernels.compiled_sparse`.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.function import applied
from saccade.kernels.runtime import kernels_on, run


def sparse_times(matrix: Tensor, table: Tensor) -> Tensor:
    """matrix @ table for a sparse (N, F), COO or CSR, and a dense (F, D)."""
    matrix = matrix if matrix.layout == torch.sparse_coo else matrix.to_sparse_coo()
    if matrix.requires_grad or torch.compiler.is_compiling() or not kernels_on(matrix.detach()._values(), table):
        plain: Tensor = torch.sparse.mm(matrix, table)
        return plain
    # As it is: entries that stand twice count twice, and need not be joined first.
    return applied(_Times, matrix._indices(), matrix._values(), matrix.shape[0], table)


def _gathered(into: Tensor, rows: Tensor, values: Tensor, table: Tensor, count: int) -> Tensor:
    """Row into[e] of the result is Σ values[e] · table[rows[e]]."""
    out = table.new_empty(count, table.shape[1])
    arrays = (part.detach().contiguous().numpy() for part in (into, rows, values, table))
    run("gather_rows", torch.get_num_threads(), *arrays, out.numpy())
    return out


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, indices: Tensor, values: Tensor, rows: int, table: Tensor) -> Tensor:
        ctx.save_for_backward(indices, values)
        ctx.columns = len(table)
        return _gathered(indices[0], indices[1], values, table, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, Tensor]:
        indices, values = ctx.saved_tensors
        return None, None, None, _gathered(indices[1], indices[0], values, grad, ctx.columns)
