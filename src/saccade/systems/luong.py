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
from torch.nn import functional as F

from saccade.attention import (
    Attended,
    Mask,
    PredictedCenter,
    attend,
    lengths,
    local_m,
    local_p,
    make_normalizer,
    make_score,
)
from saccade.attention.score import Prepared
from saccade.config import Positive, Share
from saccade.data.text import TextBatch
from saccade.data.tokenizers import PAD
from saccade.kernels import cells
from saccade.layers.cross_entropy import linear_cross_entropy
from saccade.layers.recurrent import Stack
from saccade.layers.repeated import Repeated
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import System

READS, WRITES = "text", "text"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and parts of the model; the paper's are embedding=1000, hidden=1000, layers=4, dropout=0.2."""

    embedding: Positive = 256
    "Width of a token's vector."
    hidden: Positive = 256
    "Width of the state of every layer, of reader and writer."
    cell: Literal["lstm", "gru"] = "lstm"
    "The recurrent unit, of reader and writer."
    layers: Positive = 1
    "Layers of the reader, and as many of the writer."
    score: str = "general"
    "How a state and a place of the source are compared: any name of the catalog; the paper's concat is called additive."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    attention: Literal["global", "local_m", "local_p"] = "global"
    "global: all of the source; local_m: a window that moves on with each word; local_p: a window whose place is predicted."
    reach: Positive = 10
    "Places that a local window opens on either side of its center: the paper's D."
    feeding: Literal["none", "input"] = "input"
    "input: what was seen at a word is joined to the vector of the next, so that the writer knows where it has looked."
    places: Positive = 200
    "Longest source that the location score can look at; other scores have no limit."
    dropout: Share = 0.0
    "Share of numbers of embeddings, between layers and before the output struck out in training."


@dataclass(frozen=True)
class Memory:
    """What was read: the keys as the score wants them, what is taken home, where it ends, and the last states."""

    keys: Prepared
    values: Float[Tensor, "B K D"]
    lengths: Int[Tensor, " B"]
    states: Float[Tensor, "B L S"]

    def select(self, inputs: Tensor) -> "Memory":
        """The memory of some inputs."""
        spoiled = self.keys.spoiled
        keys = self.keys._replace(vectors=self.keys.vectors[inputs], spoiled=None if spoiled is None else spoiled[inputs])
        return Memory(keys, self.values[inputs], self.lengths[inputs], self.states[inputs])


