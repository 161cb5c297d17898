"""Sequence to sequence learning with neural networks (Sutskever, Vinyals and Le 2014).

Reads: a sequence of tokens, from its end to its beginning, with layers of a recurrent network.
Attends: nowhere: all that is known of the source is the state in which reading it ended.
Writes: a sequence of tokens, with layers that start from those states.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention.live import live
from saccade.config import Positive
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.recurrent import Stack
from saccade.search.protocol import Step
from saccade.systems.system import PAIRS, Output, RecurrentConfig, System

READS, WRITES = "text", "text"
DEFAULTS = PAIRS


@dataclass(frozen=True, kw_only=True)
class Config(RecurrentConfig):
    """Sizes and parts of the model; the paper's are embedding=1000, hidden=1000, layers=4."""

    num_layers: Positive = 2
    "Number of encoder layers, and as many decoder layers."
    order: Literal["forward", "reversed"] = "reversed"
    "reversed: the source is read from its last token to its first, so that its beginning is near the target's."


def backwards(source: Int[Tensor, "B K"], source_lengths: Int[Tensor, " B"]) -> Int[Tensor, "B K"]:
    """Every row from its last token to its first; padding stays at the end."""
    places, ends = torch.arange(source.shape[1], device=source.device), source_lengths[:, None]
    return source.gather(1, torch.where(places < ends, ends - 1 - places, places))


@dataclass(frozen=True)
class Memory:
    """What was read: the last state of every layer."""

    states: Float[Tensor, "B L S"]


@dataclass(frozen=True)
class State:
    """The writer between two steps: the states of all its layers."""

    states: Float[Tensor, "B W L S"]

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        return State(self.states[inputs[:, None], hypotheses])


def attends(config: Config) -> bool:
    """All that is read becomes one vector."""
    return False


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source: Vocabulary, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.embedding_size, config.hidden_size
        self.source_embedding = nn.Embedding(source.size, width, source.pad)
        self.target_embedding = nn.Embedding(target.size, width, target.pad)
        self.reader, self.writer = (
            Stack(width, hidden, cell=config.cell, layers=config.num_layers, dropout=config.dropout) for _ in range(2)
        )
        self.output = nn.Linear(hidden, target.size)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, input: TextInput) -> Memory:
        """The vector v that stands for the whole source (eq. 1)."""
        there = live(input.lengths, input.tokens.shape[1]).t()
        ordered = backwards(input.tokens, input.lengths) if self.config.order == "reversed" else input.tokens
        words = self.dropout(self.source_embedding(ordered.t()))
        return Memory(self.reader(words, there, self.reader.rest(input.lengths.shape[0]))[1])

    def forward(self, batch: Batch) -> Output:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        target, memory = batch.target, self.read(batch.input)
        words = self.dropout(self.target_embedding(target.before().t()))
        there = live(target.lengths, len(words)).t()
        states, _ = self.writer(words, there, memory.states)
        rows, targets = live_rows(states, target.tokens.t(), there)
        loss = linear_cross_entropy(rows, self.output.weight, self.output.bias, targets, self.smoothing(target))
        return Output(loss, target.lengths.sum())

    def start(self, memory: Memory) -> State:
        """Nothing written yet."""
        return State(memory.states[:, None])

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis."""
        following = self.writer.step(self.dropout(self.target_embedding(tokens)), state.states)
        log_probs = torch.log_softmax(self.output(self.writer.top(following)), -1)
        return Step(log_probs, State(following), list)
