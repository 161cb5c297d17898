"""The compiled loop of all layers that write, one step of all hypotheses, in Numba; imported by `saccade.kernels.runtime`.

The layers are a table of whole numbers, a row each: the places of weights as `product_loops` wants them, of norms, and of
pools of keys and values. Rows of x are residual streams; what a sublayer adds waits in `added` until the next one reads.
"""

import numpy as np
from numba.np.numpy_support import carray

from saccade.kernels.loops.activation_loops import NONE
from saccade.kernels.loops.additive_loops import _FAST, _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.jit import copy, kernel, part, share_out
from saccade.kernels.loops.product_loops import BYTES, FLOATS, product_task, product_tasks, round_row
from saccade.kernels.loops.register_tiles import to_floats, to_shorts
from saccade.kernels.loops.rounded_tiles import GROUP
from saccade.kernels.loops.softmax_loops import exponential
from saccade.kernels.loops.vector_rows import add_scaled, add_scaled_rows, dot_product, dot_products

# Where in a row of the table the six numbers of a weight begin, the two of each norm, and the addresses of pools.
JOINT, BACK, QUERY, READ, INTO, OUT, MIXED, CROSSED, WORKED, POOLS, KEPT = 0, 6, 12, 18, 24, 30, 36, 38, 40, 42, 44
FEW = 4  # rows that one thread works through sooner than many
_LOWEST_SCORE = np.float32(-3.4e38)


@part
def _weight(table, layer, field):
    row = table[layer]
    return row[field], row[field + 1], row[field + 2], row[field + 3], row[field + 4], row[field + 5]


@part
def _two(table, layer, field):
    return table[layer, field], table[layer, field + 1]


@part(fastmath=_FAST, error_model="numpy")
def _norm(row, weight, bias, eps, out):
    """Layer norm of a row."""
    mean, spread = _ZERO, _ZERO
    for d in range(row.size):
        mean += row[d]
    mean /= np.float32(row.size)
    for d in range(row.size):
        spread += (row[d] - mean) * (row[d] - mean)
    factor = np.float32(1) / np.sqrt(spread / np.float32(row.size) + eps)
    for d in range(row.size):
        out[d] = (row[d] - mean) * factor * weight[d] + bias[d]


@part(fastmath=_EXACT, error_model="numpy")
def _add(row, added):
    for d in range(row.size):
        row[d] += added[d]


@part
def _round(n, row, rounding, whole, scales):
    """The row as a product of rounded weights reads it."""
    form, limit = rounding
    if form != FLOATS:
        inner = row.size
        size = (inner + 1) // 2 * 2 if form == BYTES else (inner + GROUP - 1) // GROUP * GROUP
        room = carray(to_shorts(whole.ctypes.data + 2 * n * whole.shape[1]), (size,))
        scales[n] = round_row(row, min(limit, _limit(inner)), room)


