"""The compiled loops of matrix products over weights laid out in panels, in Numba; imported by `saccade.kernels.runtime`.

Rows, weights and results are told by addresses, so that a kernel of several products (`layer_loops`) can make each of them
from a table. What belongs together comes as a tuple of whole numbers:
  weight  (form, numbers, bias, scales, inner, width): FLOATS, BYTES or NIBBLES, and where the parts are
  rows    (address, row stride, step stride, address of the rows' scales, count): float32, or 16-bit numbers with scales
  out     (address, row stride)
"""

import numpy as np
from numba.np.numpy_support import carray

from saccade.kernels.loops.activation_loops import RELU, activate
from saccade.kernels.loops.jit import kernel, part, share_out
from saccade.kernels.loops.register_tiles import COLUMNS, WIDE, float_tile, to_floats
from saccade.kernels.loops.rounded_tiles import GROUP, byte_tile, nibble_tile

FLOATS, BYTES, NIBBLES = range(3)
PANEL = 48  # columns

# A tile has as many rows as the registers hold the sums of.
_MOST, _SOME = (8, 4) if WIDE == 16 else (2, 2)
_six, _four, _two, _one = (float_tile(rows, COLUMNS) for rows in (6, 4, 2, 1))
_most_floats, _some_floats, _two_floats, _one_float = (float_tile(rows, PANEL) for rows in (_MOST, _SOME, 2, 1))
_most_bytes, _some_bytes, _two_bytes, _one_byte = (byte_tile(rows, PANEL) for rows in (_MOST, _SOME, 2, 1))
_most_nibbles, _some_nibbles, _two_nibbles, _one_nibble = (nibble_tile(rows, PANEL) for rows in (_MOST, _SOME, 2, 1))
_FLOOR = np.float32(-np.inf)

# Rows of A that are worked through together: so many numbers of them stay in the second-level cache.
_NUMBERS = 48 * 1024


