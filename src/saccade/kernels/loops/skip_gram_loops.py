"""The compiled loop of skip-gram with negative sampling, in Numba; imported at first use by `runtime`.

One thread, pair after pair in the order in which they come: the same pairs give the same bits.
"""

import math

import numpy as np

from saccade.kernels.loops.jit import inlined, kernel
from saccade.kernels.loops.vector_rows import add_scaled, dot_product, fetch

_ONE, _ZERO = np.float32(1), np.float32(0)
LINE = 64  # bytes that the processor fetches at once


@inlined
def _ahead(start, size):
    for offset in range(0, size, LINE):
        fetch(start + offset)


@inlined
def _told(score, likely):
    """The pull of one score toward 1 or 0, and its loss: -log σ(score), or -log σ(-score)."""
    small = np.float32(math.exp(-abs(score)))
    share = (_ONE if score >= _ZERO else small) / (_ONE + small)
    missed = max(-score if likely else score, _ZERO) + np.float32(math.log1p(small))
    return (_ONE if likely else _ZERO) - share, missed


@kernel
def skip_gram(inputs, outputs, centers, contexts, negatives, rate, losses):
    """One step of descent for each pair, in place; `losses` gets each pair's loss before its step."""
    width, drawn = inputs.shape[1], negatives.shape[1]
    size = 4 * width
    first, second = inputs.ctypes.data, outputs.ctypes.data
    rows, pulls = np.empty(drawn + 1, np.int64), np.empty(drawn + 1, np.float32)
    moved = np.empty(width, np.float32)
    for pair in range(centers.size):
        if pair + 1 < centers.size:
            _ahead(second + contexts[pair + 1] * size, size)
            for n in range(drawn):
                _ahead(second + negatives[pair + 1, n] * size, size)
        center = first + centers[pair] * size
        count, total = 0, _ZERO
        for n in range(drawn + 1):
            word = contexts[pair] if n == 0 else negatives[pair, n - 1]
            if n > 0 and word == contexts[pair]:
                continue  # what was drawn is what stands there
            pull, missed = _told(dot_product(center, second + word * size, width), n == 0)
            rows[count], pulls[count] = second + word * size, rate * pull
            total += missed
            count += 1
        losses[pair] = total
        moved[:] = _ZERO
        for n in range(count):
            add_scaled(pulls[n], rows[n], moved.ctypes.data, width)
        for n in range(count):
            add_scaled(pulls[n], center, rows[n], width)
        add_scaled(_ONE, moved.ctypes.data, center, width)
