"""The compiled loop of a product with a sparse matrix, in Numba; imported at first use by `saccade.kernels.runtime`."""

from saccade.kernels.loops.additive_loops import _ZERO
from saccade.kernels.loops.jit import kernel, part, share_out
from saccade.kernels.loops.vector_rows import add_scaled


@part(error_model="numpy")
def _strip(task, tasks, into, rows, values, table, out):
    """Some of the columns. A task owns them, so the order of its sums is that of the list, whatever the tasks."""
    width = table.shape[1]
    low, high = width * task // tasks, width * (task + 1) // tasks
    for i in range(out.shape[0]):
        for c in range(low, high):
            out[i, c] = _ZERO
    source, target = table.ctypes.data + 4 * low, out.ctypes.data + 4 * low
    for e in range(values.size):
        add_scaled(values[e], source + 4 * width * rows[e], target + 4 * width * into[e], high - low)


@kernel
def gather_rows(team, into, rows, values, table, out):
    """out[into[e]] += values[e] · table[rows[e]], from zero, over all entries e. Each thread has some columns."""
    tasks = team[1]
    share_out(_strip, tasks, team, (tasks, into, rows, values, table, out))
