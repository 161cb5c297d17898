"""Memory of one device in training, by part, in closed form (Korthikanti et al. 2022, sections 4 and 5).

Letters: s context, b sequences at a time, D width, H heads, t devices that split a layer, w bytes of a number.
"""

from dataclasses import dataclass
from typing import Literal

from saccade.planning.architectures import Architecture, total

Precision = Literal["mixed", "float32"]
# Bytes of a parameter: itself, its gradient, and what Adam keeps (two moments; with 16 bits a copy in float32, too).
BYTES: dict[str, tuple[int, int, int]] = {"mixed": (2, 2, 12), "float32": (4, 4, 8)}
LOGIT_BYTES = 4


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of one device."""

    parameters: float
    gradients: float
    optimizer: float
    activations: float

    @property
    def total(self) -> float:
        """All parts."""
        return self.parameters + self.gradients + self.optimizer + self.activations


def layer_activations(shape: Architecture, *, context: int, sequences: int, tensor: int, precision: Precision) -> float:
    """Bytes that one layer keeps for its gradient; in 16 bits s b D (10 + 24/t + 5 H s / (D t)), for a network of 4 D."""
    w = BYTES[precision][0]
    whole = 4 * w + 2  # inputs of two norms and two parts, masks of two dropouts
    split = 4 * w + 2 * w * shape.inner / shape.width  # q, k, v, contexts; both sides of the network's function
    places = context * sequences
    return places * shape.width * (whole + split / tensor) + _weights(shape, context, sequences, w) / tensor


def _weights(shape: Architecture, context: int, sequences: int, w: int) -> float:
    """Weights of attention before and after their dropout, and its mask."""
    return (2 * w + 1) * shape.heads * context**2 * sequences


def _crossing(shape: Architecture, *, context: int, sequences: int, tensor: int, precision: Precision) -> float:
    """What a decoder's layer keeps beside that for looking at what was read."""
    w = BYTES[precision][0]
    places = context * sequences
    return places * shape.width * (2 * w + 1 + 4 * w / tensor) + _weights(shape, context, sequences, w) / tensor


def activations(
    shape: Architecture, *, context: int, sequences: int, tensor: int, recompute: bool, precision: Precision
) -> float:
    """Bytes that all layers keep, or with recomputation only their inputs and one layer at a time; and the two ends."""
    sizes = {"context": context, "sequences": sequences, "tensor": tensor, "precision": precision}
    layer = layer_activations(shape, **sizes)  # type: ignore[arg-type]
    crossed = layer + _crossing(shape, **sizes) if shape.written_layers else 0.0  # type: ignore[arg-type]
    w = BYTES[precision][0]
    places = context * sequences
    streams = 2 if shape.kind == "two-stream" else 1
    if recompute:
        layers = (shape.layers + shape.written_layers) * w * places * shape.width + max(layer, crossed)
    else:
        layers = shape.layers * layer + shape.written_layers * crossed
    ends = places * shape.width * (1 + 2 * w) + LOGIT_BYTES * places * shape.vocabulary * shape.predicted / tensor
    return streams * layers + ends


def memory(
    shape: Architecture, *, context: int, sequences: int, tensor: int, recompute: bool, precision: Precision
) -> DeviceMemory:
    """Memory of one of `tensor` devices that split the model, for so many sequences at a time."""
    own = total(shape) / tensor
    kept = activations(shape, context=context, sequences=sequences, tensor=tensor, recompute=recompute, precision=precision)
    parameters, gradients, optimizer = (size * own for size in BYTES[precision])
    return DeviceMemory(parameters, gradients, optimizer, kept)
