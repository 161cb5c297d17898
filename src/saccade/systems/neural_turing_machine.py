"""Neural Turing machines (Graves, Wayne and Danihelka 2014): a network with a memory that it reads and writes by attention.

Reads: a sequence of binary vectors and marks, one after the other.
Attends: heads, to rows of a memory, by content and by place; some read, some erase and add.
Writes: a binary vector at each point that expects one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Positive
from saccade.data.tensors import Batch, BitsInput
from saccade.errors import UsageError
from saccade.layers.tape_lstm import PlainLSTM
from saccade.layers.written_memory import WrittenMemory
from saccade.systems.system import BatchLook, Output, Recorded, System, cosine
from saccade.view.trace import Axis

READS, WRITES = "bits", "bits"
DEFAULTS = {
    "train": cosine(5000, 3e-3, every=250, patience=0) | {"batch_size": 16, "optimizer": "adam", "clip": 1.0},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of memory and controller; the defaults are the paper's for copying."""

    memory: Literal["rows", "none"] = "rows"
    "rows: a memory that heads read and write; none: the controller alone, an LSTM, as the control."
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
        if self.memory == "none" and self.controller != "lstm":
            fix = "without a memory only controller=lstm can remember anything"
            raise UsageError(f"controller: expected lstm beside memory=none, got {self.controller}", fix=fix)


def attends(config: Config) -> bool:
    """Whether there are heads."""
    return config.memory == "rows"


class Model(System):
    """A controller with its memory, and what it says at each step.

    Shapes: vectors (B, T, C) -> loss; logits (B, T, bits)
    """

    def __init__(self, config: Config, channels: int, bits: int) -> None:
        super().__init__()
        self.config = config
        hidden, width = config.hidden_size, config.hidden_size
        self.machine: nn.Module
        if config.memory == "none":
            self.machine = PlainLSTM(channels, hidden)
        else:
            self.machine = WrittenMemory(
                channels,
                hidden,
                remembers=config.controller == "lstm",
                rows=config.memory_rows,
                width=config.memory_width,
                read_heads=config.read_heads,
                write_heads=config.write_heads,
                max_shift=config.max_shift,
            )
            width += config.read_heads * config.memory_width
        self.output = nn.Linear(width, bits)

    def forward(self, batch: Batch) -> Output:
        """−log p of all bits of the answers; what is counted are sequences."""
        logits, bits, asked = self.vectors(batch.input), batch.target.bits, batch.target.asked[..., None]
        losses = F.binary_cross_entropy_with_logits(logits, bits, reduction="none")
        wrong = (((logits > 0) != (bits > 0.5)) & asked).sum()
        return Output((losses * asked).sum(), len(batch.input.lengths), {"wrong_bits": wrong})

    def vectors(self, input: BitsInput) -> Float[Tensor, "B T _"]:
        """Logits of the bits after each step; those of points are the answer."""
        logits: Tensor = self.output(self.machine(input.vectors.transpose(0, 1).contiguous()))
        return logits.transpose(0, 1)

    def axes(self) -> Mapping[str, Axis]:
        """The rows of the memory, by their numbers."""
        return {"memory": Axis("rows", [str(row) for row in range(self.config.memory_rows)])}

    def looks(self, input: BitsInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where each head stood at each step."""
        if self.config.memory == "none":
            return []
        weights = recorded["machine"][-1].weights()
        read = self.config.read_heads
        return [
            BatchLook(name, "input", "memory", own)
            for name, own in (("read heads", weights[:, :read]), ("write heads", weights[:, read:]))
        ]
