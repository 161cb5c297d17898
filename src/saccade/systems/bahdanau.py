"""Neural machine translation by jointly learning to align and translate (Bahdanau, Cho and Bengio 2015).

Reads: a sequence of tokens, with a recurrent network in both directions.
Attends: the writer's last state looks at every place of the source, at every step.
Writes: a sequence of tokens, with a recurrent network that is fed what it saw.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Attended, Mask, Perceptron, Softmax, attend, lengths, looks, make_normalizer, make_score
from saccade.attention.call import AttentionCall
from saccade.attention.score import Prepared
from saccade.config import Count, Positive, Share
from saccade.data.text import TextBatch
from saccade.data.tokenizers import PAD
from saccade.kernels import cells, pooling_on, writer
from saccade.layers.cross_entropy import linear_cross_entropy
from saccade.layers.recurrent import RecurrentReader, cell_named, reset
from saccade.layers.repeated import Repeated
from saccade.systems.system import System
from saccade.writers.sequential import Step

TASK = "text_to_text"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and parts of the model; the paper's are embedding=620, hidden=1000, readout=500."""

    embedding: Positive = 256
    "Width of a token's vector."
    hidden: Positive = 256
    "Width of the writer's state, and of the reader's in each direction."
    readout: Count = 128
    "Width of the layer before the output (maxout of pairs); 0: none, the output reads the state alone."
    readout_reads: Literal["new", "last"] = "new"
    "The state that this layer reads: the one that has seen the context, or the one before it, as in the paper's appendix."
    cell: Literal["gru", "lstm"] = "gru"
    "The recurrent unit, of reader and writer."
    layers: Positive = 1
    "Layers of the reader."
    directions: Literal[1, 2] = 2
    "1: the reader goes forward only. 2: also backward."
    score: str = "additive"
    "How a state and a place of the source are compared: any name of the catalog of scores."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    places: Positive = 200
    "Longest source that the location score can look at; other scores have no limit."
    dropout: Share = 0.0
    "Share of embedding and readout numbers struck out in training."


@dataclass(frozen=True)
class Memory:
    """What was read: the keys as the score wants them, what is taken home, where it ends, and the first state."""

    keys: Prepared
    values: Float[Tensor, "B K C"]
    mask: Mask
    lengths: Int[Tensor, " B"]
    start: Float[Tensor, "B S"]

    def select(self, inputs: Tensor) -> "Memory":
        """The memory of some inputs."""
        spoiled = self.keys.spoiled
        keys = self.keys._replace(vectors=self.keys.vectors[inputs], spoiled=None if spoiled is None else spoiled[inputs])
        kept = self.lengths[inputs]
        return Memory(keys, self.values[inputs], lengths(kept), kept, self.start[inputs])


