"""The compiled loops of a softmax and its cross-entropy, in Numba; imported at first use by `saccade.kernels.runtime`.

exp(x) = 2^n · 2^f with n whole and |f| ≤ ½: a polynomial for the second, the bits of a float for the first. Below -87, where
float32 has no more whole numbers, it stays at e^-87: no denormal number, which would slow what is multiplied with it.
"""

import math

import numpy as np

from saccade.kernels.loops.additive_loops import _FAST, _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.jit import copy, inlined, kernel, part, share_out
from saccade.kernels.loops.register_tiles import as_float

_LOWEST, _LOG2E, _HALF = np.float32(-87.0), np.float32(math.log2(math.e)), np.float32(0.5)
_ONE = np.float32(1)
_BLOCK = 1024
_LEAST, _SIGN, _NO_SIGN, _INFINITE = np.int32(-(2**31)), np.int32(31), np.int32(2**31 - 1), np.int32(0x7F800000)
_BOTTOM, _HIGHEST = np.float32(-3.0e38), np.float32(87.0)
_LOG_ROWS, _CROSS_ROWS = 4, 16  # of a task
# 2^f = Σ (f ln 2)^k / k!, cut after the seventh power: 5e-9 on |f| ≤ ½.
_C1, _C2, _C3, _C4, _C5, _C6, _C7 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(1, 8))


@inlined(fastmath=_EXACT, error_model="numpy")
def exponential(x):
    """e^x for -87 ≤ x ≤ 87, and what it is there beyond them."""
    t = min(max(x, _LOWEST), _HIGHEST) * _LOG2E
    n = np.floor(t + _HALF)
    f = t - n
    power = ((((((_C7 * f + _C6) * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
    return power * as_float((np.int32(n) + np.int32(127)) << np.int32(23))


@part(error_model="numpy")
def _sum(row, scratch):
    """The sum, half laid upon half until one number is left: an order that no compiler may change."""
    half = row.size // 2
    count = row.size - half
    copy(row[half:count], scratch[half:count])  # the middle one, if there is one
    _lay(row[:half], row[count:], scratch[:half])
    while count > 1:
        half = count // 2
        _lay(scratch[:half], scratch[count - half : count], scratch[:half])
        count -= half
    return scratch[0]


@part(error_model="numpy")
def _lay(one, other, out):
    for j in range(out.size):
        out[j] = one[j] + other[j]


@part(error_model="numpy")
def _shift(row, bias):
    """Add the bias; how many numbers are not finite."""
    bad = 0
    for j in range(row.size):
        row[j] += bias[j]
        bad += row[j] - row[j] != _ZERO
    return bad


@part
def _largest(row):
    """As whole numbers: the bits of a float, all but the sign turned over in negative ones, are in its order. Numba makes
    vector instructions of that, and none of the largest of floats."""
    bits = row.view(np.int32)
    top = _LEAST
    for j in range(bits.size):
        top = max(top, np.int32(bits[j] ^ np.int32(np.int32(bits[j] >> _SIGN) & _NO_SIGN)))
    return as_float(np.int32(top ^ np.int32(np.int32(top >> _SIGN) & _NO_SIGN)))


@part(fastmath=_EXACT, error_model="numpy")
def _powers(row, top, bits):
    """The fractional power into the row, the bits of the whole power into `bits`."""
    for j in range(row.size):
        t = max(row[j] - top, _LOWEST) * _LOG2E
        n = np.floor(t + _HALF)
        f = t - n
        row[j] = ((((((_C7 * f + _C6) * f + _C5) * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
        bits[j] = (np.int32(n) + np.int32(127)) << np.int32(23)


@part(fastmath=_EXACT, error_model="numpy")
def _join(row, scales):
    for j in range(row.size):
        row[j] *= scales[j]


@part(fastmath=_EXACT, error_model="numpy")
def _scale(row, factor, minus):
    for j in range(row.size):
        row[j] = row[j] * factor - minus


@part(error_model="numpy")
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


@part
def _not_numbers(row):
    bits = row.view(np.int32)
    bad = np.int32(0)
    for j in range(bits.size):
        bad |= np.int32(np.int32(bits[j] & _NO_SIGN) > _INFINITE)
    return bad


@part(fastmath=_FAST, error_model="numpy")
def _exponents(row, top):
    total = _ZERO
    for j in range(row.size):
        total += exponential(row[j] - top)
    return total


@part(error_model="numpy")
def _level(row):
    """log Σ exp of a row, a block at a time: what was summed under a smaller top is brought under the new one."""
    top, total, bad = _BOTTOM, _ZERO, np.int32(0)
    for first in range(0, row.size, _BLOCK):
        here = row[first : first + _BLOCK]
        bad |= _not_numbers(here)
        highest = _largest(here)
        if highest > top:
            total *= np.float32(math.exp(top - highest))
            top = highest
        total += _exponents(here, top)
    if bad or top - top != _ZERO or top == _BOTTOM:
        return np.float32(np.nan)
    return top + np.float32(math.log(total))


@part(error_model="numpy")
def _levels(task, logits, levels):
    for n in range(task * _LOG_ROWS, min(task * _LOG_ROWS + _LOG_ROWS, logits.shape[0])):
        levels[n] = _level(logits[n])


@kernel
def log_totals(team, logits, levels):
    """log Σ exp of each row."""
    share_out(_levels, (logits.shape[0] + _LOG_ROWS - 1) // _LOG_ROWS, team, (logits, levels))


@part(error_model="numpy")
def _cross_rows(task, logits, bias, target, smoothing, losses):
    bits = np.empty(logits.shape[1], np.int32)
    for n in range(task * _CROSS_ROWS, min(task * _CROSS_ROWS + _CROSS_ROWS, logits.shape[0])):
        _cross_row(n, logits, bias, target, smoothing, bits, losses)


@kernel
def cross_entropy(team, logits, bias, target, smoothing, losses):
    """−log softmax(logits + bias) at the target, smoothed; `logits` become the gradient of their row's loss."""
    tasks = (logits.shape[0] + _CROSS_ROWS - 1) // _CROSS_ROWS
    share_out(_cross_rows, tasks, team, (logits, bias, target, smoothing, losses))
