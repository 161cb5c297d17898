"""Attention along the edges of a graph in one pass: scores, softmax over the edges of a target, and the weighted sum.

The score is that of graph attention networks, LeakyReLU of a sum (Veličković et al. 2018, eq. 3). `pool_edges` is a torch
operator: autograd, `torch.compile` and fake tensors see one node. Its meaning is `pool_definition`, plain torch; float32 on
the CPU runs in `saccade.kernels.loops.edge_loops`, which keeps nothing of the size of the edges but what backward needs
for a moment. Which weights are dropped is drawn by torch, so its random state tells the result.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels import dropout_masks
from saccade.kernels.edge_lists import Graph, Order
from saccade.kernels.function import plain_gradients
from saccade.kernels.runtime import kernels_on, run, traced

_ORDER = ", ".join(f"Tensor {name}" for name in Order._fields)
_GIVEN = f"Tensor query, Tensor key, Tensor value, Tensor? offset, Tensor? kept, float slope, float factor, {_ORDER}"


def pool_edges(
    query: Float[Tensor, "N H"],
    key: Float[Tensor, "K H"],
    value: Float[Tensor, "K H C"],
    graph: Graph,
    *,
    slope: float,
    offset: Float[Tensor, "E H"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "N H C"]:
    """The context of each node; `offset` is added to what an edge scores before LeakyReLU, in the graph's order of edges."""
    shape = (graph.edge_index.shape[1], query.shape[1])
    kept = dropout_masks.kept(*shape, dropout, query.device).to(torch.uint8) if dropout > 0 else None
    given = (query, key, value, offset, kept, slope, dropout_masks.rounded(dropout)[1], *graph.sorted)
    if traced() and not torch.compiler.is_compiling():
        return pool_definition(*given)
    context: Tensor = _operator(*given)[0]
    return context


def weights_definition(
    query: Tensor, key: Tensor, offset: Tensor | None, slope: float, source: Tensor, target: Tensor
) -> Tensor:
    """The weights (E, H) of edges in the order in which they are listed."""
    total = query[target] + key[source]
    scores = F.leaky_relu(total if offset is None else total + offset, slope)
    index = target[:, None].expand_as(scores)
    peak = torch.full_like(query, -torch.inf).scatter_reduce(0, index, scores.detach(), "amax")
    powers = (scores - peak[target]).exp()
    return powers / torch.zeros_like(query).index_add(0, target, powers)[target]


def pool_definition(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offset: Tensor | None,
    kept: Tensor | None,
    slope: float,
    factor: float,
    *sorted_: Tensor,
) -> Tensor:
    """The same in plain torch; `kept` is by slot, `offset` in the order of the list."""
    order, dtype = Order(*sorted_), value.dtype
    source, target = order.source.long(), _target(order)
    query, key, value = widened(query), widened(key), widened(value)
    offset = None if offset is None else widened(offset)[order.order]
    weights = weights_definition(query, key, offset, slope, source, target)
    weights = weights if kept is None else weights * kept * factor
    context = value.new_zeros(len(query), *value.shape[1:]).index_add(0, target, weights[..., None] * value[source])
    return context.to(dtype)


def widened(values: Tensor) -> Tensor:
    """In float32 if they are in half precision, in which sums over many edges would stop growing."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _target(order: Order) -> Tensor:
    """The target of each slot."""
    counts = order.starts.diff()
    return torch.arange(len(counts), device=counts.device).repeat_interleave(counts)


def _pool(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offset: Tensor | None,
    kept: Tensor | None,
    slope: float,
    factor: float,
    *sorted_: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The context, and of each target and head the largest score and the inverse of the sum of powers."""
    context = value.new_empty(len(query), *value.shape[1:])
    top, inverse = (query.new_empty(query.shape) for _ in range(2))
    if not kernels_on(query, key, value):
        context.copy_(pool_definition(query, key, value, offset, kept, slope, factor, *sorted_))
        return context, top.zero_(), inverse.zero_()
    order = Order(*sorted_)
    query, key, value, offset, kept = _plain(query, key, value, offset, kept)
    scored = (query, key, offset, order.order, order.source)
    given = (*(part.numpy() for part in scored), np.float32(slope))
    outputs = (context.flatten(1).numpy(), top.numpy(), inverse.numpy())
    stretches = (order.blocks.numpy(), order.starts.numpy())
    run("graph_forward", *stretches, given, value.flatten(1).numpy(), kept.numpy(), np.float32(factor), *outputs)
    return context, top, inverse


