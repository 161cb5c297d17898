"""The compiled loops of attention over short sequences, all heads of a sample in one task, in Numba.

Every product is made of the tiles of `register_tiles`, on panels that fit the first-level cache. Tensors come as the flat
memory they live in, with an offset and strides (sample, head, place): heads side by side need not be copied apart.
"""

import numpy as np

from saccade.kernels.loops.additive_loops import _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.jit import inlined, kernel, part, share_out
from saccade.kernels.loops.product_loops import _strip
from saccade.kernels.loops.register_tiles import COLUMNS, as_float, copy_columns, copy_number
from saccade.kernels.loops.softmax_loops import _C1, _C2, _C3, _C4, _C5, _C6, _C7, _HALF, _LOG2E, _LOWEST, _ONE

_NOTHING = np.zeros(COLUMNS, np.float32)
_NO_FLOOR = np.float32(-np.inf)
# Below all scores; and where the search for the largest begins, so far above that their difference is as good as none.
_CLOSED, _LOWEST_SCORE = np.float32(-3.0e38), np.float32(-1.0e38)
# A number without its sign is as large as its bits.
_NO_SIGN, _LARGEST, _CLOSED_BITS = np.int32(0x7FFFFFFF), np.float32(1.0e37).view(np.int32), _CLOSED.view(np.int32)


@inlined
def _chance(number, seed):
    """16 random bits for a number: two rounds of a hash with good avalanche (the constants are Chris Wellons' lowbias32)."""
    x = np.uint32(number + np.uint32(seed))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) * np.uint32(0x846CA68B))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(16))) + np.uint32(seed >> np.uint64(32)))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x >> np.uint32(16))


@part(fastmath=_EXACT, error_model="numpy")
def _drop(block, first, seed, limit, factor):
    """Strike numbers of a flat block out, those whose chance is below the limit, and scale the others."""
    for e in range(block.size):
        block[e] = block[e] * factor if _chance(np.uint32(first + e), seed) >= limit else _ZERO


@part
def _rows(start, stride, count, panels):
    """Rows at an address in panels of 16 columns, (width / 16, count, 16)."""
    place = panels.ctypes.data
    for c in range(panels.shape[0]):
        for t in range(count):
            copy_columns(start + 4 * (t * stride + c * COLUMNS), place + 4 * COLUMNS * (c * count + t))


