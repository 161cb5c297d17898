"""Recurrent cells: one step, and a whole sequence whose weight gradient is one matrix product at the end.

GRU (Cho et al. 2014) and LSTM (Hochreiter and Schmidhuber 1997) with torch's gate order and weights. A state is one
tensor (B, S): h for the GRU, h ‖ c for the LSTM. Their meaning is `gru_definition` and `lstm_definition`; float32 on the
CPU runs in `saccade.kernels.loops.cell_loops`. Autograd through a plain loop would add to the weight's gradient at every
step, reading and writing it whole each time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.products import product
from saccade.kernels.runtime import kernels_on, run


def gru_definition(x: Tensor, a: Tensor, state: Tensor) -> Tensor:
    """(B,3H) from the input, (B,3H) from the state, (B,H) -> (B,H)."""
    xr, xz, xn = x.chunk(3, -1)
    ar, az, an = a.chunk(3, -1)
    z = torch.sigmoid(xz + az)
    n = torch.tanh(xn + torch.sigmoid(xr + ar) * an)
    return n + z * (state - n)


def lstm_definition(x: Tensor, a: Tensor, state: Tensor) -> Tensor:
    """(B,4H), (B,4H), (B,2H) -> (B,2H)."""
    i, f, g, o = (x + a).chunk(4, -1)
    c = torch.sigmoid(i) * torch.tanh(g) + torch.sigmoid(f) * state.chunk(2, -1)[1]
    return torch.cat((torch.sigmoid(o) * torch.tanh(c), c), -1)


@dataclass(frozen=True)
class RecurrentCell:
    """A kind of cell: its name, how many gates and how many parts its state has, and its definition."""

    name: str
    gates: int
    parts: int
    definition: Callable[[Tensor, Tensor, Tensor], Tensor]


CELLS = {
    cell.name: cell for cell in (RecurrentCell("gru", 3, 1, gru_definition), RecurrentCell("lstm", 4, 2, lstm_definition))
}


def step(cell: RecurrentCell, x: Tensor, a: Tensor, state: Tensor) -> Tensor:
    """The next state (B, S) of every row."""
    if not kernels_on(x, a, state):
        return cell.definition(x, a, state)
    return applied(_Step, cell.name, x, a, state)


def sequence(
    cell: RecurrentCell, x: Tensor, start: Tensor, weight: Tensor, bias: Tensor, live: Tensor, *, backward: bool = False
) -> Tensor:
    """All states (T, B, S) along x (T, B, gates); where `live` (T, B) is False a row keeps its state."""
    if not kernels_on(x, start, weight, bias):
        return _plain_sequence(cell, x, start, weight, bias, live, backward)
    return applied(_Sequence, cell.name, x, start, weight, bias, live, backward)


def _plain_sequence(
    cell: RecurrentCell, x: Tensor, start: Tensor, weight: Tensor, bias: Tensor, live: Tensor, backward: bool
) -> Tensor:
    state, states = start, [start] * len(x)
    for t in _order(len(x), backward):
        a = torch.addmm(bias, state[:, : weight.shape[1]], weight.t())
        state = torch.where(live[t, :, None], cell.definition(x[t], a, state), state)
        states[t] = state
    return torch.stack(states)


def _order(steps: int, backward: bool) -> range:
    return range(steps - 1, -1, -1) if backward else range(steps)


@cache
def _all_live(rows: int) -> NDArray[np.bool_]:
    return np.ones(rows, dtype=np.bool_)


def _arrays(*tensors: Tensor) -> list[Any]:
    return [part.detach().contiguous().numpy() for part in tensors]


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, name: str, x: Tensor, a: Tensor, state: Tensor) -> Tensor:
        keep(ctx, (name, x, a, state))
        following = state.new_empty(state.shape)
        run(f"{name}_forward", *_arrays(x, a, state), _all_live(len(x)), following.numpy())
        return following

    @staticmethod
    @differentiable_by(lambda name, x, a, state: CELLS[name].definition(x, a, state))
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, Tensor]:
        (name, *inputs), _ = kept(ctx)
        dx, da, dstate = (part.new_empty(part.shape) for part in inputs)
        given = (*_arrays(*inputs), _all_live(len(dx)), *_arrays(grad))
        run(f"{name}_backward", *given, dx.numpy(), da.numpy(), dstate.numpy())
        return None, dx, da, dstate


class _Sequence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, name: str, x: Tensor, start: Tensor, weight: Tensor, bias: Tensor, live: Tensor, backward: bool
    ) -> Tensor:
        given = (name, x, start, weight, bias, live, backward)
        x, start, live = x.contiguous(), start.contiguous(), live.contiguous()
        H = weight.shape[1]
        hidden, states = torch.empty_like(x), x.new_empty(*x.shape[:2], start.shape[1])
        arrays = [t.detach().numpy() for t in (x, hidden, live, states)]
        turned, state, last = weight.t(), start, start.detach().numpy()
        for t in _order(len(x), backward):
            torch.addmm(bias, state[:, :H], turned, out=hidden[t])
            run(f"{name}_forward", arrays[0][t], arrays[1][t], last, arrays[2][t], arrays[3][t])
            state, last = states[t], arrays[3][t]
        keep(ctx, given, hidden, states)
        return states

    @staticmethod
    @differentiable_by(lambda name, *rest: _plain_sequence(CELLS[name], *rest))
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, Tensor, Tensor, None, None]:
        (name, x, start, weight, _, live, turned), (hidden, states) = kept(ctx)
        x, start, live = x.contiguous(), start.contiguous(), live.contiguous()
        H = weight.shape[1]
        dx, da, dstate = torch.empty_like(x), torch.empty_like(hidden), torch.zeros_like(start)
        order = _order(len(x), turned)
        before = {t: states[last] for last, t in pairwise(order)}
        before[order[0]] = start
        for t in reversed(order):
            pull = grad[t] + dstate
            arrays = (x[t], hidden[t], before[t], live[t], pull, dx[t], da[t], dstate)
            run(f"{name}_backward", *(part.detach().numpy() for part in arrays))
            dstate[:, :H].addmm_(da[t], weight)
        past = torch.cat([start[None], states[:-1]] if not turned else [states[1:], start[None]])[..., :H]
        flat = da.flatten(0, 1)
        return None, dx, dstate, product(flat.t(), past.flatten(0, 1)), flat.sum(0), None, None
