"""The compiled loops themselves, in Numba; imported at first use by `saccade.kernels.runtime`.

Rows of the inner loops are taken as slices, so that each index is a plain non-negative counter and the loop becomes
vector instructions; `error_model="numpy"` drops the test for division by zero, which would prevent that. Each kernel is
a function of one task, shared out to threads by `saccade.kernels.loops.jit`.
"""

import numpy as np

from saccade.kernels.loops.jit import inlined, kernel, multiply, part, share_out
from saccade.kernels.loops.vector_rows import tanh_sum

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


_tanh = inlined(fastmath=_ORDERED, error_model="numpy")(rational_tanh)


@kernel(fastmath=_ORDERED, error_model="numpy")
def tanh(x, out):
    """The kernels' tanh over a vector: what the accuracy test measures."""
    for i in range(x.size):
        out[i] = _tanh(x[i])


# The sum of a score, in vector instructions whose order no compiler may change.
_score = tanh_sum(_LIMIT, (_P4, _P3, _P2, _P1, _P0), (_Q4, _Q3, _Q2, _Q1, _ONE))


@part(fastmath=_ORDERED, error_model="numpy")
def _score_row(task, query, key, vector, scores):
    """Scores of one query and a quarter of its keys."""
    Q, K = query.shape[1], key.shape[1]
    row, part = task // PARTS, task % PARTS
    b, i = row // Q, row % Q
    size = 4 * query.shape[2]
    one_query, keys = query.ctypes.data + row * size, key.ctypes.data + b * K * size
    for j in range(K * part // PARTS, K * (part + 1) // PARTS):
        scores[b, i, j] = _score(one_query, keys + j * size, vector.ctypes.data, vector.size)


@kernel
def additive_forward(team, query, key, vector, scores):
    """scores[b,i,j] = Σ_d vector[d] tanh(query[b,i,d] + key[b,j,d])."""
    share_out(_score_row, query.shape[0] * query.shape[1] * PARTS, team, (query, key, vector, scores))


@part(fastmath=_ORDERED, error_model="numpy")
def _pull(pull, query, key, query_grad, key_grad, vector_grad):
    for d in range(query.size):
        t = _tanh(query[d] + key[d])
        slope = pull - pull * t * t
        query_grad[d] += slope
        key_grad[d] += slope
        vector_grad[d] += pull * t


@part(fastmath=_ORDERED, error_model="numpy")
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
        multiply(pulled, v)
    for j in range(K):
        multiply(key_grad[b, j, low:high], v)


@kernel
def additive_backward(team, grad, query, key, vector, query_grad, key_grad, vector_grad):
    """Gradients of `additive_forward`, tanh computed again; `vector_grad` is (B, D), to be summed over B by the caller."""
    share_out(
        _pull_piece,
        query.shape[0] * ((query.shape[2] + PIECE - 1) // PIECE),
        team,
        (grad, query, key, vector, query_grad, key_grad, vector_grad),
    )
