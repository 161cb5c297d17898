"""The compiled loops of attention along the edges of a graph, in Numba; imported at first use by `saccade.kernels.runtime`.

Edges are sorted by target. Forward, a target scores its edges, takes the softmax of each head and adds up its sources: one
pass. Backward, a source goes through its own edges, gathers the gradients of their targets, and leaves the gradient of each
score behind, which the targets then add up: nothing is written by two tasks, so no sum depends on who came first.
Tasks are stretches of nodes with about as many edges each. Rows are named by their numbers, not cut out as slices: a slice
counts references, and that took longer than the arithmetic of an edge.
"""

import numpy as np

from saccade.kernels.loops.additive_loops import _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.head_loops import _LOWEST_SCORE, _exponential
from saccade.kernels.loops.jit import kernel, part, share_out
from saccade.kernels.loops.softmax_loops import _LOWEST, _ONE
from saccade.kernels.loops.vector_rows import add_scaled, dot_product, fetch

# So many edges ahead rows are asked for, so that what is far away in memory is on its way: twice as quick.
AHEAD = 16
_LINE = 64


@part
def _fetch_row(address, size):
    for first in range(0, size, _LINE):
        fetch(address + first)


@part(error_model="numpy")
def _fill(table, i, number):
    for h in range(table.shape[1]):
        table[i, h] = number


@part(fastmath=_EXACT, error_model="numpy")
def _add(table, i, rows, e):
    for h in range(table.shape[1]):
        table[i, h] += rows[e, h]


@part(fastmath=_EXACT, error_model="numpy")
def _score(query, i, key, j, slope, scores, e, top):
    for h in range(scores.shape[1]):
        x = query[i, h] + key[j, h]
        x *= _ONE if x > _ZERO else slope
        scores[e, h] = x
        top[i, h] = max(top[i, h], x)


@part(fastmath=_EXACT, error_model="numpy")
def _score_offset(query, i, key, j, offset, number, slope, scores, e, top):
    for h in range(scores.shape[1]):
        x = query[i, h] + key[j, h] + offset[number, h]
        x *= _ONE if x > _ZERO else slope
        scores[e, h] = x
        top[i, h] = max(top[i, h], x)


@part(fastmath=_EXACT, error_model="numpy")
def _raise(scores, e, top, i, total):
    """e to the scores less the largest; zero for what lies at the bottom."""
    for h in range(scores.shape[1]):
        x = scores[e, h] - top[i, h]
        x = _exponential(x) if x > _LOWEST else _ZERO
        scores[e, h] = x
        total[i, h] += x


@part(error_model="numpy")
def _weigh(i, first, last, given, value, scores, top, total):
    """exp(score - largest) of all edges of a target, and the sum for each head."""
    query, key, offset, order, source, slope = given
    key_size, size, keys, values = 4 * key.shape[1], 4 * value.shape[1], key.ctypes.data, value.ctypes.data
    for e in range(first, last):
        j = source[e]
        if e + AHEAD < source.size:
            fetch(keys + source[e + AHEAD] * key_size)
        if e < first + AHEAD:
            _fetch_row(values + j * size, size)
        if offset.size:
            _score_offset(query, i, key, j, offset, order[e], slope, scores, e - first, top)
        else:
            _score(query, i, key, j, slope, scores, e - first, top)
    for e in range(last - first):
        _raise(scores, e, top, i, total)


@part(fastmath=_EXACT, error_model="numpy")
def _strike(scores, e, kept, slot):
    for h in range(scores.shape[1]):
        scores[e, h] = scores[e, h] if kept[slot, h] else _ZERO


@part(error_model="numpy")
def _gather(first, last, source, value, scores, width, place):
    """Σ score · value, head by head, added to the row at an address."""
    H, start = scores.shape[1], value.ctypes.data
    size = 4 * H * width
    for e in range(first, last):
        if e + AHEAD < last:
            _fetch_row(start + source[e + AHEAD] * size, size)
        here = start + source[e] * size
        for h in range(H):
            add_scaled(scores[e - first, h], here + 4 * h * width, place + 4 * h * width, width)


@part(fastmath=_EXACT, error_model="numpy")
def _share(context, i, total, factor, width):
    """Sums of what was weighed over the sums of the weights, which become their inverse."""
    for h in range(total.shape[1]):
        total[i, h] = _ONE / total[i, h]
        scale = total[i, h] * factor
        for c in range(h * width, h * width + width):
            context[i, c] *= scale


@part(error_model="numpy")
def _pool_task(task, blocks, starts, given, value, kept, factor, context, top, inverse):
    H = top.shape[1]
    width, most = value.shape[1] // H, 0
    for i in range(blocks[task], blocks[task + 1]):
        most = max(most, starts[i + 1] - starts[i])
    scores = np.empty((most, H), np.float32)
    for i in range(blocks[task], blocks[task + 1]):
        first, last = starts[i], starts[i + 1]
        _fill(context, i, _ZERO)
        _fill(inverse, i, _ZERO)
        _fill(top, i, _ZERO if first == last else _LOWEST_SCORE)
        if first == last:
            continue
        _weigh(i, first, last, given, value, scores, top, inverse)
        if kept.size:
            for e in range(first, last):
                _strike(scores, e - first, kept, e)
        _gather(first, last, given[4], value, scores, width, context.ctypes.data + 4 * i * context.shape[1])
        _share(context, i, inverse, factor, width)


