"""Recurrent layers over padded sequences: GRU and LSTM, one or two directions, exact whatever stands beside them."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.operator import check_dropout
from saccade.errors import UnknownName
from saccade.kernels import recurrent_cells
from saccade.kernels.recurrent_cells import CELLS, RecurrentCell, sequence
from saccade.kernels.wide_products import linear


def cell_named(name: str) -> RecurrentCell:
    """The kind of cell of this name."""
    if name not in CELLS:
        raise UnknownName("cell", name, CELLS)
    return CELLS[name]


class Recurrent(nn.Module):
    """One direction of one layer, with torch's weights and gate order.

    Shapes: x (T, B, width), live (T, B) -> states (T, B, S) with S = hidden (GRU) or 2 · hidden (LSTM: h ‖ c)
    """

    def __init__(self, width: int, hidden: int, cell: str = "gru", *, backward: bool = False) -> None:
        super().__init__()
        self.cell = cell_named(cell)
        self.hidden, self.backwards = hidden, backward
        gates = self.cell.gates * hidden
        self.input_weight = nn.Parameter(torch.empty(gates, width))
        self.input_bias = nn.Parameter(torch.zeros(gates))
        self.state_weight = nn.Parameter(torch.empty(gates, hidden))
        self.state_bias = nn.Parameter(torch.zeros(gates))
        reset(self.input_weight, self.state_weight, hidden)

    def forward(self, x: Float[Tensor, "T B _"], live: Bool[Tensor, "T B"]) -> Float[Tensor, "T B _"]:
        gates = linear(x, self.input_weight, self.input_bias)
        start = x.new_zeros(x.shape[1], self.cell.parts * self.hidden)
        return sequence(self.cell, gates, start, self.state_weight, self.state_bias, live, backward=self.backwards)


def reset(input_weight: Tensor, state_weight: Tensor, hidden: int) -> None:
    """Orthogonal recurrent weights for each gate, as Bahdanau et al. (2015, B.1) start; Glorot for the input."""
    with torch.no_grad():
        for gate in state_weight.split(hidden):
            nn.init.orthogonal_(gate)
        for gate in input_weight.split(hidden):
            nn.init.xavier_uniform_(gate)


class RecurrentReader(nn.Module):
    """Layers of one or two directions, with dropout between them.

    Shapes: x (T, B, width), live (T, B) -> (T, B, directions · hidden), and the last state of each direction (B, hidden)
    """

    def __init__(
        self, width: int, hidden: int, *, cell: str = "gru", layers: int = 1, directions: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.hidden = hidden
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        widths = [width] + [directions * hidden] * (layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(Recurrent(size, hidden, cell, backward=backward) for backward in (False, True)[:directions])
            for size in widths
        )

    def forward(
        self, x: Float[Tensor, "T B _"], live: Bool[Tensor, "T B"]
    ) -> tuple[Float[Tensor, "T B _"], list[Float[Tensor, "B _"]]]:
        ends: list[Tensor] = []
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, nn.ModuleList)
            states = [direction(self.dropout(x) if index else x, live)[..., : self.hidden] for direction in layer]
            ends = [states[0][-1], states[1][0]] if len(states) == 2 else [states[0][-1]]
            x = torch.cat(states, -1) if len(states) == 2 else states[0]
        return x, ends


class Stack(nn.Module):
    """Recurrent layers of one direction above each other, with dropout between them, that start from given states.

    Shapes: x (T, B, width), live (T, B), start (B, L, S) -> the top layer's h (T, B, hidden), all last states (B, L, S)
    """

    def __init__(self, width: int, hidden: int, *, cell: str, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.cell, self.hidden = cell_named(cell), hidden
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Recurrent(size, hidden, cell) for size in [width] + [hidden] * (layers - 1))

    def recurrent(self) -> list[Recurrent]:
        """The layers, from the bottom to the top."""
        return [layer for layer in self.layers if isinstance(layer, Recurrent)]

    def rest(self, rows: int) -> Float[Tensor, "B L S"]:
        """The state of those that have read nothing: zeros."""
        return self.recurrent()[0].state_bias.new_zeros(rows, len(self.layers), self.cell.parts * self.hidden)

    def forward(
        self, x: Float[Tensor, "T B _"], live: Bool[Tensor, "T B"], start: Float[Tensor, "B L S"]
    ) -> tuple[Float[Tensor, "T B _"], Float[Tensor, "B L S"]]:
        ends = []
        for index, (layer, first) in enumerate(zip(self.recurrent(), start.unbind(1), strict=True)):
            gates = linear(self.dropout(x) if index else x, layer.input_weight, layer.input_bias)
            states = sequence(self.cell, gates, first, layer.state_weight, layer.state_bias, live)
            ends.append(states[-1])  # where a row was not live it kept its state: this is that of its last word
            x = states[..., : self.hidden]
        return x, torch.stack(ends, 1)

    def step(self, x: Float[Tensor, "B W _"], states: Float[Tensor, "B W L S"]) -> Float[Tensor, "B W L S"]:
        """The states one word later."""
        following: list[Tensor] = []
        for index, (layer, state) in enumerate(zip(self.recurrent(), states.flatten(0, 1).unbind(1), strict=True)):
            below = self.dropout(following[-1][:, : self.hidden]) if index else x.flatten(0, 1)
            gates = F.linear(below, layer.input_weight, layer.input_bias)
            a = F.linear(state[:, : self.hidden], layer.state_weight, layer.state_bias)
            following.append(recurrent_cells.step(self.cell, gates, a, state))
        return torch.stack(following, 1).view(*states.shape)

    def top(self, states: Float[Tensor, "... L S"]) -> Float[Tensor, "... _"]:
        """The top layer's h."""
        return states[..., -1, : self.hidden]
