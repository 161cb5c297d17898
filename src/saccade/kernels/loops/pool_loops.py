"""The compiled loops of additive attention from scores to context, in Numba; imported at first use by `runtime`.

For the few queries of a decoder's step: scores, softmax and pooling of a sample stay in the cache, in one call.
"""

import math

import numpy as np

from saccade.kernels.loops.additive_loops import _ORDERED, _ZERO, _pull, _score
from saccade.kernels.loops.jit import kernel, multiply, part, share_out
from saccade.kernels.loops.vector_rows import dot_product

_LOWEST = np.float32(-3.4e38)


@part(fastmath=_ORDERED, error_model="numpy")
def _add(total, vector, weight):
    for d in range(vector.size):
        total[d] += weight * vector[d]


@part(fastmath=_ORDERED, error_model="numpy")
def _pool_row(task, query, key, vector, value, live, weights, context):
    """The weights and the context of one query; zeros where it may look nowhere."""
    b, i = task // query.shape[1], task % query.shape[1]
    row, seen = weights[b, i], live[b]
    top, total = _LOWEST, _ZERO
    Q, K, size = query.shape[1], key.shape[1], 4 * query.shape[2]
    one_query, keys = query.ctypes.data + (b * Q + i) * size, key.ctypes.data + b * K * size
    for j in range(row.size):
        row[j] = _ZERO
        if seen[j]:
            row[j] = _score(one_query, keys + j * size, vector.ctypes.data, vector.size)
            top = max(top, row[j])
    for j in range(row.size):
        if seen[j]:
            row[j] = np.float32(math.exp(row[j] - top))
            total += row[j]
    context[b, i, :] = _ZERO
    for j in range(row.size):
        if seen[j]:
            row[j] = row[j] / total
            _add(context[b, i], value[b, j], row[j])


@kernel
def pool_forward(team, query, key, vector, value, live, weights, context):
    """softmax over the live keys of Σ_d vector[d] tanh(query + key), times the values."""
    tasks = query.shape[0] * query.shape[1]
    share_out(_pool_row, tasks, team, (query, key, vector, value, live, weights, context))


@part(fastmath=_ORDERED, error_model="numpy")
def _pool_pull(b, grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad):
    """All gradients of one sample."""
    Q, K = weights.shape[1], weights.shape[2]
    slopes, size = np.empty(K, np.float32), 4 * value.shape[2]
    for i in range(Q):
        query_grad[b, i, :] = _ZERO
        mean = _ZERO
        pulled, values = grad.ctypes.data + (b * Q + i) * size, value.ctypes.data + b * K * size
        for j in range(K):
            if live[b, j]:
                slopes[j] = dot_product(pulled, values + j * size, value.shape[2])
                mean += weights[b, i, j] * slopes[j]
        for j in range(K):
            if live[b, j]:
                pull = weights[b, i, j] * (slopes[j] - mean)
                _pull(pull, query[b, i], key[b, j], query_grad[b, i], key_grad[b, j], vector_grad[b])
        multiply(query_grad[b, i], vector)


@kernel
def pool_backward(team, grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad):
    """Gradients of `pool_forward`, but for the values', a matrix product of weights and `grad`. Those of keys and vector are
    added to what is there, for many calls; at the end the caller multiplies `key_grad` with the vector, and sums
    `vector_grad` (B, D) over B."""
    share_out(
        _pool_pull, query.shape[0], team, (grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad)
    )
