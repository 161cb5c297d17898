"""Small writers for the tests: one that looks its numbers up by all that was written so far, and a recurrent one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from saccade.attention import attend, lengths
from saccade.data.tokenizers import END, PAD, START
from saccade.search import Step, StepLook

PLACES = 997
IDS: dict[str, Any] = {"start": START, "end": END, "banned": (PAD, START)}


@dataclass
class Calls:
    """What search asked of a writer."""

    rows: list[tuple[int, int]] = field(default_factory=list)
    selects: int = 0
    idle_selects: int = 0
    glances: int = 0


@dataclass
class TableState:
    """Which input each row belongs to (B,), and a number that stands for everything written so far, (B, W)."""

    inputs: Tensor
    past: Tensor
    written: int
    calls: Calls

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "TableState":
        B, W = self.past.shape
        unchanged = torch.equal(inputs, torch.arange(B)) and torch.equal(hypotheses, torch.arange(W).expand(B, W))
        self.calls.selects += 1
        self.calls.idle_selects += unchanged
        return TableState(self.inputs[inputs], self.past[inputs].gather(1, hypotheses), self.written, self.calls)


class TableWriter:
    """Random log-probabilities for every input and every past; looks at 2 × 5 made-up keys and back at its own steps.

    `memory` is the numbers of the inputs, (B,).
    """

    def __init__(self, vocabulary: int, inputs: int = 8, seed: int = 0, end_bonus: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(seed)
        logits = 2 * torch.randn(inputs, PLACES, vocabulary, generator=generator)
        logits[..., 2] += end_bonus
        self.table = logits.log_softmax(-1)
        self.weights = torch.rand(inputs, PLACES, 2, 5, generator=generator).softmax(-1)
        self.calls = Calls()

    def start(self, memory: Tensor) -> TableState:
        return TableState(memory, torch.zeros(len(memory), 1, dtype=torch.long), 0, self.calls)

    def step(self, tokens: Tensor, state: TableState) -> Step:
        self.calls.rows.append((tokens.shape[0], tokens.shape[1]))
        past = self.after(state.past, tokens)
        written = state.written + 1
        weights = self.weights[state.inputs[:, None], past]

        def glance() -> Sequence[StepLook]:
            self.calls.glances += 1
            back = weights[..., :1, :1].expand(-1, -1, 3, written) / written
            return [StepLook("source", "input", weights), StepLook("self", "written", back)]

        return Step(self.table[state.inputs[:, None], past], TableState(state.inputs, past, written, self.calls), glance)

    def after(self, past: Tensor, token: Tensor) -> Tensor:
        return (past * 31 + token * 17 + 5) % PLACES

    def log_probs(self, place: int, text: list[int]) -> Tensor:
        """What follows a text, found without search."""
        past = torch.tensor(0)
        for token in (START, *text):
            past = self.after(past, torch.tensor(token))
        return self.table[place, past]


@dataclass
class RecurrentState:
    """The source of each input (B, S, D), how long it is, and the hidden state of each hypothesis (B, W, D)."""

    source: Tensor
    sizes: Tensor
    hidden: Tensor

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "RecurrentState":
        hidden = self.hidden[inputs[:, None], hypotheses]
        return RecurrentState(self.source[inputs], self.sizes[inputs], hidden)


class RecurrentWriter(nn.Module):
    """A gated recurrent network that looks at a padded source; `memory` is the source and its lengths."""

    def __init__(self, vocabulary: int, width: int = 12) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.out = nn.Linear(2 * width, vocabulary)

    def start(self, memory: tuple[Tensor, Tensor]) -> RecurrentState:
        source, sizes = memory
        return RecurrentState(source, sizes, source[:, :1].tanh())

    def step(self, tokens: Tensor, state: RecurrentState) -> Step:
        attended = attend(state.hidden, state.source, state.source, mask=lengths(state.sizes))
        read = torch.cat((self.embed(tokens), attended.context), -1)
        hidden = self.cell(read.flatten(0, 1), state.hidden.flatten(0, 1)).view_as(state.hidden)
        log_probs = (3 * self.out(torch.cat((hidden, attended.context), -1))).log_softmax(-1)
        state = RecurrentState(state.source, state.sizes, hidden)
        return Step(log_probs, state, lambda: [StepLook("source", "input", attended.weights()[:, :, None])])
