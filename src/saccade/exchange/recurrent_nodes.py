"""Recurrent layers as ONNX's own operators: a trace of our loop would have as many steps as its sample."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.layers.recurrent import Recurrent, Stack

GATES = {"gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}  # ours, which are torch's, in ONNX's order


class RecurrentNode(nn.Module):
    """One direction of one layer.

    Shapes: x (T, B, width), live (T, B) -> states (T, B, hidden)
    """

    input_weight: Tensor
    state_weight: Tensor
    bias: Tensor

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        self.operator, self.hidden, self.backwards = layer.cell.name.upper(), layer.hidden, layer.backwards

        def ordered(tensor: Tensor) -> Tensor:
            parts = tensor.detach().split(layer.hidden)
            return torch.cat([parts[gate] for gate in GATES[layer.cell.name]])

        self.register_buffer("input_weight", ordered(layer.input_weight)[None])
        self.register_buffer("state_weight", ordered(layer.state_weight)[None])
        self.register_buffer("bias", torch.cat((ordered(layer.input_bias), ordered(layer.state_bias)))[None])

    def forward(self, x: Tensor, live: Tensor) -> Tensor:
        sizes = live.sum(0)
        states = self.run(x, sizes, None)[0]
        if self.backwards:
            return states
        last = states.gather(0, (sizes - 1).clamp(min=0)[None, :, None].expand(1, *states.shape[1:]))
        return torch.where(live[..., None], states, last)  # a row keeps its state where it is not live

    def run(self, x: Tensor, sizes: Tensor, start: Tensor | None) -> tuple[Tensor, Tensor]:
        """All h (T, B, hidden), zeros behind the end of a row, and the last states (B, S), from `start` (B, S) or zeros."""
        (T, B), H = x.shape[:2], self.hidden
        words: dict[str, Any] = {"hidden_size": H, "direction": "reverse" if self.backwards else "forward"}
        if self.operator == "GRU":
            words["linear_before_reset"] = 1
        parts = 1 if self.operator == "GRU" else 2
        given: list[Tensor] = [x, self.input_weight, self.state_weight, self.bias, sizes.to(torch.int32)]
        if start is not None:
            given += [part[None] for part in start.split(H, -1)]
        shapes: Sequence[Any] = [(T, 1, B, H), *[(1, B, H)] * parts]
        dtypes = [x.dtype] * len(shapes)
        found = torch.onnx.ops.symbolic_multi_out(self.operator, given, words, dtypes=dtypes, shapes=shapes, version=14)
        return found[0][:, 0], torch.cat([part[0] for part in found[1:]], -1)


class StackNode(nn.Module):
    """The layers of a `Stack` that reads: all steps at once.

    Shapes: x (T, B, width), live (T, B), start (B, L, S) -> the top layer's h (T, B, hidden), all last states (B, L, S)
    """

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.layers = nn.ModuleList(map(RecurrentNode, stack.recurrent()))
        self.parts = stack.cell.parts

    def rest(self, rows: int) -> Tensor:
        """The state (B, L, S) of those that have read nothing: zeros."""
        first = self.layers[0]
        assert isinstance(first, RecurrentNode)
        return first.bias.new_zeros(rows, len(self.layers), self.parts * first.hidden)

    def forward(self, x: Tensor, live: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        ends, sizes = [], live.sum(0)
        for layer, first in zip(self.layers, start.unbind(1), strict=True):
            assert isinstance(layer, RecurrentNode)
            x, end = layer.run(x, sizes, first)
            ends.append(torch.where(sizes[:, None] > 0, end, first))
        return x, torch.stack(ends, 1)


def replace_recurrent(module: nn.Module) -> None:
    """All recurrent layers in a module, as nodes."""
    for name, part in module.named_children():
        if isinstance(part, Recurrent):
            setattr(module, name, RecurrentNode(part))
        elif isinstance(part, Stack):
            setattr(module, name, StackNode(part))
        else:
            replace_recurrent(part)
