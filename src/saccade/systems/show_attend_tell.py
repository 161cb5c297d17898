"""Show, attend and tell: neural image caption generation with visual attention (Xu et al. 2015), soft and hard.

Reads: an image, by a small residual network, as a grid of feature vectors.
Attends: the writer's last state, at every step, to every cell of the grid, or to one that it draws.
Writes: a caption, one token after the other, with an LSTM that is fed what it attended to.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Score, attend, make_normalizer, make_score
from saccade.attention.live import live
from saccade.config import Amount, Count, Positive, Rate, Share
from saccade.data.tensors import Batch, PictureInput, TextTarget
from saccade.data.tokenizers import Vocabulary
from saccade.layers.attentive_decoder import Annotations, DecoderState, LastStateDecoder, query_map_for
from saccade.layers.backbones import Backbone, grid_reader
from saccade.layers.cross_entropy import IGNORED, linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.hard_attention import HardDecoded, HardDecoder, Likeliest, follow, policy_loss
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import Output, System, cosine

READS, WRITES = "picture", "caption"
DEFAULTS = {
    "tokens": {"kind": "bpe", "size": 1000},
    "model": {"coverage": 0.1, "dropout": 0.3},
    "train": cosine(1000, 2e-3, every=200, patience=4) | {"batch_tokens": 640, "warmup": 100, "optimizer": "adamw"},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and parts of the model; the network that reads images is trained along."""

    channels: Positive = 32
    "Channels of the first stage of the image network; every further stage has twice as many."
    num_stages: Positive = 3
    "Stages of the image network, a residual block each; an image is halved in each stage but the last."
    embedding_size: Positive = 128
    "Size of a token's vector."
    hidden_size: Positive = 256
    "Units of the LSTM."
    attention: Literal["soft", "hard"] = "soft"
    "soft: a step sees the weighted mean of all cells; hard: one cell, drawn in training, which is learned by REINFORCE."
    score: str = "additive"
    "How a state and a cell of the grid are compared: any name of the catalog of scores."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    expected_share: Share = 0.5
    "Of hard attention the chance that a training example sees the weighted mean instead, which lowers the variance."
    expected_steps: Count = 600
    "Of hard attention the updates before which all examples do: places are drawn once the weights say something."
    reinforce_weight: Rate = 1.0
    "Of hard attention the weight of REINFORCE beside the captions' log-probability."
    entropy_weight: Amount = 0.002
    "Of hard attention the reward for weights with a higher entropy."
    coverage: Amount = 1.0
    "Weight λ of the penalty for cells whose weights over all steps do not sum to one (doubly stochastic attention)."
    dropout: Share = 0.5
    "Dropout of embeddings, feature vectors and of what the output layer reads."
    max_shift: Count = 2
    "Training images are shifted by at most this number of pixels in each direction."


@dataclass(frozen=True)
class Memory:
    """The grid of features, and the LSTM's first state."""

    annotations: Annotations
    start: Float[Tensor, "B S"]


