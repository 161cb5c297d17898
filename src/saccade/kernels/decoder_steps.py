"""The steps of a recurrent decoder with additive attention, all of them in one call (Bahdanau et al. 2015, eq. 4–6).

At each step the state asks, sees, and moves on:

    q = s W_q',  c = Σ softmax(v'tanh(q + k)) h,  s ← cell(x + c W_c', s W_s' + b, s)

In plain torch a step is a dozen nodes of the graph, each with its Python; and the gradients of keys and values are
added up step by step, those of the weights too. Here a step's backward leaves its part where it belongs, and each
weight's gradient is one matrix product at the end. What it must equal is the loop over `additive_pool` and a cell's step.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels.additive_pooling import pool_definition
from saccade.kernels.function import differentiable_by, keep, kept
from saccade.kernels.products import product
from saccade.kernels.recurrent_cells import CELLS, RecurrentCell, _all_live
from saccade.kernels.runtime import run


class DecodedSteps(NamedTuple):
    """What T steps gave. Shapes: states (T, B, S), contexts (T, B, C), queries (T, B, D) without a gradient."""

    states: Tensor
    contexts: Tensor
    queries: Tensor


class DecoderWeights(NamedTuple):
    """The matrices of every step: query (D, H), vector (D), context (gates, C), state (gates, H), bias (gates)."""

    query: Tensor
    vector: Tensor
    context: Tensor
    state: Tensor
    bias: Tensor


def decode(
    cell: RecurrentCell, gates: Tensor, start: Tensor, key: Tensor, value: Tensor, live: Tensor, weights: DecoderWeights
) -> DecodedSteps:
    """All steps, from the words' gates (T, B, gates) and the first state (B, S); ask `pooling_on` first.

    Keys are (B, K, D), as the score takes them, values (B, K, C); `live` (B, K) marks those that may be seen.
    """
    untyped: Any = _Decode
    return DecodedSteps(*untyped.apply(cell.name, gates, start, key, value, live, *weights))


def decode_definition(
    name: str, gates: Tensor, start: Tensor, key: Tensor, value: Tensor, live: Tensor, *weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same in plain torch."""
    query_weight, vector, context_weight, state_weight, bias = weights
    state, steps = start, []
    for x in gates:
        hidden = state[:, : state_weight.shape[1]]
        query = (hidden @ query_weight.t())[:, None]
        context = pool_definition(query, key, vector, value, live)[:, 0]
        a = torch.addmm(bias, hidden, state_weight.t())
        state = CELLS[name].definition(torch.addmm(x, context, context_weight.t()), a, state)
        steps.append((state, context, query.detach()))
    states, contexts, queries = (torch.stack(parts) for parts in zip(*steps, strict=True))
    return states, contexts, queries


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.detach().numpy() for tensor in tensors]


class _Decode(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, name: str, gates: Tensor, start: Tensor, key: Tensor, value: Tensor, live: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        given = (name, gates, start, key, value, live, *weights)
        query_weight, vector, context_weight, state_weight, bias = weights
        key, value, live, vector = (part.contiguous() for part in (key, value, live, vector))
        (T, B, _), (K, D), C, H = gates.shape, key.shape[1:], value.shape[2], state_weight.shape[1]
        x, a = torch.empty_like(gates), gates.new_empty(gates.shape)
        queries, seen, contexts = gates.new_empty(T, B, 1, D), gates.new_empty(T, B, 1, K), gates.new_empty(T, B, 1, C)
        states = gates.new_empty(T + 1, B, start.shape[1])
        states[0] = start
        ask, tell, carry = query_weight.t(), context_weight.t(), state_weight.t()
        looked = _arrays(key, vector, value, live)
        for t in range(T):
            hidden = states[t, :, :H]
            torch.mm(hidden, ask, out=queries[t, :, 0])
            run("pool_forward", *_arrays(queries[t]), *looked, *_arrays(seen[t], contexts[t]))
            torch.addmm(gates[t], contexts[t, :, 0], tell, out=x[t])
            torch.addmm(bias, hidden, carry, out=a[t])
            run(f"{name}_forward", *_arrays(x[t], a[t], states[t]), _all_live(B), *_arrays(states[t + 1]))
        keep(ctx, given, x, a, queries, seen, contexts, states)
        ctx.mark_non_differentiable(queries)
        return states[1:], contexts[:, :, 0], queries

    @staticmethod
    @differentiable_by(decode_definition)
    def backward(ctx: Any, states_grad: Tensor, contexts_grad: Tensor, _: Tensor) -> tuple[Any, ...]:
        (name, _gates, _start, key, value, live, *weights), (x, a, queries, seen, contexts, states) = kept(ctx)
        query_weight, vector, context_weight, state_weight, _bias = weights
        key, value, live, vector = (part.contiguous() for part in (key, value, live, vector))
        T, B, H = len(x), x.shape[1], state_weight.shape[1]
        dx, da, dq = torch.empty_like(x), torch.empty_like(a), torch.empty_like(queries)
        dkey, dvector, dcontext = torch.zeros_like(key), key.new_zeros(B, key.shape[2]), torch.empty_like(contexts)
        pull, dstate = torch.zeros_like(states[0]), torch.empty_like(states[0])
        looked, sums = _arrays(key, vector, value, live), _arrays(dkey, dvector)
        for t in reversed(range(T)):
            pull += states_grad[t]
            step = (x[t], a[t], states[t])
            run(f"{name}_backward", *_arrays(*step), _all_live(B), *_arrays(pull, dx[t], da[t], dstate))
            torch.addmm(contexts_grad[t], dx[t], context_weight, out=dcontext[t, :, 0])
            run("pool_backward", *_arrays(dcontext[t], queries[t]), *looked, *_arrays(seen[t], dq[t]), *sums)
            hidden = dstate[:, :H]
            hidden.addmm_(da[t], state_weight).addmm_(dq[t, :, 0], query_weight)
            pull, dstate = dstate, pull
        dvalue = seen.squeeze(2).permute(1, 2, 0) @ dcontext.squeeze(2).transpose(0, 1)
        past = states[:-1, :, :H].flatten(0, 1)
        flat_x, flat_a, flat_q = (part.view(T * B, -1) for part in (dx, da, dq))
        from_query, carried = product(flat_q.t(), past), product(flat_a.t(), past)
        from_context = product(flat_x.t(), contexts.view(T * B, -1))
        return (
            None,
            dx,
            pull,
            dkey.mul_(vector),
            dvalue,
            None,
            from_query,
            dvector.sum(0),
            from_context,
            carried,
            flat_a.sum(0),
        )
