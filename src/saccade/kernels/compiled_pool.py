"""The compiled loops of additive attention from scores to context, in Numba; imported at first use by `runtime`.

For the few queries of a decoder's step: scores, softmax and pooling of a sample stay in the cache, in one call.
"""

import math

import numba
import numpy as np

from saccade.kernels.compiled import _ORDERED, _ZERO, _pull, _score
from saccade.kernels.lanes import dot_product

_LOWEST = np.float32(-3.4e38)


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _add(total, vector, weight):
    for d in range(vector.size):
        total[d] += weight * vector[d]


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _pool_row(b, i, query, key, vector, value, live, weights, context):
    """The weights and the context of one query; zeros where it may look nowhere."""
    row, seen = weights[b, i], live[b]
    top, total = _LOWEST, _ZERO
    Q, K, size = query.shape[1], key.shape[1], 4 * query.shape[2]
    asked, keys = query.ctypes.data + (b * Q + i) * size, key.ctypes.data + b * K * size
    for j in range(row.size):
        row[j] = _ZERO
        if seen[j]:
            row[j] = _score(asked, keys + j * size, vector.ctypes.data, vector.size)
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


@numba.njit(cache=True)
def pool_forward(query, key, vector, value, live, weights, context):
    """softmax over the live keys of Σ_d vector[d] tanh(query + key), times the values."""
    Q = query.shape[1]
    for task in range(query.shape[0] * Q):
        _pool_row(task // Q, task % Q, query, key, vector, value, live, weights, context)


@numba.njit(parallel=True, cache=True)
def pool_forward_threads(query, key, vector, value, live, weights, context):
    """The same, on Numba's threads."""
    Q = query.shape[1]
    for task in numba.prange(query.shape[0] * Q):
        _pool_row(task // Q, task % Q, query, key, vector, value, live, weights, context)


@numba.njit(fastmath=_ORDERED, error_model="numpy")
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
        _scale(query_grad[b, i], vector)


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _scale(row, vector):
    for d in range(row.size):
        row[d] *= vector[d]


@numba.njit(cache=True)
def pool_backward(grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad):
    """Gradients of `pool_forward`, but for the values', a matrix product of weights and `grad`. Those of keys and vector are
    added to what is there, for many calls; at the end the caller multiplies `key_grad` with the vector, and sums
    `vector_grad` (B, D) over B."""
    for b in range(query.shape[0]):
        _pool_pull(b, grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad)


@numba.njit(parallel=True, cache=True)
def pool_backward_threads(grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad):
    """The same, on Numba's threads."""
    for b in numba.prange(query.shape[0]):
        _pool_pull(b, grad, query, key, vector, value, live, weights, query_grad, key_grad, vector_grad)