def _plain(query: Tensor, key: Tensor, value: Tensor, offset: Tensor | None, kept: Tensor | None) -> list[Tensor]:
    """All of them contiguous; empty tables for what there is not."""
    offset = query.new_empty(0, query.shape[1]) if offset is None else offset
    kept = query.new_empty(0, query.shape[1], dtype=torch.uint8) if kept is None else kept
    return [part.detach().contiguous() for part in (query, key, value, offset, kept)]


def _gradients(
    grad: Tensor,
    context: Tensor,
    top: Tensor,
    inverse: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offset: Tensor | None,
    kept: Tensor | None,
    slope: float,
    factor: float,
    *sorted_: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of query, key, value and offset (empty if there is none)."""
    if not kernels_on(grad, query, key, value):
        return _plain_gradients(grad, query, key, value, offset, kept, slope, factor, *sorted_)
    order, learned = Order(*sorted_), offset is not None
    query, key, value, offset, kept = _plain(query, key, value, offset, kept)
    grads = [part.new_empty(part.shape) for part in (query, key, value)]
    pulls, ends = query.new_empty(len(order.order), query.shape[1]), query.new_empty(len(query), 4 * query.shape[1])
    to = tuple(part.numpy() for part in (order.blocks, order.starts, order.places))
    back = tuple(part.numpy() for part in (order.source_blocks, order.firsts, order.slots, order.target))
    given = (key.numpy(), offset.numpy(), order.order.numpy(), np.float32(slope))
    state = tuple(part.numpy() for part in (query, top, inverse, context.flatten(1)))
    dropped = (kept.numpy(), np.float32(factor), grad.contiguous().flatten(1).numpy())
    outputs = (ends, grads[0], grads[1], grads[2].flatten(1), pulls)
    run("graph_backward", to, back, given, state, value.flatten(1).numpy(), *dropped, *(part.numpy() for part in outputs))
    pulled = torch.empty_like(pulls) if learned else pulls.new_empty(0)
    if learned:
        pulled[order.order[order.slots.long()]] = pulls
    return grads[0], grads[1], grads[2], pulled


def _plain_gradients(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, offset: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    with torch.enable_grad():
        query, key, value = (part.detach().requires_grad_() for part in (query, key, value))
        added = torch.zeros_like(query[:0]) if offset is None else offset.detach()
        added.requires_grad_()
        context = pool_definition(query, key, value, None if offset is None else added, *rest)
        leaves = (query, key, value, added)
        query_grad, key_grad, value_grad, pulled = torch.autograd.grad(context, leaves, grad, materialize_grads=True)
    return query_grad, key_grad, value_grad, grad.new_empty(0) if offset is None else pulled


def _fake_pool(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    return value.new_empty(len(query), *value.shape[1:]), query.new_empty(query.shape), query.new_empty(query.shape)


def _fake_gradients(
    grad: Tensor, context: Tensor, top: Tensor, inverse: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    offset = rest[0]
    made = tuple(part.new_empty(part.shape) for part in (query, key, value))
    return *made, query.new_empty(0) if offset is None else offset.new_empty(offset.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    query, key, value, offset, kept, ctx.slope, ctx.factor, *order = inputs
    ctx.save_for_backward(*output, query, key, value, offset, kept, *order)
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, grad: Tensor | None, *others: Tensor | None) -> tuple[Tensor | None, ...]:
    nothing: tuple[None, ...] = (None,) * (3 + len(Order._fields))
    if grad is None:
        return None, None, None, None, *nothing
    saved = ctx.saved_tensors
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # a gradient of this gradient is wanted
        inputs = (*saved[3:8], ctx.slope, ctx.factor, *saved[8:])
        return plain_gradients(pool_definition, inputs, ctx.needs_input_grad, (grad,), again=True)
    grads = torch.ops.saccade.pool_edges_gradients(grad, *saved[:8], ctx.slope, ctx.factor, *saved[8:])
    return *grads[:3], None if saved[6] is None else grads[3], *nothing


library = torch.library.Library("saccade", "FRAGMENT")
library.define(f"pool_edges({_GIVEN}) -> (Tensor, Tensor, Tensor)")
library.define(
    f"pool_edges_gradients(Tensor grad, Tensor context, Tensor top, Tensor inverse, {_GIVEN})"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)
library.impl("pool_edges", _pool, "CompositeExplicitAutograd")
library.impl("pool_edges_gradients", _gradients, "CompositeExplicitAutograd")
torch.library.register_fake("saccade::pool_edges", _fake_pool, lib=library)
torch.library.register_fake("saccade::pool_edges_gradients", _fake_gradients, lib=library)
torch.library.register_autograd("saccade::pool_edges", _backward, setup_context=_keep, lib=library)
_operator = torch.ops.saccade.pool_edges.default
