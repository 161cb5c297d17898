"""The compiled loop that finds the end of a nucleus, in Numba; imported at first use by `saccade.kernels.runtime`.

The bits of numbers ≥ 0 are in the order of the numbers. So those that begin with the same bits are weighed together, from
the largest on; where the share is reached, those that begin so are weighed by their next bits, until all bits are known.
"""

import numpy as np

from saccade.kernels.loops.jit import kernel, part, share_out
from saccade.kernels.loops.register_tiles import as_float

_KINDS = 1 << 11  # of the first 11 bits behind the sign, then of 10 and of 10
_FIRST, _NEXT = np.int32(20), np.int32(10)
_INFINITE = np.int32(0x7F800000)


@part(error_model="numpy")
def _weighed(row, known, shift, masses):
    """The sums of all numbers whose bits above this place and ten more are `known`, by the ten."""
    bits = row.view(np.int32)
    masses[:] = 0.0
    for j in range(row.size):
        kind = np.int32(bits[j] >> shift)
        if np.int32(kind >> _NEXT) == known:
            masses[kind & np.int32(1023)] += row[j]


@part(error_model="numpy")
def _weighed_first(row, masses):
    """The sums by the first bits; whether all are numbers."""
    bits = row.view(np.int32)
    masses[:] = 0.0
    wrong = False
    for j in range(row.size):
        wrong |= bits[j] > _INFINITE or bits[j] < 0
        masses[(bits[j] >> _FIRST) & np.int32(_KINDS - 1)] += row[j]
    return not wrong


@part
def _crossing(masses, above, goal):
    """The kind by which the goal is reached, or else the last that weighs anything, and what lies above it."""
    last, before = 0, above
    for kind in range(masses.size - 1, -1, -1):
        if masses[kind] > 0:
            last, before = kind, above
            above += masses[kind]
            if above >= goal:
                break
    return last, before


@part(error_model="numpy")
def _least(n, likely, share, least):
    row, masses = likely[n], np.empty(_KINDS, np.float64)
    if not _weighed_first(row, masses):
        least[n, 0] = np.nan
        return
    goal = share * masses.sum()
    kind, above = _crossing(masses, 0.0, goal)
    known = np.int32(kind)
    for shift in (_NEXT, np.int32(0)):
        _weighed(row, known, shift, masses[:1024])
        kind, above = _crossing(masses[:1024], above, goal)
        known = np.int32(np.int32(known << _NEXT) | np.int32(kind))
    least[n, 0] = as_float(known)


@kernel
def nucleus(team, likely, share, least):
    """Of each row the least number of its nucleus."""
    share_out(_least, likely.shape[0], team, (likely, share, least))