@part
def _limit(inner):
    return np.float32((2**31 - 1) // (127 * inner))


@part
def _round_task(n, wide, width, rounding, whole, scales):
    _round(n, wide[n, :width], rounding, whole, scales)


@part
def _enter_task(n, x, added, entered, norm, eps, how, rounding, whole, scales):
    """What a sublayer reads: the sum of x and what the one before added, normed behind the sum or for this one alone."""
    follows, pre = how
    if follows:
        _add(x[n], added[n])
    if norm[0]:
        weight, bias = carray(to_floats(norm[0]), (x.shape[1],)), carray(to_floats(norm[1]), (x.shape[1],))
        _norm(x[n], weight, bias, eps, entered[n])
        if not pre:
            copy(entered[n], x[n])
    else:
        copy(x[n], entered[n])
    _round(n, entered[n], rounding, whole, scales)


@part(fastmath=_FAST, error_model="numpy")
def _exponents(row, scale):
    """Softmax weights, in place."""
    top, total = _LOWEST_SCORE, _ZERO
    for t in range(row.size):
        top = max(top, row[t])
    for t in range(row.size):
        row[t] = exponential(scale * (row[t] - top))
        total += row[t]
    for t in range(row.size):
        row[t] /= total


@part
def _four(start, stride, places, t):
    """The addresses of four rows of a pool."""
    return (
        start + stride * places[t],
        start + stride * places[t + 1],
        start + stride * places[t + 2],
        start + stride * places[t + 3],
    )


@part(error_model="numpy")
def _attend(query, pools, stride, places, count, scale, context, size):
    """softmax(scale · q k') v over rows of the pools, of one head: all by address, `stride` bytes to the next row."""
    keys, values = pools
    scores, whole = np.empty(count, np.float32), count // 4 * 4
    for t in range(0, whole, 4):
        rows = _four(keys, stride, places, t)
        scores[t], scores[t + 1], scores[t + 2], scores[t + 3] = dot_products(query, rows, size)
    for t in range(whole, count):
        scores[t] = dot_product(query, keys + stride * places[t], size)
    _exponents(scores, scale)
    out = carray(to_floats(context), (size,))
    out[:] = _ZERO
    for t in range(0, whole, 4):
        factors = (scores[t], scores[t + 1], scores[t + 2], scores[t + 3])
        add_scaled_rows(factors, _four(values, stride, places, t), context, size)
    for t in range(whole, count):
        add_scaled(scores[t], values + stride * places[t], context, size)


@part(error_model="numpy")
def _write_task(task, wide, pools, places, lengths, first, heads, scale, context, queries):
    """Self-attention of one head of one hypothesis, whose newest key and value join the pools first."""
    n, h = task // heads, task % heads
    width = context.shape[1]
    size = width // heads
    left, right = h * size, (h + 1) * size
    row = wide[n]
    copy(row[left:right], queries[n, left:right])
    for side in range(2):
        place = carray(to_floats(pools[side] + 4 * ((first + n) * width + left)), (size,))
        copy(row[(side + 1) * width + left : (side + 1) * width + right], place)
    begin = 4 * left
    query, here = queries.ctypes.data + 4 * n * width + begin, context.ctypes.data + 4 * n * width + begin
    _attend(query, (pools[0] + begin, pools[1] + begin), 4 * width, places[n], lengths[n], scale, here, size)


@part(error_model="numpy")
def _read_task(task, queries, pools, places, counts, heads, scale, context):
    """Attention of one head of one hypothesis over what was read."""
    n, h = task // heads, task % heads
    width = context.shape[1]
    size, own = width // heads, n // (context.shape[0] // places.shape[0])
    begin = 4 * h * size
    query, here = queries.ctypes.data + 4 * n * width + begin, context.ctypes.data + 4 * n * width + begin
    _attend(query, (pools[0] + begin, pools[1] + begin), 4 * width, places[own], counts[own], scale, here, size)


@part
def _rows(rows, form, whole, scales):
    """Rows as a product reads them, in its form."""
    if form == FLOATS:
        return rows.ctypes.data, rows.strides[0] // 4, 1, 0, rows.shape[0]
    return whole.ctypes.data, whole.shape[1], 1, scales.ctypes.data, rows.shape[0]


@kernel
def layer_steps(team, x, table, sizes, numbers, places, lengths, first, kept_places, counts, written, read):
    """All layers for N rows x (N, D), in their place; x is then what the last layer leaves.

    sizes: heads, hidden size, activation, whether norms stand before sublayers, form of the weights; numbers: eps of norms,
    scale of scores, the largest number of a rounded row. Places (N, T) of what was written, of which the first `lengths` (N)
    count, the newest at row `first` of the pools and on; (B, K) of what was read, of which `counts` (B) count, or nothing.
    The queries of all layers are left in `written` and `read` (L, N, D).
    """
    heads, hidden, activation, pre, form = sizes
    eps, scale, finest = numbers
    N, D = x.shape
    entered, context, added = np.empty((N, D), np.float32), np.empty((N, D), np.float32), np.empty((N, D), np.float32)
    wide, scales = np.empty((N, max(3 * D, hidden)), np.float32), np.empty(N, np.float32)
    whole = np.empty((N, (max(D, hidden) + GROUP - 1) // GROUP * GROUP), np.int16)
    own = team if N >= FEW else (team[0] * 0, team[1] * 0 + 1)
    rounding, row = (form, finest), wide.shape[1]
    crosses = counts.size > 0
    before = (np.int64(0), np.int64(0))  # the norm behind the last sublayer, where norms stand behind
    for layer in range(table.shape[0]):
        mixed, crossed, worked = _two(table, layer, MIXED), _two(table, layer, CROSSED), _two(table, layer, WORKED)
        pools = _two(table, layer, POOLS)
        here = mixed if pre else before
        share_out(_enter_task, N, own, (x, added, entered, here, eps, (layer, pre), rounding, whole, scales))
        _multiply(team, _weight(table, layer, JOINT), _rows(entered, form, whole, scales), NONE, (wide.ctypes.data, row))
        share_out(_write_task, N * heads, team, (wide, pools, places, lengths, first, heads, scale, context, written[layer]))
        share_out(_round_task, N, own, (context, D, rounding, whole, scales))
        _multiply(team, _weight(table, layer, BACK), _rows(context, form, whole, scales), NONE, (added.ctypes.data, D))
        before = mixed
        if crosses:
            here = crossed if pre else before
            share_out(_enter_task, N, own, (x, added, entered, here, eps, (1, pre), rounding, whole, scales))
            target = (read[layer].ctypes.data, D)
            _multiply(team, _weight(table, layer, QUERY), _rows(entered, form, whole, scales), NONE, target)
            kept = _two(table, layer, KEPT)
            share_out(_read_task, N * heads, team, (read[layer], kept, kept_places, counts, heads, scale, context))
            share_out(_round_task, N, own, (context, D, rounding, whole, scales))
            _multiply(team, _weight(table, layer, READ), _rows(context, form, whole, scales), NONE, (added.ctypes.data, D))
            before = crossed
        here = worked if pre else before
        share_out(_enter_task, N, own, (x, added, entered, here, eps, (1, pre), rounding, whole, scales))
        target = (wide.ctypes.data, row)
        _multiply(team, _weight(table, layer, INTO), _rows(entered, form, whole, scales), activation, target)
        share_out(_round_task, N, own, (wide, hidden, rounding, whole, scales))
        _multiply(team, _weight(table, layer, OUT), _rows(wide, form, whole, scales), NONE, (added.ctypes.data, D))
        before = worked
    here = (np.int64(0), np.int64(0)) if pre else before
    share_out(_enter_task, N, own, (x, added, entered, here, eps, (1, pre), (FLOATS, finest), whole, scales))


@part
def _multiply(team, weight, rows, activation, out):
    share_out(product_task, product_tasks(weight, rows), team, (weight, rows, activation, out))
