"""Language models are unsupervised multitask learners: GPT-2 (Radford et al. 2019).

Reads: the tokens so far, each with its learned position.
Attends: in each layer and head, every token to those before it and to itself.
Writes: the next token.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import causal, looking
from saccade.attention.live import live
from saccade.attention.masks import named
from saccade.config import Positive, Share
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UnknownName, UsageError
from saccade.layers.cache import Past
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.feed_forward import FeedForward
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.position_embeddings import Learned
from saccade.layers.transformer_blocks import EncoderLayer, SelfAttention
from saccade.layers.writing_layers import Weights, WritingLayers
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import BatchLook, Output, System, cosine

READS, WRITES = "text", "continuation"
DEFAULTS = {
    "tokens": {"kind": "bpe", "size": 2000},
    "writer": {"context_length": 128},
    "train": cosine(1500, 1e-3, every=150, patience=4)
    | {"batch_tokens": 1024, "warmup": 100, "optimizer": "adamw", "beta2": 0.99, "weight_decay": 0.1, "decay": "matrices"},
}
INIT_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of the model; the defaults are for some megabytes of text, the published ones are presets."""

    hidden_size: Positive = 128
    "Size of a token's vector in all layers."
    num_layers: Positive = 4
    "Number of layers."
    num_heads: Positive = 4
    "Attention heads of each layer; must divide hidden_size."
    dropout: Share = 0.1
    "Dropout of embeddings and of what each layer adds."
    attention_dropout: Share = 0.1
    "Dropout of attention weights."
    mask: str = "none"
    "What heads may not see beside the future: none, window(16), and as in Sparse Transformers strided(16), fixed(16, 4)."

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise UsageError(f"num_heads: expected a divisor of hidden_size ({self.hidden_size}), got {self.num_heads}")
        try:
            named(self.mask)
        except UnknownName as error:
            raise UsageError(f"mask: {error}") from None


def _published(hidden_size: int, num_layers: int, num_heads: int, *, tokens: int = 50_257) -> dict[str, Any]:
    sizes = {"hidden_size": hidden_size, "num_layers": num_layers, "num_heads": num_heads}
    return {"tokens": {"size": tokens}, "model": sizes, "writer": {"context_length": 1024}}


def _megatron(hidden_size: int, num_layers: int, num_heads: int) -> dict[str, Any]:
    """Of Shoeybi et al. 2019, who fill the vocabulary up so that eight processes share it in equal parts."""
    return _published(hidden_size, num_layers, num_heads, tokens=51_200)


PRESETS = {
    "small": _published(768, 12, 12),
    "medium": _published(1024, 24, 16),
    "large": _published(1280, 36, 20),
    "xl": _published(1600, 48, 25),
    "megatron-345m": _megatron(1024, 24, 16),
    "megatron-1.2b": _megatron(1536, 40, 16),
    "megatron-2.5b": _megatron(1920, 54, 20),
    "megatron-4.2b": _megatron(2304, 64, 24),
    "megatron-8.3b": _megatron(3072, 72, 32),
}


@dataclass(frozen=True)
class State:
    """The tokens of each hypothesis, and the keys and values of those that the model still attends to.

    Shapes: tokens (B, W, T), zeros before those of a text that is shorter than others
    """

    tokens: Int[Tensor, "B W T"]
    past: Past
    layers: WritingLayers

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        return State(self.tokens[inputs[:, None], hypotheses], self.past.select(inputs, hypotheses), self.layers)