@part
def _strip(a, a_row, a_step, rows, panel, inner, bias, lowest, c, c_row):
    """Rows times 16 columns."""
    i = 0
    while i + 6 <= rows:
        _six(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += 6
    if i + 4 <= rows:
        _four(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += 4
    if i + 2 <= rows:
        _two(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += 2
    if i < rows:
        _one(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)


@part
def _of_floats(a, a_row, a_step, rows, panel, inner, bias, lowest, c, c_row):
    """Rows times a panel."""
    i = 0
    while i + _MOST <= rows:
        _most_floats(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += _MOST
    if i + _SOME <= rows:
        _some_floats(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += _SOME
    if i + 2 <= rows:
        _two_floats(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)
        i += 2
    if i < rows:
        _one_float(a + 4 * a_row * i, a_row, a_step, panel, inner, bias, lowest, c + 4 * c_row * i, c_row)


@part
def _of_bytes(a, a_row, own, rows, panel, pairs, scale, bias, lowest, c, c_row):
    i = 0
    while i + _MOST <= rows:
        _most_bytes(a + 2 * a_row * i, a_row, own + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += _MOST
    if i + _SOME <= rows:
        _some_bytes(a + 2 * a_row * i, a_row, own + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += _SOME
    if i + 2 <= rows:
        _two_bytes(a + 2 * a_row * i, a_row, own + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += 2
    if i < rows:
        _one_byte(a + 2 * a_row * i, a_row, own + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)


@part
def _of_nibbles(a, a_row, own, rows, panel, groups, scale, bias, lowest, c, c_row):
    i = 0
    while i + _MOST <= rows:
        _most_nibbles(a + 2 * a_row * i, a_row, own + 4 * i, panel, groups, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += _MOST
    if i + _SOME <= rows:
        _some_nibbles(a + 2 * a_row * i, a_row, own + 4 * i, panel, groups, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += _SOME
    if i + 2 <= rows:
        _two_nibbles(a + 2 * a_row * i, a_row, own + 4 * i, panel, groups, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += 2
    if i < rows:
        _one_nibble(a + 2 * a_row * i, a_row, own + 4 * i, panel, groups, scale, bias, lowest, c + 4 * c_row * i, c_row)


@part
def _of_panel(p, weight, first, count, rows, lowest, c, c_row):
    """Rows from `first` on times panel p, in any form."""
    form, numbers, bias, scales, inner, _ = weight
    a, a_row, a_step, own, _ = rows
    added = bias + 4 * p * PANEL
    if form == FLOATS:
        panel = numbers + 4 * p * inner * PANEL
        _of_floats(a + 4 * a_row * first, a_row, a_step, count, panel, inner, added, lowest, c, c_row)
    elif form == BYTES:
        pairs = (inner + 1) // 2
        panel, scale = numbers + 2 * p * pairs * PANEL, scales + 4 * p * PANEL
        _of_bytes(a + 2 * a_row * first, a_row, own + 4 * first, count, panel, pairs, scale, added, lowest, c, c_row)
    else:
        groups = (inner + GROUP - 1) // GROUP
        panel, scale = numbers + p * groups * (GROUP // 2 * PANEL), scales + 4 * p * groups * PANEL
        _of_nibbles(a + 2 * a_row * first, a_row, own + 4 * first, count, panel, groups, scale, added, lowest, c, c_row)


@part
def rows_at_once(inner):
    """How many rows a task has."""
    return max(1, _NUMBERS // max(1, inner) // 8) * 8


@part
def product_tasks(weight, rows):
    """Into how many tasks a product is cut."""
    at_once = rows_at_once(weight[4])
    return (rows[4] + at_once - 1) // at_once * ((weight[5] + PANEL - 1) // PANEL)


@part
def product_task(task, weight, rows, activation, out):
    """One block of rows times one panel; a panel that is cut off at the right is written by way of a scratch.

    Few rows go through all their blocks before the next panel is fetched, many meet panel after panel.
    """
    inner, width = weight[4], weight[5]
    address, row = out
    at_once, panels = rows_at_once(inner), (width + PANEL - 1) // PANEL
    blocks = (rows[4] + at_once - 1) // at_once
    block, p = (task % blocks, task // blocks) if rows[4] < width else (task // panels, task % panels)
    first, left = block * at_once, p * PANEL
    count, columns = min(at_once, rows[4] - first), min(PANEL, width - left)
    lowest = np.float32(0) if activation == RELU else _FLOOR
    place = address + 4 * (first * row + left)
    if columns == PANEL:
        _of_panel(p, weight, first, count, rows, lowest, place, row)
    else:
        scratch = np.empty((count, PANEL), np.float32)
        _of_panel(p, weight, first, count, rows, lowest, scratch.ctypes.data, PANEL)
        for i in range(count):
            cut = carray(to_floats(place + 4 * i * row), (columns,))
            for j in range(columns):
                cut[j] = scratch[i, j]
    if activation > RELU:
        for i in range(count):
            activate(carray(to_floats(place + 4 * i * row), (columns,)), activation)


@kernel
def product(team, weight, rows, activation, out):
    """out = activation(A B + bias)."""
    share_out(product_task, product_tasks(weight, rows), team, (weight, rows, activation, out))


@part
def _pack_task(p, b, panels):
    """Panel p of B (inner, N), whatever its strides; what B does not have is zero."""
    inner, width = b.shape
    columns = min(PANEL, width - p * PANEL)
    panel, part = panels[p], b[:, p * PANEL : p * PANEL + columns]
    for k in range(inner):
        for j in range(columns):
            panel[k, j] = part[k, j]
        for j in range(columns, PANEL):
            panel[k, j] = 0


@kernel
def pack(team, b, panels):
    """B (inner, N) in panels of 48 columns, (P, inner, 48)."""
    share_out(_pack_task, panels.shape[0], team, (b, panels))


@part
def round_row(row, limit, out):
    """A row in whole numbers of at most `limit`, zeros behind it; its scale."""
    largest, wrong = np.float32(0), False
    for k in range(row.size):
        largest = max(largest, abs(row[k]))
        wrong |= not np.isfinite(row[k])
    factor = limit / largest if largest > 0 and not wrong else np.float32(0)
    for k in range(row.size):
        out[k] = np.int16(0) if wrong else np.int16(np.rint(row[k] * factor))
    for k in range(row.size, out.size):
        out[k] = 0
    return np.float32(np.nan) if wrong else np.float32(largest / limit)


@part
def _round_task(i, x, limit, rounded, scales):
    scales[i] = round_row(x[i], limit, rounded[i])


@kernel
def round_rows(team, x, limit, rounded, scales):
    """Each row of x as whole numbers of at most `limit`, times its own scale."""
    share_out(_round_task, x.shape[0], team, (x, limit, rounded, scales))
