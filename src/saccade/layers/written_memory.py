"""A memory that is read and written by attention, and the controller that moves its heads (Graves et al. 2014, section 3).

At each step the controller hears an input and what was read last; it says where each head goes, and what those that write
erase and add. Where a kernel takes all steps at once (`saccade.kernels.machine_steps`), it does.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend, looks, make_score
from saccade.kernels.machine_steps import MachineShape, MachineSteps, MachineWeights, machine_steps
from saccade.kernels.recurrent_cells import lstm_definition
from saccade.layers.addressing import Address, Addressing

EMPTY = 1e-6  # the numbers of a memory that nothing was written to
FOCUS = 10.0  # how much more likely a head stands at the first row, in the beginning, than at another: e to this


@dataclass(frozen=True, eq=False)
class HeadsLook:
    """Where heads stood at each step. Shapes: steps (T, B, heads, N)"""

    steps: Tensor

    def weights(self) -> Float[Tensor, "B heads T N"]:
        """As those of one attention with a query for each step."""
        return self.steps.permute(1, 2, 0, 3)


class WrittenMemory(nn.Module):
    """Shapes: x (T, B, C) -> the controller's units and what was read (T, B, H + R · M)"""

    def __init__(
        self,
        channels: int,
        hidden: int,
        *,
        remembers: bool,
        rows: int,
        width: int,
        read_heads: int,
        write_heads: int,
        max_shift: int,
    ) -> None:
        """A memory of `rows` × `width`, and a controller of so many units, an LSTM where it `remembers` itself."""
        super().__init__()
        self.shape = shape = MachineShape(rows, width, read_heads, write_heads, max_shift)
        self.hidden = hidden
        self.hears = [channels, shape.read * shape.width, hidden if remembers else 0]
        self.controller = nn.Linear(sum(self.hears), 4 * hidden if remembers else hidden)
        self.heads = nn.Linear(hidden, shape.numbers)
        self.score = make_score("cosine", query_width=shape.width, key_width=shape.width, keys=shape.rows)
        self.first_read = nn.Parameter(torch.zeros(shape.read * shape.width))
        self.first_weights = nn.Parameter(torch.zeros(shape.heads, shape.rows))
        with torch.no_grad():  # rows are alike in the beginning, so that heads which stand everywhere would never part
            self.first_weights[:, 0] = FOCUS

    def forward(self, x: Float[Tensor, "T B C"]) -> Float[Tensor, "T B _"]:
        own, read, state = self.controller.weight.split(self.hears, 1)
        gates = F.linear(x, own, self.controller.bias)
        begins = self.first_weights.softmax(-1), self.first_read.tanh()
        weights = MachineWeights(read, state, self.heads.weight, self.heads.bias, *begins)
        steps = machine_steps(self.steps, self.shape, EMPTY, gates, weights)
        looks.record(HeadsLook(steps.weights))
        return torch.cat((steps.hidden, steps.reads), -1)

    def steps(self, gates: Float[Tensor, "T B G"], *weights: Tensor) -> MachineSteps:
        """One step after the other: the equations."""
        given, shape, B = MachineWeights(*weights), self.shape, gates.shape[1]
        memory = gates.new_full((B, shape.rows, shape.width), EMPTY)
        stand, reads = given.first_weights.expand(B, -1, -1), given.first_reads.expand(B, -1)
        state, taken = gates.new_zeros(B, 2 * self.hidden), []
        for heard in gates.unbind():
            told = reads @ given.read.t()
            if given.state.shape[1]:
                state = lstm_definition(heard, told + state[:, : self.hidden] @ given.state.t(), state)
                hidden = state[:, : self.hidden]
            else:
                hidden = (heard + told).tanh()
            said, changes = F.linear(hidden, given.number, given.bias).split(
                (shape.heads * shape.address, shape.written * 2 * shape.width), -1
            )
            address = Address.of(said.unflatten(-1, (shape.heads, -1)), shape.width, shape.most)
            attended = attend(address.key, memory, memory, score=self.score, normalize=Addressing(address, stand))
            stand = attended.weights()
            reads = attended.context[:, : shape.read].flatten(1)
            memory = changed(memory, stand[:, shape.read :], changes)
            taken.append((hidden, reads, stand.detach()))
        return MachineSteps(*(torch.stack(parts) for parts in zip(*taken, strict=True)))


def changed(memory: Float[Tensor, "B N M"], weights: Float[Tensor, "B W N"], changes: Float[Tensor, "B _"]) -> Tensor:
    """M(i) Π_h (1 − w_h(i) e_h) + Σ_h w_h(i) a_h: all heads erase before any adds (equations 3 and 4)."""
    erase, add = changes.unflatten(-1, (weights.shape[1], -1)).chunk(2, -1)
    kept = (1 - weights[..., None] * erase.sigmoid()[:, :, None]).prod(1)
    written: Tensor = memory * kept + weights.transpose(1, 2) @ add.tanh()
    return written