class Model(System):
    """Shapes: target (B, T) -> loss; tokens (B, W) -> log-probabilities (B, W, V)"""

    no_bias: Tensor

    def __init__(self, config: Config, source: Vocabulary, context_length: int) -> None:
        super().__init__()
        self.config, self.context_length = config, context_length
        extra = named(config.mask)
        self.mask = causal() if extra is None else causal() & extra
        self.embedding = nn.Embedding(source.size, config.hidden_size)  # also the output layer
        self.positions = Learned(config.hidden_size, context_length)
        self.layers = nn.ModuleList(self._layer() for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.dropout = Dropout(config.dropout)
        self.register_buffer("no_bias", torch.zeros(source.size), persistent=False)
        self._initialize()

    def _layer(self) -> EncoderLayer:
        config = self.config
        attention = MultiHeadAttention(config.hidden_size, config.num_heads, dropout=config.attention_dropout)
        network = FeedForward(config.hidden_size, 4 * config.hidden_size, "gelu_tanh")
        mixer = SelfAttention(attention, lambda lengths: self.mask)
        return EncoderLayer(mixer, network, config.hidden_size, config.dropout, "pre")

    def _initialize(self) -> None:
        """N(0, 0.02); what is added to the residual stream is divided by the root of the number of additions."""
        residual = INIT_STD / math.sqrt(2 * self.config.num_layers)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                added = name.endswith(("output_map.weight", "network.out.weight"))
                nn.init.normal_(parameter, std=residual if added else INIT_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, batch: Batch) -> Output:
        """Sum over all positions of −log p(token | those before it)."""
        target = batch.target
        x = self._states(target.before())
        rows, tokens = live_rows(self.norm(x), target.tokens, live(target.lengths, x.shape[1]))
        return Output(linear_cross_entropy(rows, self.embedding.weight, self.no_bias, tokens), target.lengths.sum())

    def loss_of_last(self, tokens: Int[Tensor, "B T"], count: int) -> Float[Tensor, ""]:
        """Sum of −log p(token | those before it) over the last so many of each row."""
        x = self._states(tokens[:, :-1])
        rows = self.norm(x[:, -count:]).flatten(0, 1)
        return linear_cross_entropy(rows, self.embedding.weight, self.no_bias, tokens[:, -count:].flatten())

    def _states(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """What the layers make of every token, before the last norm."""
        x = self._embedded(tokens, 0)
        for layer in self.layers:
            x = layer(x, None)
        return x

    def log_probs(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The log-probabilities of what follows each token."""
        return F.linear(self.norm(self._states(tokens)), self.embedding.weight).log_softmax(-1)

    def reading(self, input: TextInput) -> Sequence[BatchLook]:
        """Where each token of a text looked, in each layer."""
        with looking(self) as looks:
            self._states(input.tokens)
        return [
            BatchLook(f"self-attention, layer {number}", "input", "input", look[0].weights())
            for number, look in enumerate(looks.values(), 1)
        ]

    def _embedded(self, tokens: Int[Tensor, "B T"], first: int) -> Float[Tensor, "B T D"]:
        embedded: Tensor = self.dropout(self.embedding(tokens) + self.positions(first, first + tokens.shape[1]))
        return embedded

    def _blocks(self) -> Sequence[EncoderLayer]:
        return list(self.layers)  # type: ignore[arg-type]

    def start(self, inputs: int) -> State:
        """Nothing written yet, for so many inputs."""
        device = self.embedding.weight.device
        none = torch.zeros(inputs, 1, 0, dtype=torch.long, device=device)
        return State(none, Past.none(inputs, device), WritingLayers(self._blocks()))

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis. A full context goes on with its later half."""
        if state.past.steps == self.context_length:
            state = self._renewed(state)
        past, places = state.past.with_steps(state.layers.used), state.past.counts
        if places is None:
            x = self._embedded(tokens.flatten()[:, None], state.past.steps).view(*tokens.shape, -1)
        else:
            x = self.dropout(self.embedding(tokens) + self.positions.at(places)[:, None])
        return self._advanced(x, tokens[..., None], past, state)

    def prefill(self, tokens: Int[Tensor, "B T"], state: State) -> Step:
        """A prompt at once; of one that is longer than the context, the last tokens."""
        kept = tokens[:, -self.context_length :]
        state = State(tokens[:, None, : tokens.shape[1] - kept.shape[1]], state.past, state.layers)
        past = state.past.with_steps(state.layers.used, kept.shape[1])
        return self._advanced(self._embedded(kept, 0), kept[:, None], past, state)

    @property
    def joins(self) -> bool:
        """Masks look at a token's place in its text, and for joined texts these differ."""
        return self.config.mask == "none"

    def join(self, states: Sequence[State]) -> State:
        """Prompts of different lengths, read one after another, as one state. No text of it reaches beyond the context."""
        longest = max(state.tokens.shape[-1] for state in states)
        tokens = torch.cat([F.pad(state.tokens, (longest - state.tokens.shape[-1], 0)) for state in states])
        return State(tokens, Past.joined([state.past for state in states]), states[0].layers)

    def _renewed(self, state: State) -> State:
        """The same hypotheses with the later half of their tokens, read anew: each counts as an input of its own."""
        B, W, _ = state.tokens.shape
        kept = state.tokens[..., -(self.context_length // 2 or 1) :].flatten(0, 1)
        fresh = State(kept[:, None, :0], Past.none(B * W, kept.device), state.layers.fresh())
        read: State = self.prefill(kept, fresh).state
        return State(state.tokens, Past(read.past.places.view(B, W, -1)), read.layers)

    def _advanced(self, x: Float[Tensor, "B _ D"], tokens: Int[Tensor, "B W _"], past: Past, state: State) -> Step:
        """The last position through all layers."""
        x, seen, _ = state.layers.step(x, past)
        W = tokens.shape[1]
        logits = state.layers.logits(self.norm(x[:, -W:]), self.embedding)
        following = State(torch.cat((state.tokens, tokens), -1), past, state.layers)
        return Step(logits, following, lambda: self._looks(seen, W, following.tokens.shape[-1]), normalized=False)

    def _looks(self, seen: Sequence[Weights], W: int, total: int) -> list[StepLook]:
        """Where the newest token looked in each layer; tokens that left the context have no weight."""
        weights = [weights()[:, -W:] for weights in seen]
        padded = [F.pad(one, (total - one.shape[-1], 0)) for one in weights]
        return [StepLook(f"self-attention, layer {number}", "written", one) for number, one in enumerate(padded, 1)]
