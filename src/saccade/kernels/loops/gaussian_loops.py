"""The compiled loops of pooling under a Gaussian kernel, in Numba; imported at first use by `saccade.kernels.runtime`.

Columns (the keys) lie feature by feature, so that one row (a query) meets a block of them in vector instructions, and the
block stays in the first-level cache for all rows of a task. Scores are exponents of two, -|row - column|²: the caller scales
both sides by √(½ log₂ e). float32 and float64 run the same code.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from saccade.kernels.loops.additive_loops import _FAST, _ONE, _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.jit import kernel, part, share_out

_CLOSED = np.float32(-3.0e38)  # below all scores
_NOTHING = np.float32(-126)  # 2 to this, beside 1, is lost in every sum
BLOCK = 1024  # columns at a time
TASK = 32  # rows of a task


def _power() -> Any:
    """2^x for x ≤ 0, in scalar instructions that the compiler then makes vectors of; a row's lowest are as good as none.

    2^x = 2^n · 2^f with n whole and |f| ≤ ½. Adding 1.5 · 2^(bits of the fraction) leaves n in the lowest bits, to be laid
    on the exponent of the polynomial Σ (f ln 2)^k / k!, cut where the next term is below a rounding.
    """

    @intrinsic
    def power(typing_context, exponent):
        single = exponent == types.float32
        real, whole = (ir.FloatType(), ir.IntType(32)) if single else (ir.DoubleType(), ir.IntType(64))
        fraction, lowest, terms = (23, -126.0, 7) if single else (52, -1022.0, 13)

        def generate(context, builder, signature, arguments):
            def number(value):
                return ir.Constant(real, value)

            low = builder.fcmp_ordered("<", arguments[0], number(lowest))
            x = builder.select(low, number(lowest), arguments[0])
            magic = number(1.5 * 2**fraction)
            shifted = builder.fadd(x, magic)
            f = builder.fsub(x, builder.fsub(shifted, magic))
            total = number(_term(terms, single))
            for k in range(terms - 1, -1, -1):
                total = builder.fma(total, f, number(_term(k, single)))
            n = builder.shl(builder.bitcast(shifted, whole), ir.Constant(whole, fraction))
            return builder.bitcast(builder.add(builder.bitcast(total, whole), n), real)

        return exponent(exponent), generate

    return power


def _term(k: int, single: bool) -> float:
    """The factor of f^k, rounded to what LLVM can write down."""
    exact = math.log(2) ** k / math.factorial(k)
    return float(np.float32(exact)) if single else exact


power = _power()


@part(fastmath=_FAST, error_model="numpy")
def _apart1(a, one, scores):
    for j in range(scores.size):
        scores[j] -= (a - one[j]) * (a - one[j])


@part(fastmath=_FAST, error_model="numpy")
def _apart4(a, b, c, d, one, two, three, four, scores):
    for j in range(scores.size):
        first = (a - one[j]) * (a - one[j]) + (b - two[j]) * (b - two[j])
        scores[j] -= first + (c - three[j]) * (c - three[j]) + (d - four[j]) * (d - four[j])


@part(error_model="numpy")
def _score(row, columns, low, own, scores):
    """-|row - column|² of a row and the columns from `low` on; the row's own, if it is among them, is closed."""
    high, D = low + scores.size, row.size
    scores[:] = _ZERO
    for d in range(0, D - D % 4, 4):
        one, two, three, four = (
            columns[d, low:high],
            columns[d + 1, low:high],
            columns[d + 2, low:high],
            columns[d + 3, low:high],
        )
        _apart4(row[d], row[d + 1], row[d + 2], row[d + 3], one, two, three, four, scores)
    for d in range(D - D % 4, D):
        _apart1(row[d], columns[d, low:high], scores)
    if low <= own < high:
        scores[own - low] = _CLOSED


@part(fastmath=_FAST, error_model="numpy")
def _largest(scores):
    top = scores[0]
    for j in range(scores.size):
        top = max(top, scores[j])
    return top


@part(fastmath=_EXACT, error_model="numpy")
def _raise(scores, top):
    for j in range(scores.size):
        scores[j] = power(scores[j] - top)


@part(error_model="numpy")
def _weigh(scores, top, low, own):
    """Scores become weights; the row's own column weighs nothing at all."""
    _raise(scores, top)
    if low <= own < low + scores.size:
        scores[own - low] = _ZERO


@part(fastmath=_FAST, error_model="numpy")
def _sum(weights):
    total = _ZERO
    for j in range(weights.size):
        total += weights[j]
    return total


@part(fastmath=_FAST, error_model="numpy")
def _dot(weights, values):
    total = _ZERO
    for j in range(weights.size):
        total += weights[j] * values[j]
    return total