@dataclass(frozen=True)
class State:
    """The writer between two steps, (B, W, S), over the memory that its hypotheses share."""

    memory: Memory
    hidden: Float[Tensor, "B W S"]

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        everything = torch.equal(inputs, torch.arange(len(self.hidden)))
        return State(self.memory if everything else self.memory.select(inputs), self.hidden[inputs[:, None], hypotheses])


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        self.cell = cell_named(config.cell)
        width, hidden, seen = config.embedding, config.hidden, config.directions * config.hidden
        gates = self.cell.gates * hidden
        self.source_embedding = nn.Embedding(source_size, width, PAD)
        self.target_embedding = nn.Embedding(target_size, width, PAD)
        self.reader = RecurrentReader(
            width, hidden, cell=config.cell, layers=config.layers, directions=config.directions, dropout=config.dropout
        )
        self.score = make_score(config.score, query_width=hidden, key_width=seen, keys=config.places)
        self.query_map = nn.Linear(hidden, seen, bias=False) if self.score.one_width and seen != hidden else nn.Identity()
        self.normalize = make_normalizer(config.normalize)
        self.start_map = nn.Linear(hidden, self.cell.parts * hidden)
        self.word_weight = nn.Parameter(torch.empty(gates, width))
        self.context_weight = nn.Parameter(torch.empty(gates, seen))
        self.state_weight = nn.Parameter(torch.empty(gates, hidden))
        self.word_bias = nn.Parameter(torch.zeros(gates))
        self.state_bias = nn.Parameter(torch.zeros(gates))
        self.readout = nn.Linear(hidden + seen + width, 2 * config.readout) if config.readout else None
        self.output = nn.Linear(config.readout or hidden, target_size)
        self.dropout = nn.Dropout(config.dropout)
        reset(self.word_weight, self.state_weight, hidden)
        reset(self.context_weight, self.state_weight, hidden)

    def read(self, source: Int[Tensor, "B K"], source_lengths: Int[Tensor, " B"]) -> Memory:
        """Annotations h_j of every place (eq. 7), and the first state from the reader's last word (A.2.2)."""
        live = torch.arange(source.shape[1])[:, None] < source_lengths
        words = self.dropout(self.source_embedding(source.t()))
        states, ends = self.reader(words, live)
        annotations = states.transpose(0, 1).contiguous()
        start = torch.tanh(self.start_map(ends[-1]))
        return Memory(self.score.prepare(annotations), annotations, lengths(source_lengths), source_lengths, start)

    def loss(self, batch: TextBatch, smoothing: float = 0.0) -> Tensor:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        memory = self.read(batch.source, batch.source_lengths)
        words = self.dropout(self.target_embedding(batch.before().t()))
        gates = F.linear(words, self.word_weight, self.word_bias)
        states, contexts = self._write(gates, memory) if self._has_kernel(memory) else self._loop(gates, memory)
        read = self._read_out(self._told(self._hidden(memory.start), states), contexts, words)
        live = torch.arange(len(words))[:, None] < batch.target_lengths
        if not live.all():  # nobody is asked for what follows the end
            read = read[live]
        answers = batch.target.t()[live]
        return linear_cross_entropy(read.flatten(0, -2), self.output.weight, self.output.bias, answers, smoothing)

    def _has_kernel(self, memory: Memory) -> bool:
        """Whether all steps can be taken in one call: additive scores, softmax, nothing that is not finite."""
        plain = isinstance(self.normalize, Softmax) and memory.keys.spoiled is None
        if not plain or not isinstance(self.score, Perceptron):
            return False
        return pooling_on(memory.start[:, None], memory.keys.vectors, memory.values, self.score.vector)

    def _write(self, gates: Float[Tensor, "T B _"], memory: Memory) -> tuple[Tensor, Tensor]:
        """All states and contexts, from the kernel; what was seen is told as one look of T queries."""
        assert isinstance(self.score, Perceptron)
        keys, values = memory.keys.vectors, memory.values
        live = torch.arange(keys.shape[1]) < memory.lengths[:, None]
        query = self.score.query_weight()
        weights = writer.Weights(query, self.score.vector, self.context_weight, self.state_weight, self.state_bias)
        written = writer.write(self.cell, gates, memory.start, keys, values, live, weights)
        scene = AttentionCall(written.queries.squeeze(2).transpose(0, 1), keys, self.score, memory.mask, self.normalize)
        looks.record(Attended(written.contexts.transpose(0, 1), scene))
        return self._hidden(written.states), written.contexts

    def _loop(self, gates: Float[Tensor, "T B _"], memory: Memory) -> tuple[Tensor, Tensor]:
        """The same, step by step, for any score and normalizer; weights are multiplied in a way whose gradient comes at
        the end."""
        query_weight = self.score.query_weight()
        query_map = None if query_weight is None else Repeated(query_weight)
        context_map, state_map = Repeated(self.context_weight), Repeated(self.state_weight)
        state = memory.start
        for repeated in (context_map, state_map, query_map):
            state = repeated.begin(state) if repeated else state
        states, contexts = [], []
        for word_gates in gates.unbind():
            hidden = self._hidden(state)
            query = Prepared(query_map.map(hidden)[:, None], None, self.score) if query_map else hidden[:, None]
            seen = self._look(query, memory).context.squeeze(1)
            x = context_map.map(seen, word_gates)
            state = cells.step(self.cell, x, state_map.map(hidden, self.state_bias), state)
            states.append(self._hidden(state))
            contexts.append(seen)
        return torch.stack(states), torch.stack(contexts)

    def _hidden(self, state: Tensor) -> Tensor:
        """The part of a state that is seen outside the cell; all of it, for a GRU."""
        return state if self.cell.parts == 1 else state[..., : self.config.hidden]

    def start(self, memory: Memory) -> State:
        """Nothing written yet."""
        return State(memory, memory.start[:, None])

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis."""
        words, hidden = self.target_embedding(tokens), self._hidden(state.hidden)
        attended = self._look(hidden, state.memory)
        x = F.linear(words, self.word_weight, self.word_bias) + F.linear(attended.context, self.context_weight)
        a = F.linear(hidden, self.state_weight, self.state_bias)
        following = cells.step(self.cell, x.flatten(0, 1), a.flatten(0, 1), state.hidden.flatten(0, 1))
        following = following.unflatten(0, tokens.shape)
        told = hidden if self.config.readout_reads == "last" else self._hidden(following)
        read = self._read_out(told, attended.context, words)
        log_probs = torch.log_softmax(self.output(read), -1)
        return Step(log_probs, State(state.memory, following), lambda: {"attention": attended.weights()[:, :, None]})

    def _look(self, query: Float[Tensor, "B W _"] | Prepared, memory: Memory) -> Attended:
        """Context c_i from the last state s_{i-1} (eq. 5–6)."""
        query = query if isinstance(query, Prepared) else self.query_map(query)
        return attend(query, memory.keys, memory.values, score=self.score, mask=memory.mask, normalize=self.normalize)

    def _told(self, start: Float[Tensor, "B H"], states: Float[Tensor, "T B H"]) -> Float[Tensor, "T B H"]:
        """The states that the deep output reads."""
        return states if self.config.readout_reads == "new" else torch.cat((start[None], states[:-1]))

    def _read_out(self, states: Tensor, contexts: Tensor, words: Tensor) -> Tensor:
        """The deep output's layer of maxout pairs (A.2.2)."""
        if self.readout is None:
            read = states
        else:
            read = self.readout(torch.cat((states, contexts, words), -1)).unflatten(-1, (-1, 2)).amax(-1)
        dropped: Tensor = self.dropout(read)
        return dropped
