"""The compiled loops themselves, in Numba; imported at first use by `saccade.kernels.runtime`.

Rows of the inner loops are taken as slices, so that each index is a plain non-negative counter and the loop becomes
vector instructions; `error_model="numpy"` drops the test for division by zero, which would prevent that. Each kernel is
a function of one task with two loops around it, plain and on threads: told to use one thread, Numba's OpenMP layer still
keeps all of them spinning, which starves every other process of the machine.
"""

import warnings
from typing import Any

import numba
import numpy as np

from saccade.kernels.lanes import tanh_sum

config: Any = numba.config

config.THREADING_LAYER = "omp"

# tanh(x) = x p(x²) / q(x²) on |x| ≤ 9.02, where float32 tanh is 1. A minimax fit of the relative error (2.1e-8, a third
# of a float32 rounding) by iteratively reweighted least squares in 40 digits; evaluated in float32, at most 6 ulp.
_P0, _P1, _P2, _P3, _P4 = (
    np.float32(c)
    for c in (
        0.9999999794977875,
        0.13379706337430336,
        0.0034940186729901326,
        2.0583156816839776e-05,
        1.331853151468024e-08,
    )
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(c) for c in (0.4671302176679656, 0.02587101786701973, 0.00032830639218948894, 7.761816228070603e-07)
)
_ONE, _ZERO, _LIMIT = np.float32(1), np.float32(0), np.float32(9.02)

# No "arcp": a reciprocal instead of a division would cost tanh another rounding. NaN and inf are kept out by the caller.
_FAST = {"reassoc", "contract", "nsz", "nnan", "ninf"}
# Nor may training's sums be reordered: stored code is generated once more, and would differ from fresh code in a last bit.
_ORDERED = _FAST - {"reassoc"}
# Widths are worked through in pieces of this many numbers, so that a task's rows stay in the first-level cache.
PIECE = 256
# The keys of one query are shared out in so many tasks: there may be one query only.
PARTS = 4


def rational_tanh(x):
    """tanh of one float32; compiled by each kernel with what it allows."""
    x = min(max(x, -_LIMIT), _LIMIT)
    t = x * x
    p = (((_P4 * t + _P3) * t + _P2) * t + _P1) * t + _P0
    q = (((_Q4 * t + _Q3) * t + _Q2) * t + _Q1) * t + _ONE
    return x * p / q


_tanh = numba.njit(inline="always", fastmath=_ORDERED, error_model="numpy")(rational_tanh)


@numba.njit(cache=True, fastmath=_ORDERED, error_model="numpy")
def tanh(x, out):
    """The kernels' tanh over a vector: what the accuracy test measures."""
    for i in range(x.size):
        out[i] = _tanh(x[i])


# The sum of a score, in vector instructions whose order no compiler may change.
_score = tanh_sum(_LIMIT, (_P4, _P3, _P2, _P1, _P0), (_Q4, _Q3, _Q2, _Q1, _ONE))


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _score_row(task, query, key, vector, scores):
    """Scores of one query and a quarter of its keys."""
    Q, K = query.shape[1], key.shape[1]
    row, part = task // PARTS, task % PARTS
    b, i = row // Q, row % Q
    size = 4 * query.shape[2]
    asked, keys = query.ctypes.data + row * size, key.ctypes.data + b * K * size
    for j in range(K * part // PARTS, K * (part + 1) // PARTS):
        scores[b, i, j] = _score(asked, keys + j * size, vector.ctypes.data, vector.size)


@numba.njit(cache=True)
def additive_forward(query, key, vector, scores):
    """scores[b,i,j] = Σ_d vector[d] tanh(query[b,i,d] + key[b,j,d])."""
    for task in range(query.shape[0] * query.shape[1] * PARTS):
        _score_row(task, query, key, vector, scores)


@numba.njit(parallel=True, cache=True)
def additive_forward_threads(query, key, vector, scores):
    """The same, on Numba's threads."""
    for task in numba.prange(query.shape[0] * query.shape[1] * PARTS):
        _score_row(task, query, key, vector, scores)


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _pull(pull, query, key, query_grad, key_grad, vector_grad):
    for d in range(query.size):
        t = _tanh(query[d] + key[d])
        slope = pull - pull * t * t
        query_grad[d] += slope
        key_grad[d] += slope
        vector_grad[d] += pull * t


@numba.njit(fastmath=_ORDERED, error_model="numpy")
def _pull_piece(task, grad, query, key, vector, query_grad, key_grad, vector_grad):
    """All gradients of one b and a piece of the width. Sums run along queries or keys, never along the width, so a task
    owns what it writes, alone."""
    Q, K, D = query.shape[1], key.shape[1], query.shape[2]
    pieces = (D + PIECE - 1) // PIECE
    b, low = task // pieces, task % pieces * PIECE
    high = min(D, low + PIECE)
    v, total = vector[low:high], vector_grad[b, low:high]
    total[:] = _ZERO
    key_grad[b, :, low:high] = _ZERO
    for i in range(Q):
        pulled = query_grad[b, i, low:high]
        pulled[:] = _ZERO
        for j in range(K):
            _pull(grad[b, i, j], query[b, i, low:high], key[b, j, low:high], pulled, key_grad[b, j, low:high], total)
        pulled *= v
    for j in range(K):
        row = key_grad[b, j, low:high]
        row *= v


@numba.njit(cache=True)
def additive_backward(grad, query, key, vector, query_grad, key_grad, vector_grad):
    """Gradients of `additive_forward`, tanh computed again; `vector_grad` is (B, D), to be summed over B by the caller."""
    for task in range(query.shape[0] * ((query.shape[2] + PIECE - 1) // PIECE)):
        _pull_piece(task, grad, query, key, vector, query_grad, key_grad, vector_grad)


@numba.njit(parallel=True, cache=True)
def additive_backward_threads(grad, query, key, vector, query_grad, key_grad, vector_grad):
    """The same, on Numba's threads."""
    for task in numba.prange(query.shape[0] * ((query.shape[2] + PIECE - 1) // PIECE)):
        _pull_piece(task, grad, query, key, vector, query_grad, key_grad, vector_grad)


@numba.njit(parallel=True, cache=True)
def _touch(x):
    for i in numba.prange(x.size):
        x[i] = 1


def thread_layer() -> str:
    """Start Numba's threads and name the layer they run on; falls back to the work queue where no other is installed."""
    try:
        _touch(np.zeros(2, np.float32))
    except ValueError:
        config.THREADING_LAYER = "default"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _touch(np.zeros(2, np.float32))
    name: str = numba.np.ufunc.parallel.threading_layer()
    return name
