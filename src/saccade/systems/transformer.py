"""Attention is all you need (Vaswani et al. 2017).

Reads: a sequence of tokens, each with its position, through layers in which every token looks at every other.
Attends: in each layer and head, what was read at itself, what was written at what came before it and at what was read.
Writes: a sequence of tokens, one after the other.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import Mask, causal, lengths, looking, make_score
from saccade.attention.live import live
from saccade.attention.masks import named
from saccade.config import Positive, Share, merged
from saccade.data.tensors import Batch, TextInput
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.layers.cache import KeyValues, Past
from saccade.layers.convolution import Convolution
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.feed_forward import FeedForward
from saccade.layers.linear import Linear
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.position_embeddings import make_positions
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, Mixer, SelfAttention
from saccade.layers.writing_layers import Weights, WritingLayers
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import PAIRS, BatchLook, Output, System

READS, WRITES = "text", "text"
DEFAULTS = merged(PAIRS, {"model": {"dropout": 0.1}, "train": {"warmup": 200, "beta2": 0.98}})


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and parts of the model; the defaults are for some thousand pairs, the paper's are presets (base, big)."""

    hidden_size: Positive = 128
    "Size of a token's vector in all layers."
    num_heads: Positive = 4
    "Number of attention heads; must divide hidden_size."
    intermediate_size: Positive = 512
    "Size of the feed-forward network's inner layer."
    encoder_layers: Positive = 2
    "Number of encoder layers."
    decoder_layers: Positive = 2
    "Number of decoder layers."
    norm: Literal["post", "pre"] = "post"
    "Layer norm behind each residual sum, as drawn in the paper, or before each part."
    final_norm: Literal["auto", "both", "none"] = "auto"
    "A layer norm at the end of encoder and decoder; auto: where norm=pre, as published models have it."
    positions: Literal["sinusoidal_halves", "sinusoidal", "learned"] = "sinusoidal_halves"
    "How a token knows its place; halves: all sines before all cosines, as in the authors' code, else in turn."
    max_positions: Positive = 512
    "Maximum length for learned positions; sinusoids have no limit."
    embeddings: Literal["one", "output", "separate"] = "one"
    "one: source, target and output share their vectors (needs writer.share_tokenizer); output: target and output do."
    embedding_scale: Literal["root", "one"] = "root"
    "What a token's vector is multiplied by before its position is added: √width, as in the paper, or one."
    output_bias: Literal["none", "learned"] = "none"
    "learned: each token has a number of its own that is added to its logit."
    activation: Literal["relu", "gelu", "swish"] = "relu"
    "The function inside the network of each position."
    score: str = "scaled_dot"
    "How queries and keys are compared: any name of the catalog of scores."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    mask: str = "none"
    "What self-attention may not see beside the future: none, window(16), strided(8), fixed(8, 2)."
    mixer: Literal["attention", "light", "dynamic"] = "attention"
    "How tokens of one side see each other: self-attention, or a convolution in its place (Wu et al. 2019)."
    kernel_sizes: str = "3,7,15,31"
    "Sizes of the convolutions, layer by layer; the last one holds for all further layers."
    dropout: Share = 0.1
    "Dropout of embeddings and of what each sublayer adds."
    attention_dropout: Share = 0.0
    "Dropout of attention weights."
    activation_dropout: Share = 0.0
    "Dropout inside the feed-forward network."

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise UsageError(f"num_heads: expected a divisor of hidden_size ({self.hidden_size}), got {self.num_heads}")
        if not re.fullmatch(r"\d*[13579](, ?\d*[13579])*", self.kernel_sizes):
            raise UsageError(f"kernel_sizes: expected odd sizes such as 3,7,15, got {self.kernel_sizes!r}")

    @property
    def ends_with_norm(self) -> bool:
        """Whether encoder and decoder end with a layer norm."""
        return self.final_norm == "both" or (self.final_norm == "auto" and self.norm == "pre")

    def kernel(self, layer: int) -> int:
        """The size of the convolution in this layer, counted from 0."""
        sizes = [int(size) for size in self.kernel_sizes.split(",")]
        return sizes[min(layer, len(sizes) - 1)]


