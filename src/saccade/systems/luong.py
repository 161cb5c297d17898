"""Effective approaches to attention-based neural machine translation (Luong, Pham and Manning 2015).

Reads: a sequence of tokens, with layers of a recurrent network.
Attends: the writer's new state looks at every place of the source, or at a window of it, before each word.
Writes: a sequence of tokens, with layers that start from the reader's states and are fed what was seen.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import PredictedCenter, local_m, local_p, make_normalizer, make_score
from saccade.attention.live import live
from saccade.config import Positive
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.attentive_decoder import Annotations, DecoderState, NewStateDecoder, Window
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.recurrent import Stack
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import PAIRS, AttentiveConfig, Output, System

READS, WRITES = "text", "text"
DEFAULTS = PAIRS


@dataclass(frozen=True, kw_only=True)
class Config(AttentiveConfig):
    """Sizes and parts of the model; the paper's are embedding=1000, hidden=1000, layers=4, dropout=0.2."""

    score: str = "general"
    "How a state and a place of the source are compared: any name of the catalog; the paper's concat is called additive."
    attention: Literal["global", "local_m", "local_p"] = "global"
    "global: all of the source; local_m: a window that moves on with each word; local_p: a window whose place is predicted."
    window: Positive = 10
    "Places that a local window opens on either side of its center: the paper's D."
    feeding: Literal["none", "input"] = "input"
    "input: what was seen at a word is joined to the vector of the next, so that the writer knows where it has looked."


@dataclass(frozen=True)
class Memory:
    """What was read, and the last states of all layers."""

    annotations: Annotations
    states: Float[Tensor, "B L S"]


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source: Vocabulary, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.embedding_size, config.hidden_size
        fed = hidden if config.feeding == "input" else 0
        self.source_embedding = nn.Embedding(source.size, width, source.pad)
        self.target_embedding = nn.Embedding(target.size, width, target.pad)
        self.reader, layers = (
            Stack(size, hidden, cell=config.cell, layers=config.num_layers, dropout=config.dropout)
            for size in (width, width + fed)
        )
        score = make_score(config.score, query_width=hidden, key_width=hidden, keys=config.max_positions)
        self.center = PredictedCenter(hidden) if config.attention == "local_p" else None
        self.decoder = NewStateDecoder(
            layers, score=score, normalize=make_normalizer(config.normalize), feeding=config.feeding == "input"
        )
        self.output = nn.Linear(hidden, target.size)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, input: TextInput) -> Memory:
        """The top layer's state at every place, and the last states of all layers."""
        words = self.dropout(self.source_embedding(input.tokens.t()))
        tops, states = self.reader(
            words, live(input.lengths, input.tokens.shape[1]).t(), self.reader.rest(input.lengths.shape[0])
        )
        values = tops.transpose(0, 1).contiguous()
        return Memory(Annotations(self.decoder.score.prepare(values), values, input.lengths), states)

    def forward(self, batch: Batch) -> Output:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        target, memory = batch.target, self.read(batch.input)
        words = self.dropout(self.target_embedding(target.before().t()))
        vectors = self.decoder(words, memory.annotations, memory.states, self._window).outputs.transpose(0, 1)
        rows, targets = live_rows(vectors, target.tokens, live(target.lengths, len(words)))
        loss = linear_cross_entropy(
            self.dropout(rows), self.output.weight, self.output.bias, targets, self.smoothing(target)
        )
        return Output(loss, target.lengths.sum())

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet, and nothing seen."""
        return self.decoder.start(memory.annotations, memory.states)

    def step(self, tokens: Int[Tensor, "B W"], state: DecoderState) -> Step:
        """One more token for every hypothesis."""
        decoded = self.decoder.step(self.dropout(self.target_embedding(tokens)), state, self._window)
        log_probs = torch.log_softmax(self.output(self.dropout(decoded.outputs)), -1)
        return Step(log_probs, decoded.state, lambda: [StepLook("attention", "input", decoded.weights())])

    @property
    def _window(self) -> Window | None:
        """Of all that was read, a window around p_t = t (local_m) or a predicted p_t (local_p, eq. 9)."""
        center, reach = self.center, self.config.window
        if center is not None:
            return lambda hidden, lengths, steps: local_p(center(hidden, lengths), reach)
        return None if self.config.attention == "global" else lambda hidden, lengths, steps: local_m(steps, reach)
