"""The compiled loops of recurrent cells, in Numba; imported at first use by `saccade.kernels.runtime`.

A cell takes what its input says (`x`) and what its last state says (`a`), both (B, gates), and the state itself; a row
that is not live keeps its state. The backward loops compute the gates again instead of keeping them.
"""

import numpy as np

from saccade.kernels.loops.additive_loops import rational_tanh
from saccade.kernels.loops.jit import copy, inlined, kernel, part, share_out

# Nothing may be reordered or fused: Numba runs freshly compiled code and stores code that it generates once more, and
# where there is a choice the two may differ in the last bit, so that a resumed run would leave its path.
_EXACT = {"nsz", "nnan", "ninf"}
_HALF, _ONE = np.float32(0.5), np.float32(1)


_tanh = inlined(fastmath=_EXACT, error_model="numpy")(rational_tanh)


@inlined(fastmath=_EXACT, error_model="numpy")
def _sigmoid(x):
    return _HALF + _HALF * _tanh(_HALF * x)


@part(fastmath=_EXACT, error_model="numpy")
def _gru(xr, xz, xn, ar, az, an, h, out):
    for d in range(h.size):
        z = _sigmoid(xz[d] + az[d])
        n = _tanh(xn[d] + _sigmoid(xr[d] + ar[d]) * an[d])
        out[d] = n + z * (h[d] - n)


@part(fastmath=_EXACT, error_model="numpy")
def _gru_row(b, x, a, state, live, out):
    H = state.shape[1]
    if live[b]:
        _gru(x[b, :H], x[b, H : 2 * H], x[b, 2 * H :], a[b, :H], a[b, H : 2 * H], a[b, 2 * H :], state[b], out[b])
    else:
        copy(state[b], out[b])


@part(fastmath=_EXACT, error_model="numpy")
def _gru_pull(xr, xz, xn, ar, az, an, h, grad, dxr, dxz, dxn, dar, daz, dan, dh):
    for d in range(h.size):
        r, z = _sigmoid(xr[d] + ar[d]), _sigmoid(xz[d] + az[d])
        n = _tanh(xn[d] + r * an[d])
        g = grad[d]
        gate_n = g * (_ONE - z) * (_ONE - n * n)
        gate_z = g * (h[d] - n) * z * (_ONE - z)
        gate_r = gate_n * an[d] * r * (_ONE - r)
        dxn[d] = gate_n
        dan[d] = gate_n * r
        dxz[d] = gate_z
        daz[d] = gate_z
        dxr[d] = gate_r
        dar[d] = gate_r
        dh[d] = g * z


@part(fastmath=_EXACT, error_model="numpy")
def _gru_pull_row(b, x, a, state, live, grad, dx, da, dstate):
    H = state.shape[1]
    if live[b]:
        _gru_pull(
            x[b, :H], x[b, H : 2 * H], x[b, 2 * H :], a[b, :H], a[b, H : 2 * H], a[b, 2 * H :], state[b], grad[b],
            dx[b, :H], dx[b, H : 2 * H], dx[b, 2 * H :], da[b, :H], da[b, H : 2 * H], da[b, 2 * H :], dstate[b],
        )  # fmt: skip
    else:
        dx[b, :] = 0
        da[b, :] = 0
        copy(grad[b], dstate[b])


@part(fastmath=_EXACT, error_model="numpy")
def _lstm(xi, xf, xg, xo, ai, af, ag, ao, c, out_h, out_c):
    for d in range(c.size):
        fresh = _sigmoid(xi[d] + ai[d]) * _tanh(xg[d] + ag[d]) + _sigmoid(xf[d] + af[d]) * c[d]
        out_c[d] = fresh
        out_h[d] = _sigmoid(xo[d] + ao[d]) * _tanh(fresh)


@part(fastmath=_EXACT, error_model="numpy")
def _lstm_row(b, x, a, state, live, out):
    H = state.shape[1] // 2
    if live[b]:
        _lstm(
            x[b, :H], x[b, H : 2 * H], x[b, 2 * H : 3 * H], x[b, 3 * H :],
            a[b, :H], a[b, H : 2 * H], a[b, 2 * H : 3 * H], a[b, 3 * H :],
            state[b, H:], out[b, :H], out[b, H:],
        )  # fmt: skip
    else:
        copy(state[b], out[b])


@part(fastmath=_EXACT, error_model="numpy")
def _lstm_pull(xi, xf, xg, xo, ai, af, ag, ao, c, grad_h, grad_c, di, df, dg, do, dc):
    for d in range(c.size):
        i, f, g, o = _sigmoid(xi[d] + ai[d]), _sigmoid(xf[d] + af[d]), _tanh(xg[d] + ag[d]), _sigmoid(xo[d] + ao[d])
        t = _tanh(i * g + f * c[d])
        pull = grad_c[d] + grad_h[d] * o * (_ONE - t * t)
        di[d] = pull * g * i * (_ONE - i)
        df[d] = pull * c[d] * f * (_ONE - f)
        dg[d] = pull * i * (_ONE - g * g)
        do[d] = grad_h[d] * t * o * (_ONE - o)
        dc[d] = pull * f


@part(fastmath=_EXACT, error_model="numpy")
def _lstm_pull_row(b, x, a, state, live, grad, dx, da, dstate):
    H = state.shape[1] // 2
    if live[b]:
        _lstm_pull(
            x[b, :H], x[b, H : 2 * H], x[b, 2 * H : 3 * H], x[b, 3 * H :],
            a[b, :H], a[b, H : 2 * H], a[b, 2 * H : 3 * H], a[b, 3 * H :],
            state[b, H:], grad[b, :H], grad[b, H:],
            dx[b, :H], dx[b, H : 2 * H], dx[b, 2 * H : 3 * H], dx[b, 3 * H :], dstate[b, H:],
        )  # fmt: skip
        copy(dx[b], da[b])
        dstate[b, :H] = 0
    else:
        dx[b, :] = 0
        da[b, :] = 0
        copy(grad[b], dstate[b])


@kernel
def gru_forward(team, x, a, state, live, out):
    """One step of a gated recurrent unit, gates in the order reset, update, new; out (B, H)."""
    share_out(_gru_row, state.shape[0], team, (x, a, state, live, out))


@kernel
def gru_backward(team, x, a, state, live, grad, dx, da, dstate):
    """Its gradients; `dstate` without what flows through `a`."""
    share_out(_gru_pull_row, state.shape[0], team, (x, a, state, live, grad, dx, da, dstate))


@kernel
def lstm_forward(team, x, a, state, live, out):
    """One step of a long short-term memory, gates in the order input, forget, cell, output; state and out (B, h ‖ c)."""
    share_out(_lstm_row, state.shape[0], team, (x, a, state, live, out))


@kernel
def lstm_backward(team, x, a, state, live, grad, dx, da, dstate):
    """Its gradients; `dstate` without what flows through `a`."""
    share_out(_lstm_pull_row, state.shape[0], team, (x, a, state, live, grad, dx, da, dstate))
