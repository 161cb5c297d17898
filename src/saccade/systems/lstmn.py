"""Long short-term memory-networks for machine reading (Cheng, Dong and Lapata 2016): self-attention in a recurrent network.

Reads: the words of a text, one after the other.
Attends: each word, with what the network went on from before, to all its states so far; it goes on from their mean.
Writes: the next word. (`document_attention` reads texts for a label so, with model.encoder=lstmn.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import looking
from saccade.attention.live import live
from saccade.config import Positive, Share
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.tape_lstm import PlainLSTM, TapeLSTM, Tapes, tape_weights
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import BatchLook, Output, System, cosine

READS, WRITES = "text", "continuation"
DEFAULTS: dict[str, Any] = {
    "tokens": {"kind": "word", "size": 10_000},
    "writer": {"context_length": 64},
    "train": cosine(4000, 2e-3, every=400, patience=4) | {"batch_tokens": 1280, "clip": 1.0, "warmup": 100},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and what a step goes on from."""

    embedding_size: Positive = 128
    "Size of a word's vector."
    hidden_size: Positive = 128
    "Units of each layer."
    num_layers: Positive = 1
    "Number of layers, one above the other."
    memory: Literal["tapes", "last"] = "tapes"
    "tapes: a step goes on from all earlier states, under attention; last: from the one before, the LSTM as the control."
    dropout: Share = 0.3
    "Dropout of word vectors, between layers and before the output."


def attends(config: Config) -> bool:
    """Whether there is attention inside."""
    return config.memory == "tapes"


@dataclass(frozen=True)
class State:
    """The tapes of each layer, a row for each input and hypothesis, and how many tokens were read.

    Shapes: the rows of B inputs × W hypotheses
    """

    layers: tuple[Tapes, ...]
    shape: tuple[int, int]
    steps: int

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        rows = (inputs[:, None] * self.shape[1] + hypotheses).flatten()
        B, W = hypotheses.shape
        return State(tuple(tapes.select(rows) for tapes in self.layers), (B, W), self.steps)


class Model(System):
    """Shapes: target (B, T) -> loss; tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, source: Vocabulary, context_length: int) -> None:
        super().__init__()
        self.config, self.context_length = config, context_length
        self.embedding = nn.Embedding(source.size, config.embedding_size)
        nn.init.normal_(self.embedding.weight, std=0.1)
        widths = [config.embedding_size] + [config.hidden_size] * (config.num_layers - 1)
        kind = TapeLSTM if config.memory == "tapes" else PlainLSTM
        self.layers = nn.ModuleList(kind(width, config.hidden_size) for width in widths)
        self.output = nn.Linear(config.hidden_size, source.size)
        self.dropout = Dropout(config.dropout)

    def states(self, embedded: Float[Tensor, "B T D"]) -> Float[Tensor, "B T H"]:
        """What the layers make of each word and those before it."""
        x = embedded.transpose(0, 1).contiguous()
        for layer in self.layers:
            x = self.dropout(layer(x))
        return x.transpose(0, 1)

    def forward(self, batch: Batch) -> Output:
        """Sum over all positions of −log p(token | those before it)."""
        target = batch.target
        states = self._read(target.before())
        rows, tokens = live_rows(states, target.tokens, live(target.lengths, states.shape[1]))
        return Output(linear_cross_entropy(rows, self.output.weight, self.output.bias, tokens), target.lengths.sum())

    def loss_of_last(self, tokens: Int[Tensor, "B T"], count: int) -> Float[Tensor, ""]:
        """Sum of −log p(token | those before it) over the last so many of each row."""
        rows = self._read(tokens[:, :-1])[:, -count:].flatten(0, 1)
        return linear_cross_entropy(rows, self.output.weight, self.output.bias, tokens[:, -count:].flatten())

    def log_probs(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The log-probabilities of what follows each token."""
        logits: Tensor = self.output(self._read(tokens))
        return logits.log_softmax(-1)

    def reading(self, input: TextInput) -> Sequence[BatchLook]:
        """Where each token of a text looked, in each layer."""
        with looking(self) as looks:
            self._read(input.tokens)
        return [
            BatchLook(_called(number), "input", "input", tape_weights(seen, input.tokens.shape[1]))
            for number, seen in enumerate(looks.values(), 1)
        ]

    def _read(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
        return self.states(self.dropout(self.embedding(tokens)))

    def start(self, inputs: int) -> State:
        """Nothing written yet, for so many inputs."""
        return State(tuple(layer.begin(inputs) for layer in self._layers()), (inputs, 1), 0)

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis; of more states than the context holds, the first are forgotten."""
        x: Tensor = self.embedding(tokens.flatten())
        layers, seen = [], []
        for layer, before in zip(self._layers(), state.layers, strict=True):
            x, tapes, attended = layer.step(x, before.last(self.context_length))
            layers.append(tapes)
            seen.append(attended)
        following = State(tuple(layers), (tokens.shape[0], tokens.shape[1]), state.steps + 1)
        log_probs = self.output(x).log_softmax(-1).view(*tokens.shape, -1)
        return Step(log_probs, following, lambda: _step_looks(seen, following))

    def prefill(self, tokens: Int[Tensor, "B T"], state: State) -> Step:
        """A prompt, token by token."""
        for column in tokens.t():
            step = self.step(column[:, None], state)
            state = step.state
        return step

    def _layers(self) -> Sequence[Any]:
        return list(self.layers)


def _called(number: int) -> str:
    return f"intra-attention, layer {number}"


def _step_looks(seen: Sequence[Any], state: State) -> list[StepLook]:
    """Where the newest token looked: at all before it that are still on the tapes, not at itself."""
    found = []
    for number, attended in enumerate(seen, 1):
        if attended is not None:
            weights = attended.weights().view(*state.shape, 1, -1)
            found.append(StepLook(_called(number), "written", F.pad(weights, (state.steps - 1 - weights.shape[-1], 1))))
    return found