def _paper(**model: Any) -> dict[str, Any]:
    """A model of the paper, its changes to the base model given, and how it was trained (sections 5.3 and 5.4)."""
    sizes = {"hidden_size": 512, "num_heads": 8, "intermediate_size": 2048, "encoder_layers": 6, "decoder_layers": 6}
    parts = {"norm": "post", "final_norm": "both", "positions": "sinusoidal", "dropout": 0.1}
    train = {"steps": 100_000, "batch_tokens": 25_000, "learning_rate": 7e-4, "schedule": "inverse_sqrt", "warmup": 4000}
    train |= {"beta2": 0.98, "clip": 0.0, "valid_every": 5000, "save_every": 5000, "patience": 0, "average": 5}
    return {"tokens": {"size": 37_000}, "model": {**sizes, **parts, **model}, "train": train}


PRESETS = {
    "base": _paper(),
    "big": _paper(hidden_size=1024, num_heads=16, intermediate_size=4096, dropout=0.3),
    # Wu et al. 2021, for Multi30k
    "tiny": {
        "model": {"hidden_size": 128, "num_heads": 4, "intermediate_size": 256, "encoder_layers": 4, "decoder_layers": 4}
        | {"norm": "post", "final_norm": "both", "positions": "sinusoidal", "dropout": 0.3}
    },
}


@dataclass(frozen=True)
class Memory:
    """What was read, as keys and values of every layer that writes."""

    layers: tuple[KeyValues, ...]

    def select(self, inputs: Tensor) -> "Memory":
        """That of some inputs; only the lists of places are chosen, nothing is copied."""
        return Memory(tuple(kept.select(inputs) for kept in self.layers))


@dataclass(frozen=True)
class State:
    """The writer between two steps: what it looks at, and what its hypotheses have behind them."""

    memory: Memory
    past: Past
    layers: WritingLayers

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "State":
        """These inputs, and of each these hypotheses."""
        everything = torch.equal(inputs, torch.arange(len(self.past.places), device=inputs.device))
        memory = self.memory if everything else self.memory.select(inputs)
        return replace(self, memory=memory, past=self.past.select(inputs, hypotheses))


