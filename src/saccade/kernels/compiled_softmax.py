"""The compiled loops of a softmax and its cross-entropy, in Numba; imported at first use by `saccade.kernels.runtime`.

exp(x) = 2^n · 2^f with n whole and |f| ≤ ½: a polynomial for the second, the bits of a float for the first. Below -87, where
float32 has no more whole numbers, it stays at e^-87: no denormal number, which would slow what is multiplied with it.
"""

import math

import numba
import numpy as np

from saccade.kernels.compiled import _ZERO
from saccade.kernels.compiled_cells import _EXACT

_LOWEST, _LOG2E, _HALF = np.float32(-87.0), np.float32(math.log2(math.e)), np.float32(0.5)
_ONE = np.float32(1)
_BLOCK = 1024
# 2^f = Σ (f ln 2)^k / k!, cut after the seventh power: 5e-9 on |f| ≤ ½.
_C1, _C2, _C3, _C4, _C5, _C6, _C7 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(1, 8))


@numba.njit(error_model="numpy")
def _sum(row, scratch):
    """The sum, half laid upon half until one number is left: an order that no compiler may change."""
    half = row.size // 2
    count = row.size - half
    scratch[half:count] = row[half:count]  # the middle one, if there is one
    _lay(row[:half], row[count:], scratch[:half])
    while count > 1:
        half = count // 2
        _lay(scratch[:half], scratch[count - half : count], scratch[:half])
        count -= half
    return scratch[0]


@numba.njit(error_model="numpy")
def _lay(one, other, out):
    for j in range(out.size):
        out[j] = one[j] + other[j]


@numba.njit(error_model="numpy")
def _shift(row, bias):
    """Add the bias; how many numbers are not finite."""
    bad = 0
    for j in range(row.size):
        row[j] += bias[j]
        bad += row[j] - row[j] != _ZERO
    return bad


@numba.njit(fastmath=_EXACT, error_model="numpy")
def _largest(row):
    top = row[0]
    for j in range(row.size):
        top = max(top, row[j])
    return top


@numba.njit(fastmath=_EXACT, error_model="numpy")
def _powers(row, top, bits):
    """The fractional power into the row, the bits of the whole power into `bits`."""
    for j in range(row.size):
        t = max(row[j] - top, _LOWEST) * _LOG2E
        n = np.floor(t + _HALF)
        f = t - n
        row[j] = ((((((_C7 * f + _C6) * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
        bits[j] = (np.int32(n) + np.int32(127)) << np.int32(23)


@numba.njit(fastmath=_EXACT, error_model="numpy")
def _join(row, scales):
    for j in range(row.size):
        row[j] *= scales[j]


@numba.njit(fastmath=_EXACT, error_model="numpy")
def _scale(row, factor, minus):
    for j in range(row.size):
        row[j] = row[j] * factor - minus


@numba.njit(error_model="numpy")
def _cross_row(n, logits, bias, target, smoothing, bits, losses):
    row, wanted = logits[n], target[n]
    count = np.float32(row.size)
    if _shift(row, bias):
        losses[n] = np.nan
        row[:] = np.nan
        return
    top, answer = _largest(row), row[wanted]
    mean = _sum(row, bits.view(np.float32)) / count if smoothing else _ZERO
    _powers(row, top, bits)
    _join(row, bits.view(np.float32))
    total = _sum(row, bits.view(np.float32))
    level = top + np.float32(math.log(total))
    losses[n] = (_ONE - smoothing) * (level - answer) + smoothing * (level - mean)
    _scale(row, _ONE / total, smoothing / count)
    row[wanted] -= _ONE - smoothing


@numba.njit(error_model="numpy")
def _not_numbers(row):
    bad = 0
    for j in range(row.size):
        bad += row[j] != row[j]
    return bad


@numba.njit(error_model="numpy")
def _log_row(row, powers, bits):
    """log softmax of a row in its place, a block at a time, so that what is between stays in the first-level cache."""
    top = _largest(row)
    if _not_numbers(row) or top - top != _ZERO:
        row[:] = np.nan
        return
    total = _ZERO
    for first in range(0, row.size, _BLOCK):
        part = row[first : first + _BLOCK]
        here = powers[: part.size]
        here[:] = part
        _powers(here, top, bits[: part.size])
        _join(here, bits[: part.size].view(np.float32))
        total += _sum(here, bits[: part.size].view(np.float32))
    _scale(row, _ONE, top + np.float32(math.log(total)))


@numba.njit(cache=True)
def log_softmax(logits):
    """log softmax of each row, in its place."""
    powers, bits = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.int32)
    for n in range(logits.shape[0]):
        _log_row(logits[n], powers, bits)


@numba.njit(parallel=True, cache=True)
def log_softmax_threads(logits):
    """The same, on Numba's threads, a few rows each at a time."""
    tasks = (logits.shape[0] + 3) // 4
    for task in numba.prange(tasks):
        powers, bits = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.int32)
        for n in range(task * 4, min(task * 4 + 4, logits.shape[0])):
            _log_row(logits[n], powers, bits)


@numba.njit(cache=True)
def cross_entropy(logits, bias, target, smoothing, losses):
    """−log softmax(logits + bias) at the target, smoothed; `logits` become the gradient of their row's loss."""
    bits = np.empty(logits.shape[1], np.int32)
    for n in range(logits.shape[0]):
        _cross_row(n, logits, bias, target, smoothing, bits, losses)


@numba.njit(parallel=True, cache=True)
def cross_entropy_threads(logits, bias, target, smoothing, losses):
    """The same, on Numba's threads, a few rows each at a time."""
    tasks = (logits.shape[0] + 15) // 16
    for task in numba.prange(tasks):
        bits = np.empty(logits.shape[1], np.int32)
        for n in range(task * 16, min(task * 16 + 16, logits.shape[0])):
            _cross_row(n, logits, bias, target, smoothing, bits, losses)
