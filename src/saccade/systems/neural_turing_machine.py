"""Neural Turing machines (Graves, Wayne and Danihelka 2014): a network with a memory that it reads and writes by attention.

Reads: a sequence of binary vectors and marks, one after the other.
Attends: heads, to rows of a memory, by content and by place; some read, some erase and add.
Writes: a binary vector at each point that expects one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend, make_score
from saccade.config import Positive
from saccade.data.tensors import Batch, BitsInput
from saccade.errors import UsageError
from saccade.layers.addressing import Address, Addressing
from saccade.systems.system import BatchLook, Output, Recorded, System, cosine

READS, WRITES = "bits", "bits"
DEFAULTS = {
    "train": cosine(5000, 3e-3, every=250, patience=0) | {"batch_size": 16, "optimizer": "adam", "clip": 10.0},
}

FOCUS = 10.0  # how much more likely a head stands at the first row, in the beginning, than at another: e to this


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of memory and controller; the defaults are the paper's for copying."""

    memory_rows: Positive = 128
    "Rows of the memory; N."
    memory_width: Positive = 20
    "Numbers in a row; M."
    hidden_size: Positive = 100
    "Units of the controller."
    controller: Literal["feedforward", "lstm"] = "feedforward"
    "The network between inputs and heads: it remembers nothing itself, or is an LSTM."
    read_heads: Positive = 1
    "Heads that read."
    write_heads: Positive = 1
    "Heads that erase and add."
    max_shift: Positive = 1
    "Places that a head moves by at most from one step to the next."

    def __post_init__(self) -> None:
        if 2 * self.max_shift >= self.memory_rows:
            raise UsageError(f"max_shift: expected less than half of {self.memory_rows} rows, got {self.max_shift}")


@dataclass(frozen=True)
class Tape:
    """What the machine keeps between two steps.

    Shapes: memory (B, N, M), weights (B, heads, N), reads (B, R · M), state (B, _)
    """

    memory: Float[Tensor, "B N M"]
    weights: Float[Tensor, "B _ N"]
    reads: Float[Tensor, "B _"]
    state: Float[Tensor, "B _"]


class Heads(nn.Module):
    """All heads, those that read first: where each goes, and what the others erase and add.

    Shapes: control (B, S), tape -> tape
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.read, self.written = config.read_heads, config.write_heads
        self.width, self.most = config.memory_width, config.max_shift
        heads = self.read + self.written
        self.address = nn.Linear(config.hidden_size, heads * sum(Address.sizes(self.width, self.most)))
        self.change = nn.Linear(config.hidden_size, self.written * 2 * self.width)
        self.score = make_score("cosine", query_width=self.width, key_width=self.width, keys=config.memory_rows)

    def forward(self, control: Float[Tensor, "B S"], tape: Tape) -> Tape:
        numbers = self.address(control).unflatten(-1, (self.read + self.written, -1))
        address = Address.of(numbers, self.width, self.most)
        addressing = Addressing(address, tape.weights)
        attended = attend(address.key, tape.memory, tape.memory, score=self.score, normalize=addressing)
        weights = attended.weights()
        reads = attended.context[:, : self.read].flatten(1)
        memory = self.changed(tape.memory, weights[:, self.read :], self.change(control))
        return Tape(memory, weights, reads, tape.state)

    def changed(self, memory: Float[Tensor, "B N M"], weights: Float[Tensor, "B W N"], numbers: Tensor) -> Tensor:
        """M(i) Π_h (1 − w_h(i) e_h) + Σ_h w_h(i) a_h: all heads erase before any adds (equations 3 and 4)."""
        erase, add = numbers.unflatten(-1, (self.written, -1)).chunk(2, -1)
        kept = (1 - weights[..., None] * erase.sigmoid()[:, :, None]).prod(1)
        changed: Tensor = memory * kept + weights.transpose(1, 2) @ add.tanh()
        return changed


class Model(System):
    """A controller, its heads, and what it says at each step.

    Shapes: vectors (B, T, C) -> loss; logits (B, T, bits)
    """

    def __init__(self, config: Config, channels: int, bits: int) -> None:
        super().__init__()
        self.config = config
        hidden, reads = config.hidden_size, config.read_heads * config.memory_width
        seen = channels + reads
        self.controller = nn.LSTMCell(seen, hidden) if config.controller == "lstm" else nn.Linear(seen, hidden)
        self.heads = Heads(config)
        self.output = nn.Linear(hidden + reads, bits)
        self.first_read = nn.Parameter(torch.zeros(reads))
        self.first_weights = nn.Parameter(torch.zeros(config.read_heads + config.write_heads, config.memory_rows))
        with torch.no_grad():  # rows are alike in the beginning, so that heads which stand everywhere would never part
            self.first_weights[:, 0] = FOCUS

    def forward(self, batch: Batch) -> Output:
        """−log p of all bits of the answers; what is counted are sequences."""
        logits, bits, asked = self.vectors(batch.input), batch.target.bits, batch.target.asked[..., None]
        losses = F.binary_cross_entropy_with_logits(logits, bits, reduction="none")
        wrong = (((logits > 0) != (bits > 0.5)) & asked).sum()
        return Output((losses * asked).sum(), len(batch.input.lengths), {"wrong_bits": wrong})

    def vectors(self, input: BitsInput) -> Float[Tensor, "B T _"]:
        """Logits of the bits after each step; those of points are the answer."""
        tape, outputs = self.begin(len(input.vectors)), []
        for vector in input.vectors.unbind(1):
            control, tape = self.step(vector, tape)
            outputs.append(torch.cat((control, tape.reads), -1))
        logits: Tensor = self.output(torch.stack(outputs, 1))
        return logits

    def begin(self, rows: int) -> Tape:
        """An empty memory, in which each row is alike; where heads stand and what they have read is learned."""
        config = self.config
        memory = self.first_read.new_full((rows, config.memory_rows, config.memory_width), 1e-6)
        weights = self.first_weights.softmax(-1).expand(rows, -1, -1)
        state = self.first_read.new_zeros(rows, 2 * config.hidden_size)
        return Tape(memory, weights, self.first_read.tanh().expand(rows, -1), state)

    def step(self, vector: Float[Tensor, "B C"], tape: Tape) -> tuple[Float[Tensor, "B S"], Tape]:
        """What the controller makes of an input and of what was read, and the tape after all heads have moved."""
        seen, state = torch.cat((vector, tape.reads), -1), tape.state
        if isinstance(self.controller, nn.LSTMCell):
            both = self.controller(seen, state.chunk(2, -1))
            control, state = both[0], torch.cat(both, -1)
        else:
            control = self.controller(seen).tanh()
        return control, replace(self.heads(control, tape), state=state)

    def looks(self, input: BitsInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where each head stood at each step."""
        weights = torch.stack([attended.weights() for attended in recorded["heads"]], 2)  # (B, heads, T, N)
        rows, read = f"{weights.shape[-1]} rows of the memory", self.config.read_heads
        return [
            BatchLook(name, "input", rows, own)
            for name, own in (("read heads", weights[:, :read]), ("write heads", weights[:, read:]))
        ]
