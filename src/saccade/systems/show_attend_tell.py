"""Show, attend and tell: neural image caption generation with visual attention (Xu et al. 2015), soft attention.

Reads: an image, by a small residual network, as a grid of feature vectors.
Attends: the writer's last state, at every step, to every cell of the grid.
Writes: a caption, one token after the other, with an LSTM that is fed what it attended to.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import attend, make_normalizer, make_score
from saccade.attention.live import live
from saccade.config import Amount, Count, Positive, Share
from saccade.data.tensors import Batch, PictureInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.attentive_decoder import Annotations, DecoderState, LastStateDecoder, query_map_for
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.picture_grid import PictureGrid
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import Output, System, cosine

READS, WRITES = "picture", "text"
DEFAULTS = {
    "tokens": {"kind": "bpe", "size": 1000},
    "model": {"coverage": 0.1, "dropout": 0.3},
    "writer": {"metric": "bleu"},
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
    score: str = "additive"
    "How a state and a cell of the grid are compared: any name of the catalog of scores."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
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

    def __init__(self, config: Config, channels: int, height: int, width: int, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        self.grid_reader = PictureGrid(channels, height, width, config.channels, config.num_stages, config.max_shift)
        features, hidden, embedding = self.grid_reader.features, config.hidden_size, config.embedding_size
        self.start_map = nn.Linear(features, 2 * hidden)
        self.embedding = nn.Embedding(target.size, embedding)
        score = make_score(config.score, query_width=hidden, key_width=features, keys=height * width)
        normalize = make_normalizer(config.normalize)
        query_map = query_map_for(score, hidden, features)
        self.decoder = LastStateDecoder(
            embedding, hidden, features, score=score, normalize=normalize, query_map=query_map, cell="lstm", gated=True
        )
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
        decoded = self.decoder(words, memory.annotations, memory.start)
        open_ = live(target.lengths, len(words)).t()
        read = self._read_out(words, decoded.outputs, decoded.contexts)
        rows, tokens = live_rows(read, target.tokens.t(), open_)
        smoothing = self.smoothing(target)
        cross_entropy = linear_cross_entropy(rows, self.output.weight, self.output.bias, tokens, smoothing)
        if not self.training:  # what is scored is the text
            return Output(cross_entropy, target.lengths.sum())
        weights = self._weights(memory, decoded.outputs)
        penalty = (1 - (weights * open_.t()[..., None]).sum(1)).square().sum()
        metrics = {"cross_entropy": cross_entropy.detach(), "coverage": penalty.detach()}
        return Output(cross_entropy + self.config.coverage * penalty, target.lengths.sum(), metrics)

    def _weights(self, memory: Memory, outputs: Float[Tensor, "T B D"]) -> Float[Tensor, "B T K"]:
        """Where each step attended: the queries are the states before the steps."""
        first = self.decoder.hidden(memory.start)[None]
        annotations, decoder = memory.annotations, self.decoder
        queries = decoder.query_map(torch.cat((first, outputs[:-1])).transpose(0, 1))
        attended = attend(queries, annotations.keys, annotations.values, score=decoder.score, normalize=decoder.normalize)
        weights: Tensor = attended.weights()
        return weights

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
