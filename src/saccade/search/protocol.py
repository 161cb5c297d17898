"""What search knows of a model: start, step, select, and perhaps prefill.

Rows stand in a rectangle: B inputs × W hypotheses of each, so that what belongs to an input (its keys and values) is
held once and shared by its hypotheses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from saccade.errors import UsageError
from saccade.kernels.softmax import log_totals

NEVER = float("-inf")

# What a look is at: the input that was read, or the tokens before the one that is written, the start token first.
Keys = Literal["input", "written"]


@dataclass(frozen=True)
class StepLook:
    """Where every hypothesis looked in one step.

    Shapes: weights (B, W, heads, keys)
    """

    name: str
    keys: Keys
    weights: Tensor


# The looks of the step just taken, computed only when called; the same names in the same order at every step.
Glance = Callable[[], Sequence[StepLook]]


class State(Protocol):
    """What a writer carries from step to step, for B inputs × W hypotheses."""

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """The state of inputs[b] (B',) and, for each, of its hypotheses[b, w] (B', W'): reordered, repeated or dropped."""
        ...


@dataclass(frozen=True)
class Step:
    """What one step gives: logits (B, W, V), the next state, and a way to see where it looked.

    Logits that are `normalized` are log-probabilities. The others need not become that: a search takes from its totals what
    they all are too large by.
    """

    logits: Tensor
    state: Any
    glance: Glance
    normalized: bool = True

    @property
    def log_probs(self) -> Tensor:
        """Log-probabilities (B, W, V)."""
        return self.logits if self.normalized else self.logits.log_softmax(-1)

    def before(self, totals: Tensor) -> Tensor:
        """The totals (B, W) on the CPU, to which logits are added; what has probability 0 keeps it."""
        if self.normalized:
            return totals
        return torch.where(totals == NEVER, totals, totals - log_totals(self.logits).cpu().double())


class Writer(Protocol):
    """A model that writes one token after another."""

    def start(self, memory: Any) -> Any:
        """The state before the first token, W = 1."""
        ...

    def step(self, tokens: Tensor, state: Any) -> Step:
        """Reads the last token (B, W) of every hypothesis."""
        ...


@runtime_checkable
class Prefiller(Writer, Protocol):
    """A writer that can also read many tokens at once."""

    def prefill(self, tokens: Tensor, state: Any) -> Step:
        """Reads tokens (B, T) from a state with W = 1: what T steps would give in the end, log-probabilities (B, 1, V)."""
        ...


@runtime_checkable
class Joiner(Writer, Protocol):
    """A writer that can write texts side by side whose prompts differ in length."""

    joins: bool
    "Whether it can, as it is configured."

    def join(self, states: Sequence[Any]) -> Any:
        """One state of states with W = 1, which were selected from one and then read prompts of different lengths."""
        ...


def read(writer: Writer, tokens: Tensor, state: Any) -> Any:
    """The state after these tokens (B, T), read at once where the writer can, else one after another."""
    if isinstance(writer, Prefiller) and tokens.shape[1]:
        return writer.prefill(tokens, state).state
    for number in range(tokens.shape[1]):
        state = writer.step(tokens[:, number, None], state).state
    return state


def each(value: int | Sequence[int], inputs: int, name: str) -> Sequence[int]:
    """One number for each input, from one for all or from theirs."""
    values = [value] * inputs if isinstance(value, int) else value
    if len(values) != inputs:
        raise UsageError(f"{name}: expected {inputs}, one for each input, got {len(values)}")
    return values