class Model(System):
    """Shapes: source (B, K), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    no_bias: Tensor

    def __init__(self, config: Config, source: Vocabulary, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        if config.embeddings == "one" and source.size != target.size:
            raise UsageError(
                f"model.embeddings=one needs one tokenizer for both sides, got {source.size} and {target.size} tokens; "
                "set writer.share_tokenizer=true, or model.embeddings=output"
            )
        width = config.hidden_size
        self.target_embedding = _embedding(target, width)
        self.source_embedding = self.target_embedding if config.embeddings == "one" else _embedding(source, width)
        self.output = Linear(width, target.size, bias=config.output_bias == "learned")
        if config.output_bias == "learned":
            nn.init.zeros_(self.output.bias)
        if config.embeddings != "separate":
            self.output.weight = self.target_embedding.weight
        self.register_buffer("no_bias", torch.zeros(target.size), persistent=False)
        self.positions = make_positions(config.positions, width, config.max_positions)
        self.mask = named(config.mask)
        self.encoder = nn.ModuleList(self._encoder_layer(number) for number in range(config.encoder_layers))
        self.decoder = nn.ModuleList(self._decoder_layer(number) for number in range(config.decoder_layers))
        final = (lambda: nn.LayerNorm(width)) if config.ends_with_norm else nn.Identity
        self.encoder_norm, self.decoder_norm = final(), final()
        self.dropout = Dropout(config.dropout)

    def _mixer(self, number: int, *, causal: bool) -> Mixer:
        """What layer `number` mixes positions with."""
        config = self.config
        if config.mixer == "attention":
            return SelfAttention(self._attention(), self._decoder_mask if causal else self._encoder_mask)
        dropout = config.attention_dropout
        size = config.kernel(number)
        return Convolution(config.hidden_size, config.num_heads, size, kind=config.mixer, causal=causal, dropout=dropout)

    def _encoder_layer(self, number: int) -> EncoderLayer:
        config = self.config
        mixer = self._mixer(number, causal=False)
        return EncoderLayer(mixer, self._network(), config.hidden_size, config.dropout, config.norm)

    def _decoder_layer(self, number: int) -> DecoderLayer:
        config = self.config
        mixer = self._mixer(number, causal=True)
        return DecoderLayer(mixer, self._attention(), self._network(), config.hidden_size, config.dropout, config.norm)

    def _attention(self) -> MultiHeadAttention:
        config, head = self.config, self.config.hidden_size // self.config.num_heads
        score = make_score(config.score, query_width=head, key_width=head, keys=config.max_positions)
        return MultiHeadAttention(
            config.hidden_size, config.num_heads, score=score, normalize=config.normalize, dropout=config.attention_dropout
        )

    def _network(self) -> FeedForward:
        config = self.config
        return FeedForward(config.hidden_size, config.intermediate_size, config.activation, config.activation_dropout)

    def _encoder_mask(self, counts: Tensor | None) -> Mask | None:
        padding = None if counts is None else lengths(counts)
        return padding if padding is None or self.mask is None else padding & self.mask

    def _decoder_mask(self, counts: Tensor | None) -> Mask:
        return causal() if self.mask is None else causal() & self.mask

    def _embedded(self, embedding: nn.Embedding, tokens: Int[Tensor, "B T"], first: int = 0) -> Float[Tensor, "B T D"]:
        """Vectors times √D, so that positions do not drown them (section 3.4), plus positions."""
        words = embedding(tokens)
        if self.config.embedding_scale == "root":
            words = words * math.sqrt(self.config.hidden_size)
        embedded: Tensor = self.dropout(words + self.positions(first, first + tokens.shape[1]))
        return embedded

    def encode(self, source: Int[Tensor, "B K"], source_lengths: Int[Tensor, " B"]) -> Float[Tensor, "B K D"]:
        """What the reader makes of every token."""
        x = self._embedded(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, source_lengths)
        encoded: Tensor = self.encoder_norm(x)
        return encoded

    def read(self, input: TextInput) -> Memory:
        """Keys and values of every writing layer."""
        encoded = self.encode(input.tokens, input.lengths)
        return Memory(tuple(layer.keep(encoded, input.lengths) for layer in self._writers()))

    def _writers(self) -> Sequence[DecoderLayer]:
        return list(self.decoder)  # type: ignore[arg-type]

    def decode(
        self, tokens: Int[Tensor, "B T"], encoded: Float[Tensor, "B K D"], source_lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, "B T D"]:
        """What the writer makes of every token, before the last norm."""
        x = self._embedded(self.target_embedding, tokens)
        seen = lengths(source_lengths)
        for layer in self.decoder:
            x = layer(x, encoded, seen)
        return x

    def forward(self, batch: Batch) -> Output:
        """Sum over the target's tokens of −log p(token | those before it, source)."""
        input, target = batch.input, batch.target
        x = self.decode(target.before(), self.encode(input.tokens, input.lengths), input.lengths)
        x, tokens = live_rows(x, target.tokens, live(target.lengths, x.shape[1]))
        bias = self.no_bias if self.config.output_bias == "none" else self.output.bias
        smoothing = self.smoothing(target)
        loss = linear_cross_entropy(self.decoder_norm(x), self.output.weight, bias, tokens, smoothing)
        return Output(loss, target.lengths.sum())

    def start(self, memory: Memory) -> State:
        """Nothing written yet."""
        places = memory.layers[0].places
        past = Past.none(len(places), places.device)
        return State(memory, past, WritingLayers(self._writers()))

    def step(self, tokens: Int[Tensor, "B W"], state: State) -> Step:
        """One more token for every hypothesis."""
        B, W = tokens.shape
        past = state.past.with_steps(state.layers.used)
        x = self._embedded(self.target_embedding, tokens.view(B * W, 1), state.past.steps).view(B, W, -1)
        x, written, read = state.layers.step(x, past, state.memory.layers)
        logits = state.layers.logits(self.decoder_norm(x), self.output)
        following = State(state.memory, past, state.layers)
        return Step(logits, following, partial(_looks, written, read), normalized=False)

    def reading(self, input: TextInput) -> Sequence[BatchLook]:
        """Where each token of the input looked while it was read, in each layer."""
        with looking(self) as looks:
            self.encode(input.tokens, input.lengths)
        return [
            BatchLook(f"encoder self-attention, layer {number}", "input", "input", look[0].weights())
            for number, look in enumerate(looks.values(), 1)
        ]


def _looks(written: Sequence[Weights], read: Sequence[Weights]) -> list[StepLook]:
    looks = []
    for number, (own, other) in enumerate(zip(written, read, strict=True), 1):
        looks.append(StepLook(f"cross-attention, layer {number}", "input", other()))
        looks.append(StepLook(f"decoder self-attention, layer {number}", "written", own()))
    return looks


def _embedding(known: Vocabulary, width: int) -> nn.Embedding:
    embedding = nn.Embedding(known.size, width, known.pad)
    nn.init.normal_(embedding.weight, std=width**-0.5)
    with torch.no_grad():
        embedding.weight[known.pad].zero_()
    return embedding