@kernel
def graph_forward(team, blocks, starts, given, value, kept, factor, context, top, inverse):
    """context[i, h] = Σ dropped(softmax(leaky(query[i, h] + key[j, h] + offset))) value[j, h] over the edges j → i."""
    share_out(_pool_task, blocks.size - 1, team, (blocks, starts, given, value, kept, factor, context, top, inverse))


@part(error_model="numpy")
def _ends_task(task, blocks, query, top, inverse, grad, context, ends):
    """What a target's edges need of it, side by side: query, largest score, inverse of the sum, and the mean pull."""
    H = query.shape[1]
    width, size = grad.shape[1] // H, 4 * grad.shape[1]
    for i in range(blocks[task], blocks[task + 1]):
        for h in range(H):
            ends[i, h], ends[i, H + h], ends[i, 2 * H + h] = query[i, h], top[i, h], inverse[i, h]
            head = i * size + 4 * h * width
            ends[i, 3 * H + h] = dot_product(grad.ctypes.data + head, context.ctypes.data + head, width)


@part(fastmath=_EXACT, error_model="numpy")
def _weights_again(ends, i, key, j, offset, number, slope, weights, slopes):
    H = key.shape[1]
    for h in range(H):
        x = ends[i, h] + key[j, h]
        if number >= 0:
            x += offset[number, h]
        slopes[0, h] = _ONE if x > _ZERO else slope
        x = x * slopes[0, h] - ends[i, H + h]
        weights[0, h] = (_exponential(x) if x > _LOWEST else _ZERO) * ends[i, 2 * H + h]


@part(fastmath=_EXACT, error_model="numpy")
def _pull(weights, slopes, products, ends, i, key_grad, j, pulls, e):
    """From the gradient of weights to that of the sums that were scored."""
    H = key_grad.shape[1]
    for h in range(H):
        pulled = weights[0, h] * (products[0, h] - ends[i, 3 * H + h]) * slopes[0, h]
        pulls[e, h] = pulled
        key_grad[j, h] += pulled


@part(error_model="numpy")
def _source_task(task, blocks, starts, slots, targets, given, ends, value, grad, kept, factor, key_grad, value_grad, pulls):
    """The edges of each source: their weights again, and what they bring to the gradients."""
    key, offset, order, slope = given
    H, row, end = key.shape[1], 4 * value.shape[1], 4 * ends.shape[1]
    weights, slopes, products = (np.empty((1, H), np.float32), np.empty((1, H), np.float32), np.empty((1, H), np.float32))
    width, size = value.shape[1] // H, row // H
    for j in range(blocks[task], blocks[task + 1]):
        _fill(key_grad, j, _ZERO)
        _fill(value_grad, j, _ZERO)
        here, into = value.ctypes.data + j * row, value_grad.ctypes.data + j * row
        for e in range(starts[j], starts[j + 1]):
            i, slot = targets[e], slots[e]
            if e + AHEAD < targets.size:
                _fetch_row(grad.ctypes.data + targets[e + AHEAD] * row, row)
                _fetch_row(ends.ctypes.data + targets[e + AHEAD] * end, end)
            _weights_again(ends, i, key, j, offset, order[slot] if offset.size else -1, slope, weights, slopes)
            there = grad.ctypes.data + i * row
            for h in range(H):
                scale = factor if not kept.size or kept[slot, h] else _ZERO
                products[0, h] = scale * dot_product(there + h * size, here + h * size, width)
                add_scaled(weights[0, h] * scale, there + h * size, into + h * size, width)
            _pull(weights, slopes, products, ends, i, key_grad, j, pulls, e)


@part(error_model="numpy")
def _target_task(task, blocks, starts, places, pulls, query_grad):
    size = 4 * pulls.shape[1]
    for i in range(blocks[task], blocks[task + 1]):
        _fill(query_grad, i, _ZERO)
        for e in range(starts[i], starts[i + 1]):
            if e + AHEAD < places.size:
                fetch(pulls.ctypes.data + places[e + AHEAD] * size)
            _add(query_grad, i, pulls, places[e])


@kernel
def graph_backward(team, to, back, given, state, value, kept, factor, grad, ends, query_grad, key_grad, value_grad, pulls):
    """Gradients of `graph_forward`; `pulls` becomes the gradient of what each edge scored, with edges sorted by source."""
    blocks, starts, places = to
    sources, firsts, slots, targets = back
    query, top, inverse, context = state
    edges = (sources, firsts, slots, targets, given, ends, value, grad, kept, factor, key_grad, value_grad, pulls)
    share_out(_ends_task, blocks.size - 1, team, (blocks, query, top, inverse, grad, context, ends))
    share_out(_source_task, sources.size - 1, team, edges)
    share_out(_target_task, blocks.size - 1, team, (blocks, starts, places, pulls, query_grad))
