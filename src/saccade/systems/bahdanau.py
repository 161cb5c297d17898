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

from saccade.attention import make_normalizer, make_score
from saccade.attention.live import live
from saccade.config import Count, Positive
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.attentive_decoder import Annotations, DecoderState, LastStateDecoder, query_map_for
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.recurrent import RecurrentReader, cell_named
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import PAIRS, AttentiveConfig, Output, System

READS, WRITES = "text", "text"
DEFAULTS = PAIRS


@dataclass(frozen=True, kw_only=True)
class Config(AttentiveConfig):
    """Sizes and parts of the model; the paper's are embedding=620, hidden=1000, readout=500."""

    readout_size: Count = 128
    "Width of the layer before the output (maxout of pairs); 0: none, the output reads the state alone."
    readout_reads: Literal["new", "last"] = "new"
    "The state that this layer reads: the one that has seen the context, or the one before it, as in the paper's appendix."
    cell: Literal["gru", "lstm"] = "gru"
    "The recurrent unit of encoder and decoder."
    num_layers: Positive = 1
    "Number of encoder layers."
    directions: Literal[1, 2] = 2
    "1: the reader goes forward only. 2: also backward."
    values: Literal["states", "embeddings"] = "states"
    "What is summed where the decoder attends: the encoder's states, or embeddings alone, which hold no other place."
    score: str = "additive"
    "How a state and a place of the source are compared: any name of the catalog of scores."


@dataclass(frozen=True)
class Memory:
    """What was read, and the decoder's first state."""

    annotations: Annotations
    start: Float[Tensor, "B S"]


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source: Vocabulary, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        width, hidden, read = config.embedding_size, config.hidden_size, config.directions * config.hidden_size
        seen = read if config.values == "states" else width
        self.source_embedding = nn.Embedding(source.size, width, source.pad)
        self.target_embedding = nn.Embedding(target.size, width, target.pad)
        self.reader = RecurrentReader(
            width, hidden, cell=config.cell, layers=config.num_layers, directions=config.directions, dropout=config.dropout
        )
        score = make_score(config.score, query_width=hidden, key_width=read, keys=config.max_positions)
        query_map = query_map_for(score, hidden, read)
        self.start_map = nn.Linear(hidden, cell_named(config.cell).parts * hidden)
        self.readout = nn.Linear(hidden + seen + width, 2 * config.readout_size) if config.readout_size else None
        self.output = nn.Linear(config.readout_size or hidden, target.size)
        self.dropout = nn.Dropout(config.dropout)
        normalize = make_normalizer(config.normalize)
        self.decoder = LastStateDecoder(
            width, hidden, seen, score=score, normalize=normalize, query_map=query_map, cell=config.cell
        )

    def read(self, input: TextInput) -> Memory:
        """Annotations h_j of every place (eq. 7), and the first state from the reader's last word (A.2.2)."""
        words = self.dropout(self.source_embedding(input.tokens.t()))
        states, ends = self.reader(words, live(input.lengths, input.tokens.shape[1]).t())
        keys = states.transpose(0, 1).contiguous()
        values = keys if self.config.values == "states" else words.transpose(0, 1).contiguous()
        start = torch.tanh(self.start_map(ends[-1]))
        return Memory(Annotations(self.decoder.score.prepare(keys), values, input.lengths), start)

    def forward(self, batch: Batch) -> Output:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        target, memory = batch.target, self.read(batch.input)
        words = self.dropout(self.target_embedding(target.before().t()))
        states, contexts = self.decoder(words, memory.annotations, memory.start)
        if self.config.readout_reads == "last":
            states = torch.cat((self.decoder.hidden(memory.start)[None], states[:-1]))
        live_steps = live(target.lengths, len(words)).t()
        rows, targets = live_rows(self._read_out(states, contexts, words), target.tokens.t(), live_steps)
        loss = linear_cross_entropy(rows, self.output.weight, self.output.bias, targets, self.smoothing(target))
        return Output(loss, target.lengths.sum())

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet."""
        return self.decoder.start(memory.annotations, memory.start)

    def step(self, tokens: Int[Tensor, "B W"], state: DecoderState) -> Step:
        """One more token for every hypothesis."""
        words = self.target_embedding(tokens)
        decoded = self.decoder.step(words, state)
        last = self.decoder.hidden(state.states[:, :, 0])
        states = last if self.config.readout_reads == "last" else decoded.outputs
        log_probs = torch.log_softmax(self.output(self._read_out(states, decoded.contexts, words)), -1)
        return Step(log_probs, decoded.state, lambda: [StepLook("attention", "input", decoded.weights())])

    def _read_out(self, states: Tensor, contexts: Tensor, words: Tensor) -> Tensor:
        """The deep output's layer of maxout pairs (A.2.2)."""
        if self.readout is None:
            read = states
        else:
            read = self.readout(torch.cat((states, contexts, words), -1)).unflatten(-1, (-1, 2)).amax(-1)
        dropped: Tensor = self.dropout(read)
        return dropped
