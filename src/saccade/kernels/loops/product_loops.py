"""The compiled loops of matrix products over panels of 16 columns, in Numba; imported by `saccade.kernels.runtime`."""

import numpy as np

from saccade.kernels.loops.jit import kernel, part, share_out
from saccade.kernels.loops.register_tiles import COLUMNS, byte_tile, float_tile

_six, _four, _two, _one = (float_tile(rows) for rows in (6, 4, 2, 1))
_six_bytes, _four_bytes, _two_bytes, _one_bytes = (byte_tile(rows) for rows in (6, 4, 2, 1))

# Rows of A that are worked through together: so many numbers of them stay in the second-level cache.
_NUMBERS = 48 * 1024
_TILE = 6


@part
def _rows_at_once(inner):
    return max(1, _NUMBERS // max(1, inner) // _TILE) * _TILE


@part
def _place(task, blocks, panels, few):
    """The block of rows and the panel of a task: few rows go through all their blocks before the next panel is fetched."""
    return (task % blocks, task // blocks) if few else (task // panels, task % panels)


@part
def _strip(a, a_row, a_step, rows, panel, inner, bias, lowest, c, c_row):
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
def _put(scratch, columns, out, top, left):
    """As many columns of the scratch as there are, in their place."""
    for i in range(scratch.shape[0]):
        for j in range(columns):
            out[top + i, left + j] = scratch[i, j]


@part
def _product_task(task, a, a_row, a_step, panels, bias, lowest, out):
    """One block of rows times one panel; a panel that is cut off at the right is written by way of a scratch."""
    number, inner, _ = panels.shape
    rows, width = out.shape
    at_once = _rows_at_once(inner)
    block, p = _place(task, (rows + at_once - 1) // at_once, number, rows < width)
    first = block * at_once
    count, columns = min(at_once, rows - first), min(COLUMNS, width - p * COLUMNS)
    start, panel = a + 4 * a_row * first, panels.ctypes.data + 4 * p * inner * COLUMNS
    added = bias.ctypes.data + 4 * p * COLUMNS
    if columns == COLUMNS:
        place = out.ctypes.data + 4 * (first * width + p * COLUMNS)
        _strip(start, a_row, a_step, count, panel, inner, added, lowest, place, width)
        return
    scratch = np.empty((count, COLUMNS), np.float32)
    _strip(start, a_row, a_step, count, panel, inner, added, lowest, scratch.ctypes.data, COLUMNS)
    _put(scratch, columns, out, first, p * COLUMNS)


@part
def _tasks(panels, out):
    at_once = _rows_at_once(panels.shape[1])
    return (out.shape[0] + at_once - 1) // at_once * panels.shape[0]


@kernel
def product(team, a, a_row, a_step, panels, bias, lowest, out):
    """out = max(A B + bias, lowest), A at the address `a` with these strides, B in panels (P, inner, 16)."""
    share_out(_product_task, _tasks(panels, out), team, (a, a_row, a_step, panels, bias, lowest, out))


@part
def _pack_task(p, b, panels):
    """Panel p of B (inner, N), whatever its strides; what B does not have is zero."""
    inner, width = b.shape
    columns = min(COLUMNS, width - p * COLUMNS)
    panel, part = panels[p], b[:, p * COLUMNS : p * COLUMNS + columns]
    for k in range(inner):
        for j in range(columns):
            panel[k, j] = part[k, j]
        for j in range(columns, COLUMNS):
            panel[k, j] = 0


@kernel
def pack(team, b, panels):
    """B (inner, N) in panels of 16 columns, (P, inner, 16)."""
    share_out(_pack_task, panels.shape[0], team, (b, panels))


@part
def _strip_bytes(a, a_row, row_scale, rows, panel, pairs, scale, bias, lowest, c, c_row):
    i = 0
    while i + 6 <= rows:
        _six_bytes(a + 2 * a_row * i, a_row, row_scale + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += 6
    if i + 4 <= rows:
        _four_bytes(a + 2 * a_row * i, a_row, row_scale + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += 4
    if i + 2 <= rows:
        _two_bytes(a + 2 * a_row * i, a_row, row_scale + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)
        i += 2
    if i < rows:
        _one_bytes(a + 2 * a_row * i, a_row, row_scale + 4 * i, panel, pairs, scale, bias, lowest, c + 4 * c_row * i, c_row)


@part
def _byte_task(task, a, row_scales, panels, scales, bias, lowest, out):
    number, pairs, _ = panels.shape
    rows, width = out.shape
    at_once = _rows_at_once(pairs)  # numbers of half the size, and twice as many
    block, p = _place(task, (rows + at_once - 1) // at_once, number, rows < width)
    first = block * at_once
    count, columns = min(at_once, rows - first), min(COLUMNS, width - p * COLUMNS)
    start, own = a.ctypes.data + 2 * a.shape[1] * first, row_scales.ctypes.data + 4 * first
    panel = panels.ctypes.data + 2 * p * pairs * COLUMNS
    scale, added = scales.ctypes.data + 4 * p * COLUMNS, bias.ctypes.data + 4 * p * COLUMNS
    if columns == COLUMNS:
        place = out.ctypes.data + 4 * (first * width + p * COLUMNS)
        _strip_bytes(start, a.shape[1], own, count, panel, pairs, scale, added, lowest, place, width)
        return
    scratch = np.empty((count, COLUMNS), np.float32)
    place = scratch.ctypes.data
    _strip_bytes(start, a.shape[1], own, count, panel, pairs, scale, added, lowest, place, COLUMNS)
    _put(scratch, columns, out, first, p * COLUMNS)


@kernel
def byte_product(team, a, row_scales, panels, scales, bias, lowest, out):
    """out = max(row_scales · scales · (A B) + bias, lowest), A (N, inner) of 16 bits, B in panels (P, inner / 2, 32)."""
    share_out(_byte_task, _tasks(panels, out), team, (a, row_scales, panels, scales, bias, lowest, out))


@part
def _round_row(i, x, limit, rounded, scales):
    row, out = x[i], rounded[i]
    largest, wrong = np.float32(0), False
    for k in range(row.size):
        largest = max(largest, abs(row[k]))
        wrong |= not np.isfinite(row[k])
    factor = limit / largest if largest > 0 and not wrong else np.float32(0)
    scales[i] = np.float32(np.nan) if wrong else largest / limit
    for k in range(row.size):
        out[k] = np.int16(0) if wrong else np.int16(np.rint(row[k] * factor))
    for k in range(row.size, out.size):
        out[k] = 0


@kernel
def round_rows(team, x, limit, rounded, scales):
    """Each row of x as whole numbers of at most `limit`, times its own scale."""
    share_out(_round_row, x.shape[0], team, (x, limit, rounded, scales))