@part(error_model="numpy")
def _look(scores, values, low, own, state):
    """One row's state (its largest score, the sum of weights, the sums of weighted values) after another block."""
    top = _largest(scores)
    if top <= _CLOSED or top - state[0] < _NOTHING:
        return
    if top > state[0]:
        state[1:] *= power(state[0] - top)
        state[0] = top
    _weigh(scores, state[0], low, own)
    state[1] += _sum(scores)
    for v in range(values.shape[0]):
        state[2 + v] += _dot(scores, values[v, low : low + scores.size])


@part
def _rows_of(task, rows):
    """The sample, the first and the last row of a task."""
    tasks = (rows + TASK - 1) // TASK
    first = task % tasks * TASK
    return task // tasks, first, min(first + TASK, rows)


@part(error_model="numpy")
def _pool_task(task, query, key, value, shift, context, level):
    """The context and the level, log₂ Σ 2^score, of a few queries of one sample."""
    K, V = key.shape[2], value.shape[1]
    b, first, last = _rows_of(task, query.shape[1])
    states, scratch = np.zeros((last - first, 2 + V), query.dtype), np.empty(min(BLOCK, K), query.dtype)
    states[:, 0] = _CLOSED
    for low in range(0, K, BLOCK):
        scores = scratch[: min(BLOCK, K - low)]
        for i in range(first, last):
            _score(query[b, i], key[b], low, i + shift, scores)
            _look(scores, value[b], low, i + shift, states[i - first])
    for i in range(first, last):
        state = states[i - first]
        seen = state[1] > _ZERO
        level[b, i] = state[0] + math.log2(state[1]) if seen else _ZERO
        for v in range(V):
            context[b, i, v] = state[2 + v] / state[1] if seen else _ZERO


@kernel
def gaussian_pool(team, query, key, value, shift, context, level):
    """Context of queries (B, Q, D) over keys (B, D, K) and values (B, V, K); query i does not see key i + shift."""
    share_out(
        _pool_task, query.shape[0] * ((query.shape[1] + TASK - 1) // TASK), team, (query, key, value, shift, context, level)
    )


@part(fastmath=_FAST, error_model="numpy")
def _slope(weights, minus, slopes):
    """The gradient of scores: weights times what came back of each, less its mean."""
    for j in range(weights.size):
        slopes[j] = weights[j] * (slopes[j] - minus[j])


@part(fastmath=_FAST, error_model="numpy")
def _add(total, factor, vector):
    for j in range(total.size):
        total[j] += factor * vector[j]


@part(fastmath=_FAST, error_model="numpy")
def _toward(slopes, column, place):
    total = _ZERO
    for j in range(slopes.size):
        total += slopes[j] * (column[j] - place)
    return total


@part(error_model="numpy")
def _pull_block(low, own, row, row_values, own_level, own_mean, columns, values, level, mean, grad, pooled, scratch):
    """What one block of columns adds to the gradient of a row, and to the values pooled with the same weights."""
    high = min(low + BLOCK, columns.shape[1])
    weights, slopes = scratch[0, : high - low], scratch[1, : high - low]
    _score(row, columns, low, own, weights)
    _add(weights, -_ONE, level[low:high])
    _weigh(weights, own_level, low, own)
    slopes[:] = -own_mean
    for v in range(row_values.size):
        pooled[v] += _dot(weights, values[v, low:high])
        _add(slopes, row_values[v], values[v, low:high])
    _slope(weights, mean[low:high], slopes)
    for d in range(row.size):
        grad[d] += _toward(slopes, columns[d, low:high], row[d])


@part(error_model="numpy")
def _pull_task(task, rows, row_values, row_level, row_mean, columns, values, level, mean, shift, grad, pooled):
    b, first, last = _rows_of(task, rows.shape[1])
    grad[b, first:last] = _ZERO
    pooled[b, first:last] = _ZERO
    scratch = np.empty((2, BLOCK), rows.dtype)
    for low in range(0, columns.shape[2], BLOCK):
        for i in range(first, last):
            mine = (rows[b, i], row_values[b, i], row_level[b, i], row_mean[b, i])
            theirs = (columns[b], values[b], level[b], mean[b])
            _pull_block(low, i + shift, *mine, *theirs, grad[b, i], pooled[b, i], scratch)


@kernel
def gaussian_pull(team, rows, row_values, row_level, row_mean, columns, values, level, mean, shift, grad, pooled):
    """Gradients of `gaussian_pool` for one side, and values pooled by that side's rows; level and mean of the keys are zero.

    Rows are queries (values: the gradient of the context; mean: that times the context) and columns keys, or the reverse.
    """
    share_out(
        _pull_task,
        rows.shape[0] * ((rows.shape[1] + TASK - 1) // TASK),
        team,
        (rows, row_values, row_level, row_mean, columns, values, level, mean, shift, grad, pooled),
    )
