"""The compiled loops of a Neural Turing Machine, in Numba; imported at first use by `saccade.kernels.runtime`.

A task is one sequence from its first step to its last: controller, heads, memory. The memory lies column by column, (M, N),
so that every loop over its N rows is vector instructions. What a controller says for its heads is one row of numbers: of
each head key, strength, gate, shifts and sharpness, then of each that writes what it erases and what it adds.
"""

import math

import numpy as np

from saccade.kernels.loops.additive_loops import _ZERO
from saccade.kernels.loops.cell_loops import _EXACT, _HALF, _ONE, _lstm, _lstm_pull, _sigmoid, _tanh
from saccade.kernels.loops.jit import copy, kernel, part, share_out
from saccade.kernels.loops.register_tiles import as_float
from saccade.kernels.loops.softmax_loops import _largest, exponential
from saccade.kernels.loops.vector_rows import add_scaled, add_scaled_rows, dot_product, dot_products

_LEAST, _FEWEST, _LOUD = np.float32(1e-30), np.float32(1e-12), 20.0
# log x = e log 2 + log m with m between √½ and √2: the polynomial of Cephes' logf, log 2 in two parts.
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = (
    np.float32(c)
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
_LOG2_HIGH, _LOG2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROOT_HALF, _MANTISSA, _FIELD, _BIAS = np.int32(0x3F3504F3), np.int32(0x007FFFFF), np.int32(23), np.int32(0x3F800000)


@part(fastmath=_EXACT, error_model="numpy")
def _logarithms(row, peak, out):
    """log max(row / peak, 1e-12)."""
    for i in range(out.size):
        out[i] = max(row[i] / peak, _FEWEST)
    bits = out.view(np.int32)
    for i in range(out.size):
        high = np.int32(bits[i] - _ROOT_HALF)
        x = as_float(np.int32(np.int32(high & _MANTISSA) + _ROOT_HALF)) - _ONE
        e = np.float32(np.int32(high >> _FIELD))
        z = x * x
        y = ((((((((_L0 * x + _L1) * x + _L2) * x + _L3) * x + _L4) * x + _L5) * x + _L6) * x + _L7) * x + _L8) * x * z
        out[i] = x + (y + e * _LOG2_LOW - _HALF * z) + e * _LOG2_HIGH


@part(error_model="numpy")
def _softplus(x):
    return np.float32(x if x > _LOUD else math.log1p(math.exp(x)))


@part(error_model="numpy")
def _total(row, ones):
    return dot_product(row.ctypes.data, ones.ctypes.data, row.size)


@part(fastmath=_EXACT, error_model="numpy")
def _tanhs(row, out):
    for d in range(out.size):
        out[d] = _tanh(row[d])


@part(fastmath=_EXACT, error_model="numpy")
def _sigmoids(row, out):
    for d in range(out.size):
        out[d] = _sigmoid(row[d])


@part(fastmath=_EXACT, error_model="numpy")
def _squares(row, sums):
    """In double precision, in which no square of a float32 vanishes."""
    for i in range(sums.size):
        sums[i] += np.float64(row[i]) * np.float64(row[i])


@part(fastmath=_EXACT, error_model="numpy")
def _inverse_roots(sums, out):
    for i in range(out.size):
        out[i] = np.float32(1.0 / math.sqrt(sums[i])) if sums[i] > 0 else _ZERO


@part(error_model="numpy")
def _inverse_lengths(memory, sums, out):
    """1 / |row| of each row of the memory; 0 where it is nothing."""
    sums[:] = 0
    for m in range(memory.shape[0]):
        _squares(memory[m], sums)
    _inverse_roots(sums, out)


@part(error_model="numpy")
def _inverse_length(key):
    total = 0.0
    for m in range(key.size):
        total += np.float64(key[m]) * np.float64(key[m])
    return np.float32(1.0 / math.sqrt(total)) if total > 0 else _ZERO


@part(error_model="numpy")
def _shares(row, out):
    """The softmax of a few numbers."""
    top, total = row[0], 0.0
    for j in range(row.size):
        top = max(top, row[j])
    for j in range(row.size):
        total += math.exp(np.float64(row[j] - top))
    for j in range(row.size):
        out[j] = np.float32(math.exp(np.float64(row[j] - top)) / total)


@part(fastmath=_EXACT, error_model="numpy")
def _multiply(row, factor, lengths):
    for i in range(row.size):
        row[i] *= factor * lengths[i]


@part(fastmath=_EXACT, error_model="numpy")
def _powers(row, factor, top, out):
    for i in range(out.size):
        out[i] = exponential(factor * row[i] - top)


@part(fastmath=_EXACT, error_model="numpy")
def _scale(row, factor):
    for i in range(row.size):
        row[i] *= factor


@part(fastmath=_EXACT, error_model="numpy")
def _mix(gate, content, before, out):
    for i in range(out.size):
        out[i] = gate * content[i] + (_ONE - gate) * before[i]


@part
def _close(ring, most):
    """What stands in the middle of the row also stands before it and behind it: a circle."""
    N = ring.size - 2 * most
    for j in range(most):
        ring[j] = ring[N + j]
        ring[most + N + j] = ring[most + j]


@part(error_model="numpy")
def _address(raw, memory, lengths, before, shift, key, ring, ones, cosines, content, turned, logs, weights):
    """Equations 5 to 9: where a head goes, and all that its gradient needs."""
    M, N = memory.shape
    most = shift.size // 2
    _tanhs(raw[:M], key)
    strength, gate = _softplus(raw[M]), _sigmoid(raw[M + 1])
    _shares(raw[M + 2 : M + 2 + shift.size], shift)
    sharpness = _ONE + _softplus(raw[M + 2 + shift.size])
    cosines[:] = _ZERO
    for m in range(M):
        add_scaled(key[m], memory[m].ctypes.data, cosines.ctypes.data, N)
    _multiply(cosines, _inverse_length(key), lengths)
    _powers(cosines, strength, strength * _largest(cosines), content)
    _scale(content, _ONE / _total(content, ones))
    _mix(gate, content, before, ring[most : most + N])
    _close(ring, most)
    turned[:] = _ZERO
    for j in range(shift.size):
        add_scaled(shift[j], ring.ctypes.data + 4 * (2 * most - j), turned.ctypes.data, N)
    _logarithms(turned, max(_largest(turned), _LEAST), logs)
    _powers(logs, sharpness, _ZERO, weights)
    _scale(weights, _ONE / _total(weights, ones))


@part(fastmath=_EXACT, error_model="numpy")
def _pull_powers(weights, pull, mean, sharpness, peak, turned, out):
    """From the pull of the weights to that of what was sharpened; weights w (pull - mean) are left in `pull`."""
    for i in range(out.size):
        own = weights[i] * (pull[i] - mean)
        pull[i] = own
        out[i] = sharpness * own / turned[i] if turned[i] >= _FEWEST * peak else _ZERO


@part(fastmath=_EXACT, error_model="numpy")
def _apart(content, before, out):
    for i in range(out.size):
        out[i] = content[i] - before[i]


@part(fastmath=_EXACT, error_model="numpy")
def _pull_softmax(content, pull, gate, mean, out):
    for i in range(out.size):
        out[i] = content[i] * gate * (pull[i] - mean)


@part(fastmath=_EXACT, error_model="numpy")
def _times(row, factor, lengths, cosines, shared):
    """The pull of cosines over lengths, in place; and what of it falls back on the rows themselves."""
    for i in range(row.size):
        row[i] *= factor * lengths[i]
        shared[i] += row[i] * cosines[i]


@part(error_model="numpy")
def _pull_address(
    raw, memory, lengths, before, shift, key, ring, ones, cosines, content, turned, logs, weights,
    pull, scratch, shared, dmemory, draw,
):  # fmt: skip
    """The gradients of `_address`: `pull`, that of its weights, becomes that of the weights before; `shared` adds up what
    all heads do to the rows along themselves."""
    M, N = memory.shape
    most, size = shift.size // 2, 4
    middle = ring[most : most + N]
    _tanhs(raw[:M], key)
    strength, gate = _softplus(raw[M]), _sigmoid(raw[M + 1])
    _shares(raw[M + 2 : M + 2 + shift.size], shift)
    sharp = raw[M + 2 + shift.size]
    sharpness = _ONE + _softplus(sharp)
    mean = dot_product(pull.ctypes.data, weights.ctypes.data, N)
    _pull_powers(weights, pull, mean, sharpness, max(_largest(turned), _LEAST), turned, scratch)
    draw[M + 2 + shift.size] = dot_product(pull.ctypes.data, logs.ctypes.data, N) * _sigmoid(sharp)
    # The shift: what was turned, once more, and its pull; then turned back.
    _mix(gate, content, before, middle)
    _close(ring, most)
    slopes, inner = draw[M + 2 : M + 2 + shift.size], _ZERO
    for j in range(shift.size):
        slopes[j] = dot_product(scratch.ctypes.data, ring.ctypes.data + size * (2 * most - j), N)
        inner += slopes[j] * shift[j]
    copy(scratch, middle)
    _close(ring, most)
    pull[:] = _ZERO
    for j in range(shift.size):
        add_scaled(shift[j], ring.ctypes.data + size * j, pull.ctypes.data, N)
        slopes[j] = shift[j] * (slopes[j] - inner)
    _apart(content, before, scratch)
    draw[M + 1] = dot_product(pull.ctypes.data, scratch.ctypes.data, N) * gate * (_ONE - gate)
    _pull_softmax(content, pull, gate, dot_product(content.ctypes.data, pull.ctypes.data, N), scratch)
    _scale(pull, _ONE - gate)
    along = dot_product(scratch.ctypes.data, cosines.ctypes.data, N)
    draw[M] = along * _sigmoid(raw[M])
    # The cosines: each unit vector's pull without its part along the vector.
    inverse = _inverse_length(key)
    _times(scratch, strength, lengths, cosines, shared)
    for m in range(M):
        unit = key[m] * inverse
        straight = dot_product(scratch.ctypes.data, memory[m].ctypes.data, N)
        draw[m] = inverse * (straight - unit * strength * along) * (_ONE - key[m] * key[m])
        add_scaled(unit, scratch.ctypes.data, dmemory[m].ctypes.data, N)


@part(fastmath=_EXACT, error_model="numpy")
def _erase(row, weights, erase):
    for i in range(row.size):
        row[i] *= _ONE - weights[i] * erase


@part(error_model="numpy")
def _write(changes, memory, weights, erase, add, out):
    """Equations 3 and 4: all heads erase before any adds."""
    M, N = memory.shape
    for h in range(weights.shape[0]):
        _sigmoids(changes[2 * M * h : 2 * M * h + M], erase[h])
        _tanhs(changes[2 * M * h + M : 2 * M * (h + 1)], add[h])
    for m in range(M):
        copy(memory[m], out[m])
        for h in range(weights.shape[0]):
            _erase(out[m], weights[h], erase[h, m])
        for h in range(weights.shape[0]):
            add_scaled(add[h, m], weights[h].ctypes.data, out[m].ctypes.data, N)


@part(fastmath=_EXACT, error_model="numpy")
def _against(row, pull, out):
    for i in range(out.size):
        out[i] = -row[i] * pull[i]


@part(error_model="numpy")
def _pull_write(changes, memory, weights, erase, add, scratch, pull, dweights, dchanges):
    """Its gradients: `pull` (M, N), that of the memory after, becomes that of the memory before."""
    M, N = memory.shape
    heads = weights.shape[0]
    for h in range(heads):
        _sigmoids(changes[2 * M * h : 2 * M * h + M], erase[h])
        _tanhs(changes[2 * M * h + M : 2 * M * (h + 1)], add[h])
    for m in range(M):
        for h in range(heads):
            first, e, a = 2 * M * h + m, erase[h, m], add[h, m]
            _against(memory[m], pull[m], scratch)
            for other in range(heads):
                if other != h:
                    _erase(scratch, weights[other], erase[other, m])
            add_scaled(e, scratch.ctypes.data, dweights[h].ctypes.data, N)
            add_scaled(a, pull[m].ctypes.data, dweights[h].ctypes.data, N)
            dchanges[first] = dot_product(scratch.ctypes.data, weights[h].ctypes.data, N) * e * (_ONE - e)
            dchanges[first + M] = dot_product(pull[m].ctypes.data, weights[h].ctypes.data, N) * (_ONE - a * a)
        for h in range(heads):
            _erase(pull[m], weights[h], erase[h, m])


@part(error_model="numpy")
def _add_product(matrix, vector, out):
    """out += matrix · vector, four rows at a time."""
    rows, count = matrix.shape
    one = vector.ctypes.data
    for p in range(0, rows - rows % 4, 4):
        first = matrix[p].ctypes.data
        four = dot_products(one, (first, first + 4 * count, first + 8 * count, first + 12 * count), count)
        for q in range(4):
            out[p + q] += four[q]
    for p in range(rows - rows % 4, rows):
        out[p] += dot_product(one, matrix[p].ctypes.data, count)


@part(error_model="numpy")
def _add_turned_product(matrix, vector, out):
    """out += matrix' · vector."""
    rows, count = matrix.shape
    for p in range(0, rows - rows % 4, 4):
        first = matrix[p].ctypes.data
        four = (vector[p], vector[p + 1], vector[p + 2], vector[p + 3])
        where = (first, first + 4 * count, first + 8 * count, first + 12 * count)
        add_scaled_rows(four, where, out.ctypes.data, count)
    for p in range(rows - rows % 4, rows):
        add_scaled(vector[p], matrix[p].ctypes.data, out.ctypes.data, count)


@part(error_model="numpy")
def _control(gates, state_weight, own, before, out):
    """The controller's next state: tanh of what it was told, or an LSTM's step. `own` are all gates but the input's."""
    H = out.size
    if state_weight.shape[1]:
        H = state_weight.shape[1]
        _add_product(state_weight, before[:H], own)
        _lstm(
            gates[:H], gates[H : 2 * H], gates[2 * H : 3 * H], gates[3 * H :],
            own[:H], own[H : 2 * H], own[2 * H : 3 * H], own[3 * H :], before[H:], out[:H], out[H:],
        )  # fmt: skip
    else:
        for d in range(H):
            own[d] += gates[d]
        _tanhs(own, out)


@part(error_model="numpy")
def _run_row(
    b, shifts, gates, read_weight, state_weight, number_weight, number_bias, inner, states, numbers,
    memories, weights, reads, kept, floats, sums,
):  # fmt: skip
    T, kinds, (M, N), heads = gates.shape[0], memories.shape[0], memories.shape[2:], weights.shape[2]
    read, H = reads.shape[2] // M, number_weight.shape[1]
    lengths, ones, rest = floats[b, 0, :N], floats[b, 1, :N], floats[b, 2]
    key, shift, ring = rest[:M], rest[M : M + shifts], floats[b, 3, : N + shifts - 1]
    ones[:] = _ONE
    across = M + 2 + shifts + 1
    erase, add = floats[b, 4 : 4 + heads - read, :M], floats[b, 4 : 4 + heads - read, M : 2 * M]
    for t in range(T):
        own = inner[t, b]
        own[:] = _ZERO
        _add_product(read_weight, reads[t, b], own)
        _control(gates[t, b], state_weight, own, states[t, b], states[t + 1, b])
        said = numbers[t, b]
        copy(number_bias, said)
        _add_product(number_weight, states[t + 1, b, :H], said)
        memory = memories[t % kinds, b]
        _inverse_lengths(memory, sums[b], lengths)
        for h in range(heads):
            _address(
                said[across * h : across * (h + 1)], memory, lengths, weights[t, b, h], shift, key, ring, ones,
                kept[0, t, b, h], kept[1, t, b, h], kept[2, t, b, h], kept[3, t, b, h], weights[t + 1, b, h],
            )  # fmt: skip
        for h in range(read):
            for m in range(M):
                reads[t + 1, b, h * M + m] = dot_product(weights[t + 1, b, h].ctypes.data, memory[m].ctypes.data, N)
        _write(said[across * heads :], memory, weights[t + 1, b, read:], erase, add, memories[(t + 1) % kinds, b])


@kernel
def machine_forward(
    team, shifts, gates, read_weight, state_weight, number_weight, number_bias, inner, states, numbers,
    memories, weights, reads, kept, floats, sums,
):  # fmt: skip
    """All steps of all sequences: states (T + 1, B, S), memories (T + 1 or 2, B, M, N), weights (T + 1, B, heads, N) and
    reads (T + 1, B, R · M), of which the first is given."""
    share_out(
        _run_row, gates.shape[1], team,
        (shifts, gates, read_weight, state_weight, number_weight, number_bias, inner, states, numbers,
         memories, weights, reads, kept, floats, sums),
    )  # fmt: skip


@part(fastmath=_EXACT, error_model="numpy")
def _pull_tanhs(out, pull, slopes):
    for d in range(slopes.size):
        slopes[d] = pull[d] * (_ONE - out[d] * out[d])


@part(fastmath=_EXACT, error_model="numpy")
def _lower(row, shared, lengths, out):
    for i in range(out.size):
        out[i] -= shared[i] * (row[i] * lengths[i])


@part(fastmath=_EXACT, error_model="numpy")
def _add(row, out):
    for d in range(out.size):
        out[d] += row[d]


@part(error_model="numpy")
def _pull_control(gates, state_weight, own, before, after, pull, slopes, spare):
    """The gradient of the gates; `pull`, that of the state after, becomes that of the state before."""
    H = state_weight.shape[1]
    if H:
        _lstm_pull(
            gates[:H], gates[H : 2 * H], gates[2 * H : 3 * H], gates[3 * H :],
            own[:H], own[H : 2 * H], own[2 * H : 3 * H], own[3 * H :], before[H:], pull[:H], pull[H:],
            slopes[:H], slopes[H : 2 * H], slopes[2 * H : 3 * H], slopes[3 * H :], spare[H:],
        )  # fmt: skip
        spare[:H] = _ZERO
        _add_turned_product(state_weight, slopes, spare[:H])
        copy(spare, pull)
    else:
        _pull_tanhs(after, pull, slopes)
        pull[:] = _ZERO


@part(error_model="numpy")
def _pull_row(
    b, shifts, gates, read_weight, state_weight, number_weight, inner, states, numbers, memories, weights, reads, kept,
    dhidden, dreads, dgates, dnumbers, pull, dstate, dmemory, dweights, floats, sums,
):  # fmt: skip
    T, (M, N), heads, H = gates.shape[0], memories.shape[2:], weights.shape[2], number_weight.shape[1]
    read = reads.shape[2] // M
    lengths, ones, rest, scratch, shared = (
        floats[b, 0, :N], floats[b, 1, :N], floats[b, 2], floats[b, 4, :N], floats[b, 5, :N],
    )  # fmt: skip
    key, shift, ring = rest[:M], rest[M : M + shifts], floats[b, 3, : N + shifts - 1]
    ones[:] = _ONE
    across = M + 2 + shifts + 1
    erase, add = floats[b, 6 : 6 + heads - read, :M], floats[b, 6 : 6 + heads - read, M : 2 * M]
    for t in range(T - 1, -1, -1):
        said, slopes, memory = numbers[t, b], dnumbers[t, b], memories[t, b]
        _add(dreads[t, b], pull[b])
        _pull_write(
            said[across * heads :], memory, weights[t + 1, b, read:], erase, add, scratch, dmemory[b],
            dweights[b, read:], slopes[across * heads :],
        )  # fmt: skip
        for h in range(read):
            for m in range(M):
                add_scaled(pull[b, h * M + m], memory[m].ctypes.data, dweights[b, h].ctypes.data, N)
                add_scaled(pull[b, h * M + m], weights[t + 1, b, h].ctypes.data, dmemory[b, m].ctypes.data, N)
        _inverse_lengths(memory, sums[b], lengths)
        shared[:] = _ZERO
        for h in range(heads):
            _pull_address(
                said[across * h : across * (h + 1)], memory, lengths, weights[t, b, h], shift, key, ring, ones,
                kept[0, t, b, h], kept[1, t, b, h], kept[2, t, b, h], kept[3, t, b, h], weights[t + 1, b, h],
                dweights[b, h], scratch, shared, dmemory[b], slopes[across * h : across * (h + 1)],
            )  # fmt: skip
        for m in range(M):
            _lower(memory[m], shared, lengths, dmemory[b, m])
        _add(dhidden[t, b], dstate[0, b, :H])
        _add_turned_product(number_weight, slopes, dstate[0, b, :H])
        _pull_control(
            gates[t, b], state_weight, inner[t, b], states[t, b], states[t + 1, b], dstate[0, b], dgates[t, b], dstate[1, b]
        )
        pull[b, :] = _ZERO
        _add_turned_product(read_weight, dgates[t, b], pull[b])


@kernel
def machine_backward(
    team, shifts, gates, read_weight, state_weight, number_weight, inner, states, numbers, memories, weights, reads, kept,
    dhidden, dreads, dgates, dnumbers, pull, dstate, dmemory, dweights, floats, sums,
):  # fmt: skip
    """The gradients of gates and numbers (T, B, …), and in `pull` and `dweights` those of the first reads and weights."""
    share_out(
        _pull_row, gates.shape[1], team,
        (shifts, gates, read_weight, state_weight, number_weight, inner, states, numbers, memories, weights, reads, kept,
         dhidden, dreads, dgates, dnumbers, pull, dstate, dmemory, dweights, floats, sums),
    )  # fmt: skip