class Model(System):
    """Shapes: image (B, C, H, W), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    baseline: Tensor
    updates: Tensor

    def __init__(
        self,
        config: Config,
        channels: int,
        height: int,
        width: int,
        target: Vocabulary,
        backbone: Backbone | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        own = (config.channels, config.num_stages, config.max_shift)
        self.grid_reader = grid_reader(backbone, channels, height, width, *own)
        features, hidden, embedding = self.grid_reader.features, config.hidden_size, config.embedding_size
        self.start_map = nn.Linear(features, 2 * hidden)
        self.embedding = nn.Embedding(target.size, embedding)
        score = make_score(config.score, query_width=hidden, key_width=features, keys=height * width)
        self.decoder = _decoder(config, score, features)
        hard = config.attention == "hard"
        self.register_buffer("baseline", torch.full((target.size,), -math.log(target.size)), persistent=hard)
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64), persistent=hard)
        self.state_map = nn.Linear(hidden, embedding)
        self.context_map = nn.Linear(features, embedding, bias=False)
        self.output = nn.Linear(embedding, target.size)
        self.dropout = Dropout(config.dropout)
        self.grid = self.grid_reader.grid

    def read(self, input: PictureInput) -> Memory:
        """The feature vector of each cell, row by row, and the first state from their mean (section 3.1.2)."""
        features = self.dropout(self.grid_reader(input.pixels))
        start = torch.tanh(self.start_map(features.mean(1)))
        return Memory(Annotations(self.decoder.score.prepare(features), features, None), start)

    def forward(self, batch: Batch) -> Output:
        """−log p of the captions' tokens, and λ Σ_i (1 − Σ_t α_ti)² (equation 14)."""
        memory, target = self.read(batch.input), batch.target
        words = self.dropout(self.embedding(target.before().t()))
        open_ = live(target.lengths, len(words)).t()
        if self.training and isinstance(self.decoder, HardDecoder):
            return self._drawn(self.decoder, memory, target, words, open_)
        decoded = self.decoder(words, memory.annotations, memory.start)
        read = self._read_out(words, decoded.outputs, decoded.contexts)
        rows, tokens = live_rows(read, target.tokens.t(), open_)
        smoothing = self.smoothing(target)
        cross_entropy = linear_cross_entropy(rows, self.output.weight, self.output.bias, tokens, smoothing)
        if not self.training:  # what is scored is the text
            return Output(cross_entropy, target.lengths.sum())
        penalty = coverage(self._weights(memory, decoded.outputs), open_)
        metrics = {"cross_entropy": cross_entropy.detach(), "coverage": penalty.detach()}
        return Output(cross_entropy + self.config.coverage * penalty, target.lengths.sum(), metrics)

    def _drawn(
        self, decoder: HardDecoder, memory: Memory, target: TextTarget, words: Tensor, open_: Bool[Tensor, "T B"]
    ) -> Output:
        """The same of places that are drawn, with REINFORCE and the entropy of their weights (equations 11 and 12)."""
        decoded = self._sampled(decoder, words, memory)
        logits = self.output(self._read_out(words, decoded.outputs, decoded.contexts))
        tokens = target.tokens.t().where(open_, IGNORED)
        losses = F.cross_entropy(
            logits.flatten(0, 1), tokens.flatten(), reduction="none", label_smoothing=self.smoothing(target)
        ).view_as(tokens)
        weights = self._weights(memory, decoded.outputs)
        usual = self.baseline[target.tokens.t()]
        policy = policy_loss(weights, decoded.places, -losses, open_ & ~decoded.expected, usual)
        entropy = (torch.special.entr(weights).sum(-1) * open_).sum()
        penalty, count = coverage(weights, open_), target.lengths.sum()
        with torch.no_grad():
            follow(self.baseline, target.tokens.t(), -losses, open_)
        config, cross_entropy = self.config, losses.sum()
        loss = cross_entropy + config.reinforce_weight * policy - config.entropy_weight * entropy + config.coverage * penalty
        metrics = {"cross_entropy": cross_entropy, "coverage": penalty, "entropy": entropy}
        return Output(loss, count, {name: value.detach() for name, value in metrics.items()})

    def _sampled(self, decoder: HardDecoder, words: Float[Tensor, "T B E"], memory: Memory) -> HardDecoded:
        """All steps, of numbers that are drawn on the CPU, so that every device draws alike."""
        self.updates.add_(1)
        noise = torch.rand(words.shape[:2]).to(words.device)
        expected = torch.rand(words.shape[1]).to(words.device) < self.config.expected_share
        early = self.updates <= self.config.expected_steps
        return decoder.sampled(words, memory.annotations, memory.start, noise, expected | early)

    def _weights(self, memory: Memory, outputs: Float[Tensor, "T B D"]) -> Float[Tensor, "T B K"]:
        """Where each step attended: the queries are the states before the steps."""
        first = self.decoder.hidden(memory.start)[None]
        annotations, decoder = memory.annotations, self.decoder
        queries = decoder.query_map(torch.cat((first, outputs[:-1])).transpose(0, 1))
        attended = attend(queries, annotations.keys, annotations.values, score=decoder.score, normalize=decoder.normalize)
        return attended.weights().transpose(0, 1)

    def _read_out(self, words: Tensor, states: Tensor, contexts: Tensor) -> Tensor:
        """The deep output layer (equation 7)."""
        read: Tensor = self.dropout(torch.tanh(words + self.state_map(states) + self.context_map(contexts)))
        return read

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet."""
        return self.decoder.start(memory.annotations, memory.start)

    def step(self, tokens: Int[Tensor, "B W"], state: DecoderState) -> Step:
        """One more token for every hypothesis."""
        words = self.embedding(tokens)
        decoded = self.decoder.step(words, state)
        log_probs = self.output(self._read_out(words, decoded.outputs, decoded.contexts)).log_softmax(-1)
        return Step(log_probs, decoded.state, lambda: [StepLook("attention", "input", decoded.weights())])


def coverage(weights: Float[Tensor, "T B K"], open_: Bool[Tensor, "T B"]) -> Float[Tensor, ""]:
    """Σ_i (1 − Σ_t α_ti)² of all examples."""
    return (1 - (weights * open_[..., None]).sum(0)).square().sum()


def _decoder(config: Config, score: Score, features: int) -> LastStateDecoder:
    """The gated LSTM that sees all cells, or one."""
    kind = HardDecoder if config.attention == "hard" else LastStateDecoder
    return kind(
        config.embedding_size,
        config.hidden_size,
        features,
        score=score,
        normalize=Likeliest() if config.attention == "hard" else make_normalizer(config.normalize),
        query_map=query_map_for(score, config.hidden_size, features),
        cell="lstm",
        gated=True,
    )
