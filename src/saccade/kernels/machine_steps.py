"""The steps of a Neural Turing Machine, all of them in one call (Graves et al. 2014): controller, heads, memory.

In plain torch a step is some sixty small operations, each with a node in the graph, and the gradients of the memory are
added up three times a step. Here a sequence goes through all its steps, and back, in one loop, and each weight's gradient is
one matrix product at the end. What it must equal is the plain form that the caller passes along.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.kernels.function import differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run

ROWS = 6  # of numbers that a sequence needs on the way, beside one for each head that writes


@dataclass(frozen=True)
class MachineShape:
    """Rows N and width M of the memory, heads that read and write, and how many places a head moves by at most."""

    rows: int
    width: int
    read: int
    written: int
    most: int

    @property
    def heads(self) -> int:
        """All of them."""
        return self.read + self.written

    @property
    def address(self) -> int:
        """How many numbers a head's address takes: key, strength, gate, shifts, sharpness."""
        return self.width + 2 * self.most + 4

    @property
    def numbers(self) -> int:
        """How many the controller says at each step: all addresses, then what each head erases and adds."""
        return self.heads * self.address + self.written * 2 * self.width


class MachineWeights(NamedTuple):
    """What a machine learns, G gates of its controller with H units.

    Shapes: read (G, R · M), state (G, H), or (G, 0) where a controller remembers nothing, number (P, H), bias (P), and
    where it begins: weights (heads, N), reads (R · M).
    """

    read: Tensor
    state: Tensor
    number: Tensor
    bias: Tensor
    first_weights: Tensor
    first_reads: Tensor


class MachineSteps(NamedTuple):
    """What T steps gave. Shapes: hidden (T, B, H), reads (T, B, R · M), weights (T, B, heads, N) without a gradient."""

    hidden: Tensor
    reads: Tensor
    weights: Tensor


Plain = Callable[..., MachineSteps]


def machine_steps(plain: Plain, shape: MachineShape, first: float, gates: Tensor, weights: MachineWeights) -> MachineSteps:
    """All steps, from the input's gates (T, B, G), in a memory of so large numbers; `plain(gates, *weights)` is the same."""
    if not kernels_on(gates, *weights) or 0 in gates.shape:
        return plain(gates, *weights)
    untyped: Any = _Machine
    return MachineSteps(*untyped.apply(plain, shape, first, torch.is_grad_enabled(), gates, *weights))


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


class _Machine(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plain: Plain, shape: MachineShape, first: float, learns: bool, gates: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        given = MachineWeights(*weights)
        (T, B, _), H, (heads, N) = gates.shape, given.number.shape[1], given.first_weights.shape
        width = 2 * H if given.state.shape[1] else H
        inner, numbers = torch.empty_like(gates, memory_format=torch.contiguous_format), gates.new_empty(T, B, shape.numbers)
        states, reads = gates.new_zeros(T + 1, B, width), gates.new_empty(T + 1, B, shape.read * shape.width)
        memories = gates.new_empty(T + 1 if learns else 2, B, shape.width, N)
        seen, kept_ = gates.new_empty(T + 1, B, heads, N), gates.new_empty(4, T, B, heads, N)
        memories[0], seen[0], reads[0] = first, given.first_weights, given.first_reads
        run(
            "machine_forward",
            2 * shape.most + 1,
            *_arrays(gates, given.read, given.state, given.number, given.bias),
            *_arrays(inner, states, numbers, memories, seen, reads, kept_, *_spare(shape, gates)),
        )
        if learns:
            keep(ctx, (plain, shape, first, learns, gates, *weights), inner, states, numbers, memories, seen, reads, kept_)
        hidden, weights_seen = states[1:, :, :H], seen[1:]
        ctx.mark_non_differentiable(weights_seen)
        return hidden, reads[1:], weights_seen

    @staticmethod
    @differentiable_by(lambda plain, shape, first, learns, *given: tuple(plain(*given)))
    def backward(ctx: Any, hidden_grad: Tensor, reads_grad: Tensor, _: Tensor) -> tuple[Any, ...]:
        (_plain, shape, _first, _learns, gates, *weights), inner_parts = kept(ctx)
        inner, states, numbers, memories, seen, reads, kept_ = inner_parts
        given = MachineWeights(*weights)
        H = given.number.shape[1]
        dgates, dnumbers = torch.empty_like(inner), torch.empty_like(numbers)
        dreads, dstate = torch.zeros_like(reads[0]), states.new_zeros(2, *states.shape[1:])
        dmemory, dseen = torch.zeros_like(memories[0]), torch.zeros_like(seen[0])
        run(
            "machine_backward",
            2 * shape.most + 1,
            *_arrays(gates, given.read, given.state, given.number, inner, states, numbers, memories, seen, reads, kept_),
            *_arrays(hidden_grad, reads_grad, dgates, dnumbers, dreads, dstate, dmemory, dseen, *_spare(shape, gates)),
        )
        flat_gates, flat_numbers = dgates.flatten(0, 1), dnumbers.flatten(0, 1)
        before, hidden = states[:-1, :, : given.state.shape[1]].flatten(0, 1), states[1:, :, :H].flatten(0, 1)
        return (
            None,
            None,
            None,
            None,
            dgates,
            flat_gates.t() @ reads[:-1].flatten(0, 1),
            flat_gates.t() @ before,
            flat_numbers.t() @ hidden,
            flat_numbers.sum(0),
            dseen.sum(0),
            dreads.sum(0),
        )


def _spare(shape: MachineShape, like: Tensor) -> tuple[Tensor, Tensor]:
    """Room for what each sequence needs on the way."""
    B, width = like.shape[1], max(shape.rows + 2 * shape.most, 2 * shape.width, shape.width + 2 * shape.most + 1)
    return like.new_empty(B, ROWS + shape.written, width), like.new_empty(B, shape.rows, dtype=torch.float64)
