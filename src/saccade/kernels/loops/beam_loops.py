"""The compiled loop of attention over rows of a pool, in Numba; imported at first use by `saccade.kernels.runtime`."""

import math

import numpy as np

from saccade.kernels.loops.additive_loops import _FAST, _ZERO
from saccade.kernels.loops.jit import kernel, part, share_out

_LOWEST = np.float32(-3.4e38)
ROWS = 4  # of a task


@part(fastmath=_FAST, error_model="numpy")
def _dots(query, key, width, scores, t):
    for h in range(scores.shape[0]):
        total = _ZERO
        one, other = query[h * width : (h + 1) * width], key[h * width : (h + 1) * width]
        for d in range(one.size):
            total += one[d] * other[d]
        scores[h, t] = total


@part(fastmath=_FAST, error_model="numpy")
def _take(value, width, weights, t, context):
    for h in range(weights.shape[0]):
        weight = weights[h, t]
        one, out = value[h * width : (h + 1) * width], context[h * width : (h + 1) * width]
        for d in range(one.size):
            out[d] += weight * one[d]


@part(fastmath=_FAST, error_model="numpy")
def _exponents(scores, count, scale):
    """Softmax weights of each head, in place."""
    for h in range(scores.shape[0]):
        row = scores[h, :count]
        top, total = _LOWEST, _ZERO
        for t in range(row.size):
            top = max(top, row[t])
        for t in range(row.size):
            row[t] = np.float32(math.exp(scale * (row[t] - top)))
            total += row[t]
        for t in range(row.size):
            row[t] /= total


@part(fastmath=_FAST, error_model="numpy")
def _pooled_row(n, query, key, value, rows, counts, scale, context, scores):
    sharing = query.shape[0] // rows.shape[0]
    places, count = rows[n // sharing], counts[n // sharing]
    width = query.shape[1] // scores.shape[0]
    for t in range(count):
        _dots(query[n], key[places[t]], width, scores, t)
    _exponents(scores, count, scale)
    context[n, :] = _ZERO
    for t in range(count):
        _take(value[places[t]], width, scores, t, context[n])


@part(error_model="numpy")
def _pooled_rows(task, query, key, value, rows, counts, heads, scale, context):
    """A few rows at a time share one room for scores."""
    scores = np.empty((heads, rows.shape[1]), np.float32)
    for n in range(task * ROWS, min(task * ROWS + ROWS, query.shape[0])):
        _pooled_row(n, query, key, value, rows, counts, scale, context, scores)


@kernel
def beams_forward(team, query, key, value, rows, counts, heads, scale, context):
    """Row n of `query` looks at the rows of `key` and `value` named by rows[n // sharing, :counts[…]], head by head."""
    tasks = (query.shape[0] + ROWS - 1) // ROWS
    share_out(_pooled_rows, tasks, team, (query, key, value, rows, counts, heads, scale, context))