@dataclass(frozen=True)
class State:
    """The writer between two steps: its layers' states, the attentional vector of the last, and how many were taken."""

    memory: Memory
    states: Float[Tensor, "B W L S"]
    vector: Float[Tensor, "B W D"]
    steps: int

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        everything = torch.equal(inputs, torch.arange(len(self.states)))
        memory = self.memory if everything else self.memory.select(inputs)
        chosen = inputs[:, None], hypotheses
        return State(memory, self.states[chosen], self.vector[chosen], self.steps)


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.embedding, config.hidden
        fed = hidden if config.feeding == "input" else 0
        self.source_embedding = nn.Embedding(source_size, width, PAD)
        self.target_embedding = nn.Embedding(target_size, width, PAD)
        self.reader, self.writer = (
            Stack(size, hidden, cell=config.cell, layers=config.layers, dropout=config.dropout)
            for size in (width, width + fed)
        )
        self.score = make_score(config.score, query_width=hidden, key_width=hidden, keys=config.places)
        self.normalize = make_normalizer(config.normalize)
        self.center = PredictedCenter(hidden) if config.attention == "local_p" else None
        self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, target_size)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, source: Int[Tensor, "B K"], source_lengths: Int[Tensor, " B"]) -> Memory:
        """The top layer's state at every place, and the last states of all layers."""
        live = torch.arange(source.shape[1])[:, None] < source_lengths
        words = self.dropout(self.source_embedding(source.t()))
        tops, states = self.reader(words, live, self.reader.rest(len(source)))
        annotations = tops.transpose(0, 1).contiguous()
        return Memory(self.score.prepare(annotations), annotations, source_lengths, states)

    def loss(self, batch: TextBatch, smoothing: float = 0.0) -> Tensor:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        memory = self.read(batch.source, batch.source_lengths)
        words = self.dropout(self.target_embedding(batch.before().t()))
        vectors, _ = self._loop(words, memory) if self.config.feeding == "input" else self._write(words, memory)
        live = torch.arange(batch.target.shape[1]) < batch.target_lengths[:, None]
        read = self.dropout(vectors[live])  # nobody is asked for what follows the end
        return linear_cross_entropy(read, self.output.weight, self.output.bias, batch.target[live], smoothing)

    def _write(self, words: Float[Tensor, "T B _"], memory: Memory) -> tuple[Tensor, Tensor]:
        """All attentional vectors and contexts (B, T, D), without input feeding: the writer runs first, then looks."""
        live = torch.ones(words.shape[:2], dtype=torch.bool)
        tops, _ = self.writer(words, live, memory.states)
        hidden = tops.transpose(0, 1)
        context = self._look(hidden, memory, torch.arange(len(words))).context
        return self._combined(context, hidden), context

    def _loop(self, words: Float[Tensor, "T B _"], memory: Memory) -> tuple[Tensor, Tensor]:
        """The same with input feeding, step by step; weights are multiplied in a way whose gradient comes at the end."""
        layers, cell, width = self.writer.recurrent(), self.writer.cell, words.shape[-1]
        word_weight, fed_weight = layers[0].input_weight.split((width, self.config.hidden), 1)
        input_maps = [Repeated(fed_weight), *(Repeated(layer.input_weight) for layer in layers[1:])]
        state_maps = [Repeated(layer.state_weight) for layer in layers]
        query_weight, combine_map = self.score.query_weight(), Repeated(self.combine.weight)
        query_map = None if query_weight is None else Repeated(query_weight)
        # Each map begins at a state that all its inputs depend on: what is above the bottom layer, at that layer's.
        states = [repeated.begin(first) for repeated, first in zip(state_maps, memory.states.unbind(1), strict=True)]
        for repeated in (*input_maps[1:], combine_map, query_map):
            states[0] = repeated.begin(states[0]) if repeated else states[0]
        vector = input_maps[0].begin(words.new_zeros(words.shape[1], self.config.hidden))
        vectors, contexts = [], []
        for number, x in enumerate(F.linear(words, word_weight, layers[0].input_bias).unbind()):
            below, hidden = vector, vector
            for index, layer in enumerate(layers):
                x = input_maps[index].map(below, layer.input_bias if index else x)
                a = state_maps[index].map(states[index][:, : self.config.hidden], layer.state_bias)
                states[index] = cells.step(cell, x, a, states[index])
                hidden = states[index][:, : self.config.hidden]
                below = self.writer.dropout(hidden)
            query = Prepared(query_map.map(hidden)[:, None], None, self.score) if query_map else None
            context = self._look(hidden[:, None], memory, torch.tensor([number]), query).context.squeeze(1)
            vector = torch.tanh(combine_map.map(torch.cat((context, hidden), -1)))
            vectors.append(vector)
            contexts.append(context)
        return torch.stack(vectors, 1), torch.stack(contexts, 1)

    def start(self, memory: Memory) -> State:
        """Nothing written yet, and nothing seen."""
        return State(memory, memory.states[:, None], memory.values.new_zeros(len(memory.values), 1, self.config.hidden), 0)

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis."""
        words = self.dropout(self.target_embedding(tokens))
        x = torch.cat((words, state.vector), -1) if self.config.feeding == "input" else words
        following = self.writer.step(x, state.states)
        hidden = self.writer.top(following)
        attended = self._look(hidden, state.memory, torch.full(tokens.shape[1:], state.steps))
        vector = self._combined(attended.context, hidden)
        log_probs = torch.log_softmax(self.output(self.dropout(vector)), -1)
        after = State(state.memory, following, vector, state.steps + 1)
        return Step(log_probs, after, lambda: [StepLook("attention", "input", attended.weights()[:, :, None])])

    def _look(
        self, hidden: Float[Tensor, "B Q D"], memory: Memory, steps: Int[Tensor, " Q"], query: Prepared | None = None
    ) -> Attended:
        """Context c_t of the top states h_t at these steps; `query` if the score has made them ready already."""
        mask = self._mask(hidden, memory, steps)
        asked = hidden if query is None else query
        return attend(asked, memory.keys, memory.values, score=self.score, mask=mask, normalize=self.normalize)

    def _mask(self, hidden: Float[Tensor, "B Q D"], memory: Memory, steps: Int[Tensor, " Q"]) -> Mask:
        """All that was read, or of it a window around p_t = t (local_m) or a predicted p_t (local_p, eq. 9)."""
        everything = lengths(memory.lengths)
        if self.center is not None:
            return everything & local_p(self.center(hidden, memory.lengths), self.config.reach)
        return everything if self.config.attention == "global" else everything & local_m(steps, self.config.reach)

    def _combined(self, context: Float[Tensor, "B Q D"], hidden: Float[Tensor, "B Q D"]) -> Float[Tensor, "B Q D"]:
        """The attentional vector h̃_t = tanh(W_c[c_t; h_t]) (eq. 5)."""
        return torch.tanh(self.combine(torch.cat((context, hidden), -1)))
