"""How a model is laid out over devices: data × tensor parallel, recomputation, accumulation; the cheapest that fits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from saccade.planning.architectures import Architecture, training_flops
from saccade.planning.device_memory import DeviceMemory, Precision, memory
from saccade.planning.hardware import Accelerator

# The speed that is left where so many devices split each layer (Shoeybi et al. 2019, weak scaling within a machine of 8).
SPEED_LEFT = {1: 1.0, 2: 0.95, 4: 0.82, 8: 0.77}
FULL = 8192  # tokens that a group computes at a time; as few as those of the trainings whose rates are published
RESERVED = 0.06  # of a device's memory, for its runtime and for gaps


@dataclass(frozen=True)
class DeviceLayout:
    """`data` groups of `tensor` devices; each takes its share of a batch in so many parts."""

    data: int
    tensor: int
    recompute: bool
    parts: int
    sequences: int
    "Sequences that a group computes at a time."
    memory: DeviceMemory
    work: float
    "FLOPs of a step, longer where devices split layers: what layouts are ranked by."

    def told(self) -> str:
        """In words."""
        times = f", {self.parts} times a step" if self.parts > 1 else ""
        sequences = f"{self.sequences} sequence{'s' * (self.sequences > 1)} at a time{times}"
        again = "activations recomputed" if self.recompute else "activations kept"
        return f"{self.data}-way data × {self.tensor}-way tensor parallel, {again}, {sequences}"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is to be laid out."""

    shape: Architecture
    batch: int
    context: int
    precision: Precision
    recompute: bool | None = None
    "None: whichever is cheaper."


def possible(work: Workload, devices: int) -> Iterator[DeviceLayout]:
    """All layouts, whether they fit or not."""
    shape = work.shape
    for tensor in (t for t in SPEED_LEFT if devices % t == 0 and shape.heads % t == 0 and devices // t <= work.batch):
        own = math.ceil(work.batch / (devices // tensor))
        for recompute in (False, True) if work.recompute is None else (work.recompute,):
            for sequences in sorted({math.ceil(own / 2**power) for power in range(own.bit_length() + 1)}, reverse=True):
                yield _layout(work, devices // tensor, tensor, recompute, own, sequences)


def _layout(work: Workload, data: int, tensor: int, recompute: bool, own: int, sequences: int) -> DeviceLayout:
    shape = work.shape
    needed = memory(
        shape,
        context=work.context,
        sequences=sequences,
        tensor=tensor,
        recompute=recompute,
        precision=work.precision,
    )
    done = training_flops(shape, tokens=work.batch * work.context, context=work.context, recompute=recompute).hardware
    parts = math.ceil(own / sequences)
    return DeviceLayout(data, tensor, recompute, parts, sequences, needed, done / SPEED_LEFT[tensor])


def room(device: Accelerator) -> float:
    """Bytes of a device that a training can have."""
    return device.memory * (1 - RESERVED)


def cheapest(work: Workload, devices: int, device: Accelerator) -> DeviceLayout | None:
    """The layout that fits with the least work; parts of a batch that are smaller than FULL are taken only where no other
    layout fits, since no published figure says what they cost. None: nothing fits."""
    fitting = [one for one in possible(work, devices) if one.memory.total <= room(device)]
    full = [one for one in fitting if one.parts == 1 or one.sequences * work.context >= FULL]
    return min(full or fitting, key=lambda one: (one.work, one.parts, one.memory.total), default=None)


def smallest(work: Workload, devices: int) -> DeviceLayout | None:
    """The layout that takes the least memory; None: there is none at all."""
    return min(possible(work, devices), key=lambda one: one.memory.total, default=None)