@part
def _columns(start, stride, count, panels):
    """Rows at an address turned into columns, (count / 16 rounded up, width, 16); those that there are not are zero."""
    width, place = panels.shape[1], panels.ctypes.data
    if count % COLUMNS:
        panels[panels.shape[0] - 1] = _ZERO
    for t in range(count):
        column = place + 4 * (t // COLUMNS * width * COLUMNS + t % COLUMNS)
        for d in range(width):
            copy_number(start + 4 * (t * stride + d), column + 4 * COLUMNS * d)


@part
def _times(a, a_row, a_step, rows, panels, inner, c, c_row):
    """Panel after panel, side by side at the address c."""
    size = 4 * panels.shape[1] * COLUMNS
    for p in range(panels.shape[0]):
        place = panels.ctypes.data + p * size
        _strip(a, a_row, a_step, rows, place, inner, _NOTHING.ctypes.data, _NO_FLOOR, c + 4 * p * COLUMNS, c_row)


@inlined(fastmath=_EXACT, error_model="numpy")
def _exponential(x):
    """e^x for -87 ≤ x ≤ 0."""
    t = max(x, _LOWEST) * _LOG2E
    n = np.floor(t + _HALF)
    f = t - n
    power = ((((((_C7 * f + _C6) * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
    return power * as_float((np.int32(n) + np.int32(127)) << np.int32(23))


@part(fastmath=_EXACT, error_model="numpy")
def _center(scores, scale):
    """Every row times the scale, less its largest number. Four numbers at a time: four chains do not wait for each other."""
    for i in range(scores.shape[0]):
        a = b = c = d = _LOWEST_SCORE
        for j in range(0, scores.shape[1], 4):
            a, b = max(a, scores[i, j]), max(b, scores[i, j + 1])
            c, d = max(c, scores[i, j + 2]), max(d, scores[i, j + 3])
        top = max(max(a, b), max(c, d))
        for j in range(scores.shape[1]):
            scores[i, j] = (scores[i, j] - top) * scale


@part(fastmath=_EXACT, error_model="numpy")
def _raise(flat):
    """e to every number; what lies at the bottom, or was closed, becomes zero."""
    for e in range(flat.size):
        flat[e] = _exponential(flat[e]) if flat[e] > _LOWEST else _ZERO


@part(fastmath=_EXACT, error_model="numpy")
def _share(scores):
    """Every row over its sum; a row of zeros stays so."""
    for i in range(scores.shape[0]):
        a = b = c = d = _ZERO
        for j in range(0, scores.shape[1], 4):
            a += scores[i, j]
            b += scores[i, j + 1]
            c += scores[i, j + 2]
            d += scores[i, j + 3]
        total = (a + b) + (c + d)
        factor = _ONE / total if total > _ZERO else _ZERO
        for j in range(scores.shape[1]):
            scores[i, j] *= factor


@part(error_model="numpy")
def _close(b, h, K, scores, allowed, causal):
    """What a head may not look at is put below all scores."""
    for i in range(scores.shape[0]):
        if allowed.size:
            b_, h_, q_ = b % allowed.shape[0], h % allowed.shape[1], i % allowed.shape[2]
            for j in range(K):
                if not allowed[b_, h_, q_, j]:
                    scores[i, j] = _CLOSED
        for j in range(min(K, i + 1) if causal else K, scores.shape[1]):
            scores[i, j] = _CLOSED


@part
def _odd(bits):
    """Whether any number, told by its bits, is open and larger than all that the loops are right for, inf and NaN too."""
    beyond = np.int32(0)
    for e in range(bits.size):
        beyond |= np.int32((bits[e] & _NO_SIGN) > _LARGEST) & np.int32(bits[e] != _CLOSED_BITS)
    return beyond != 0


@part
def _start(flat, places, number, b, h):
    """The address of the first number of a head."""
    return flat.ctypes.data + 4 * (places[number, 0] + b * places[number, 1] + h * places[number, 2])


@part
def _keep(scores, weights, b, h):
    for i in range(weights.shape[2]):
        for j in range(weights.shape[3]):
            weights[b, h, i, j] = scores[i, j]


@part
def _bring(weights, b, h, block):
    for i in range(weights.shape[2]):
        for j in range(weights.shape[3]):
            block[i, j] = weights[b, h, i, j]


@part(error_model="numpy")
def _forward_task(b, query, key, value, places, allowed, causal, scale, drops, weights, context, odd):
    H, Q, K, D, V = context.shape[2], context.shape[1], weights.shape[3], places[0, 4], context.shape[3]
    padded = (K + COLUMNS - 1) // COLUMNS
    keys, values = np.empty((padded, D, COLUMNS), np.float32), np.empty((V // COLUMNS, K, COLUMNS), np.float32)
    scores = np.empty((Q, padded * COLUMNS), np.float32)
    flat = scores.ravel()
    bits = flat.view(np.int32)
    seed, limit, factor = drops
    for h in range(H):
        _columns(_start(key, places, 1, b, h), places[1, 3], K, keys)
        _rows(_start(value, places, 2, b, h), places[2, 3], K, values)
        _times(_start(query, places, 0, b, h), places[0, 3], 1, Q, keys, D, scores.ctypes.data, padded * COLUMNS)
        _close(b, h, K, scores, allowed, causal)
        odd[b] |= _odd(bits)
        _center(scores, scale)
        _raise(flat)
        _share(scores)
        if b < weights.shape[0]:
            _keep(scores, weights, b, h)
        if limit:
            _drop(flat, np.uint32((b * H + h) * flat.size), seed, limit, factor)
        place = context.ctypes.data + 4 * V * (b * Q * H + h)
        _times(scores.ctypes.data, padded * COLUMNS, 1, Q, values, K, place, H * V)


@kernel
def heads_forward(team, query, key, value, places, allowed, causal, scale, drops, weights, context, odd):
    """context[b, :, h] = dropped(softmax(scale · q k')) v for all samples and heads; `weights` may be empty.

    `odd` marks samples with an open score that is not finite or too large: these are not what they should be.
    """
    share_out(
        _forward_task,
        context.shape[0],
        team,
        (query, key, value, places, allowed, causal, scale, drops, weights, context, odd),
    )


@part(fastmath=_EXACT, error_model="numpy")
def _pull(weights, b, h, pulls, scale):
    """The gradient of scores from that of weights, in its place."""
    for i in range(weights.shape[2]):
        mean = _ZERO
        for j in range(weights.shape[3]):
            mean += weights[b, h, i, j] * pulls[i, j]
        for j in range(weights.shape[3]):
            pulls[i, j] = weights[b, h, i, j] * (pulls[i, j] - mean) * scale


@part(error_model="numpy")
def _backward_task(b, query, key, value, pull, places, scale, drops, weights, dquery, dkey, dvalue):
    H, Q, K, D, V = weights.shape[1], weights.shape[2], weights.shape[3], dquery.shape[3], dvalue.shape[3]
    padded = (K + COLUMNS - 1) // COLUMNS
    wide = padded * COLUMNS
    turned, room = np.empty((padded, V, COLUMNS), np.float32), np.empty(max(D, V) * max(Q, K), np.float32)
    dropped, pulls = np.zeros((Q, wide), np.float32), np.empty((Q, wide), np.float32)
    flat_dropped, flat_pulls = dropped.ravel(), pulls.ravel()
    pulled, queries, known = _part(room, V, Q), _part(room, D, Q), _part(room, D, K)
    seed, limit, factor = drops
    for h in range(H):
        first, start = np.uint32((b * H + h) * dropped.size), _start(pull, places, 3, b, h)
        _bring(weights, b, h, dropped)
        _columns(_start(value, places, 2, b, h), places[2, 3], K, turned)
        _times(start, places[3, 3], 1, Q, turned, V, pulls.ctypes.data, wide)
        if limit:
            _drop(flat_dropped, first, seed, limit, factor)
            _drop(flat_pulls, first, seed, limit, factor)
        _rows(start, places[3, 3], Q, pulled)
        _times(dropped.ctypes.data, 1, wide, K, pulled, Q, dvalue.ctypes.data + 4 * V * (b * K * H + h), H * V)
        _pull(weights, b, h, pulls, scale)
        _rows(_start(key, places, 1, b, h), places[1, 3], K, known)
        _times(pulls.ctypes.data, wide, 1, Q, known, K, dquery.ctypes.data + 4 * D * (b * Q * H + h), H * D)
        _rows(_start(query, places, 0, b, h), places[0, 3], Q, queries)
        _times(pulls.ctypes.data, 1, wide, K, queries, Q, dkey.ctypes.data + 4 * D * (b * K * H + h), H * D)


@part
def _part(room, width, count):
    """As much of a room as so many rows of so many columns take, in panels."""
    return room[: width * count].reshape(width // COLUMNS, count, COLUMNS)


@kernel
def heads_backward(team, query, key, value, pull, places, scale, drops, weights, dquery, dkey, dvalue):
    """The gradients of queries, keys and values from that of the context; weights as they were before dropout."""
    share_out(
        _backward_task, dquery.shape[0], team, (query, key, value, pull, places, scale, drops, weights, dquery, dkey, dvalue)
    )
