"""Show, attend and read: a simple and strong baseline for irregular text recognition (Li et al. 2019).

Reads: a picture of a word, by a residual network, as a grid of feature vectors; its columns, by an LSTM, as one vector.
Attends: the writer's state, at every letter, to every cell of the grid, each judged together with its eight neighbors.
Writes: the word, one letter after the other, with an LSTM that first reads the vector of the whole.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Attended, Perceptron, attend, make_normalizer
from saccade.attention.live import live
from saccade.config import Count, Positive, Share
from saccade.data.tensors import Batch, PictureInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.attentive_decoder import Annotations, DecoderState
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.dropout import Dropout
from saccade.layers.picture_grid import ResidualBlock, convolution, shifted
from saccade.layers.recurrent import Stack
from saccade.search.protocol import Step, StepLook
from saccade.systems.system import AttentionConfig, Output, System, cosine

READS, WRITES = "word_picture", "text"
DEFAULTS = {
    "tokens": {"kind": "char", "lower": True},
    "writer": {"metric": "cer"},
    "train": cosine(4000, 2e-3, every=500, patience=0)
    | {"batch_tokens": 640, "warmup": 200, "optimizer": "adamw", "weight_decay": 0.01, "decay": "matrices"},
}
SPREAD = 0.3  # of what is learned of rows and columns, at the start


@dataclass(frozen=True, kw_only=True)
class Config(AttentionConfig):
    """Sizes and parts of the model; the paper has 31 layers, hidden_size=512, num_layers=2, attention_size=512."""

    attention: Literal["2d", "1d"] = "2d"
    "2d: all cells of the grid, each with its neighbors; 1d: its columns, the largest of each number down a column."
    channels: Positive = 24
    "Channels of the first stage of the image network; every further stage has twice as many."
    num_stages: Positive = 3
    "Stages of the image network; a picture is halved in each but the last."
    num_blocks: Positive = 1
    "Residual blocks of two convolutions in each stage."
    embedding_size: Positive = 64
    "Embedding size of letters."
    hidden_size: Positive = 128
    "Units of both LSTMs."
    num_layers: Positive = 1
    "Layers of both LSTMs."
    attention_size: Positive = 64
    "Units in which a state and a cell with its neighbors are compared."
    positions: bool = True
    "Whether a cell is also compared by its row and column, which are learned; false: as in the paper."
    dropout: Share = 0.1
    "Dropout of embeddings, feature vectors and of what the output layer reads."
    max_shift: Count = 2
    "Pixels that a picture is shifted by at most, in both directions, in training."


class NeighborScore(Perceptron):
    """v'tanh(W_v v_ij + Σ_{pq next to ij} W_pq v_pq + W_h h): keys are judged with their neighbors, by a 3 × 3 convolution
    over the grid on which they lie row by row (equation 1 of the paper); with `positions`, + r_i + c_j inside."""

    positional = True

    def __init__(self, query_width: int, key_width: int, hidden: int, grid: tuple[int, int], *, positions: bool) -> None:
        super().__init__(query_width, key_width, hidden)
        self.grid = grid
        size = (3 if grid[0] > 1 else 1, 3)
        self.key_map: Any = nn.Conv2d(key_width, hidden, size, padding=(size[0] // 2, 1), bias=False)
        self.rows, self.columns = (
            nn.Parameter(SPREAD * torch.randn(hidden, count)) if positions else None for count in grid
        )

    def keys(self, key: Float[Tensor, "B K D"]) -> Float[Tensor, "B K A"]:
        compared: Tensor = self.key_map(key.transpose(1, 2).unflatten(2, self.grid))
        if self.rows is not None and self.columns is not None:
            compared = compared + (self.rows[:, :, None] + self.columns[:, None])
        return compared.flatten(2).transpose(1, 2).contiguous().to(key.dtype)


@dataclass(frozen=True)
class Memory:
    """What is attended to, and the decoder's states after it has read the vector of the whole picture."""

    annotations: Annotations
    states: Float[Tensor, "B L S"]


class Model(System):
    """Shapes: image (B, C, H, W), target (B, T) -> loss; memory, then tokens (B, W) -> log-probabilities (B, W, V)"""

    def __init__(self, config: Config, channels: int, height: int, width: int, target: Vocabulary) -> None:
        super().__init__()
        self.config = config
        widths = [config.channels * 2**stage for stage in range(config.num_stages)]
        self.stem = convolution(channels, max(1, config.channels // 2))
        self.stages = nn.Sequential(*_blocks(config, widths))
        rows, columns = _halved(height, config.num_stages - 1), _halved(width, config.num_stages - 1)
        self.cells, features, hidden = (rows, columns), widths[-1], config.hidden_size
        self.grid = self.cells if config.attention == "2d" else (1, columns)
        self.encoder = Stack(features, hidden, cell="lstm", layers=config.num_layers)
        self.whole = nn.Linear(hidden, config.embedding_size)
        self.embedding = nn.Embedding(target.size, config.embedding_size)
        self.decoder = Stack(config.embedding_size, hidden, cell="lstm", layers=config.num_layers)
        self.score = NeighborScore(hidden, features, config.attention_size, self.grid, positions=config.positions)
        self.normalize = make_normalizer(config.normalize)
        self.output = nn.Linear(hidden + features, target.size)
        self.dropout = Dropout(config.dropout)

    def read(self, input: PictureInput) -> Memory:
        """The cells that are attended to, and the state in which writing begins (sections 3.2 and 3.3)."""
        return self._memory(self._features(input.pixels))

    def _features(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D rows columns"]:
        """The grid of feature vectors."""
        if self.training and self.config.max_shift:
            pixels = shifted(pixels, self.config.max_shift)
        grid: Tensor = self.stages(F.relu(self.stem(pixels)))
        return grid.float()

    def _memory(self, grid: Float[Tensor, "B D rows columns"]) -> Memory:
        columns = grid.amax(2)
        with exact(grid):
            along = columns.permute(2, 0, 1)
            everywhere = torch.ones(along.shape[:2], dtype=torch.bool, device=grid.device)
            _, ends = self.encoder(along, everywhere, self.encoder.rest(grid.shape[0]))
            whole = self.whole(self.encoder.top(ends))
            states = self.decoder.step(whole[:, None], self.decoder.rest(grid.shape[0])[:, None])[:, 0]
        cells = grid.flatten(2) if self.config.attention == "2d" else columns
        values = self.dropout(cells.transpose(1, 2).contiguous())
        return Memory(Annotations(self.score.prepare(values), values, None), states)

    def forward(self, batch: Batch) -> Output:
        """−log p of the words' letters and of their ends; all letters at once, because no state is fed what was seen."""
        memory, target = self.read(batch.input), batch.target
        with exact(memory.states):
            letters = self.dropout(self.embedding(target.before().t()))
            open_ = live(target.lengths, len(letters)).t()
            tops, _ = self.decoder(letters, open_, memory.states)
            hidden = tops.transpose(0, 1)
            read = self._read_out(hidden, self._attended(hidden, memory.annotations).context)
            rows, tokens = live_rows(read, target.tokens, open_.t())
            loss = linear_cross_entropy(rows, self.output.weight, self.output.bias, tokens, self.smoothing(target))
        return Output(loss, target.lengths.sum())

    def _attended(self, hidden: Float[Tensor, "B Q S"], annotations: Annotations) -> Attended:
        return attend(hidden, annotations.keys, annotations.values, score=self.score, normalize=self.normalize)

    def _read_out(self, hidden: Tensor, context: Tensor) -> Tensor:
        """What the output layer reads (equation 5)."""
        read: Tensor = self.dropout(torch.cat((hidden, context), -1))
        return read

    def start(self, memory: Memory) -> DecoderState:
        """Nothing written yet."""
        return DecoderState(memory.annotations, memory.states[:, None])

    def step(self, tokens: Int[Tensor, "B W"], state: DecoderState) -> Step:
        """One more letter for every hypothesis."""
        states = self.decoder.step(self.embedding(tokens), state.states)
        hidden = self.decoder.top(states)
        attended = self._attended(hidden, state.annotations)
        log_probs = self.output(self._read_out(hidden, attended.context)).log_softmax(-1)
        after = DecoderState(state.annotations, states, steps=state.steps + 1)
        return Step(log_probs, after, lambda: [StepLook("attention", "input", attended.weights()[:, :, None])])


def exact(tensor: Tensor) -> torch.autocast:
    """A block that is computed in full precision where the rest is not: what is recurrent. Convolutions take longest."""
    return torch.autocast(tensor.device.type, enabled=False)


def _blocks(config: Config, widths: list[int]) -> list[ResidualBlock]:
    """The blocks of all stages."""
    before, blocks = max(1, config.channels // 2), []
    for stage, own in enumerate(widths):
        for block in range(config.num_blocks):
            halving = block == 0 and stage < len(widths) - 1
            blocks.append(ResidualBlock(before, own, 2 if halving else 1))
            before = own
    return blocks


def _halved(size: int, times: int) -> int:
    """A height or width after so many convolutions of stride 2."""
    for _ in range(times):
        size = (size + 1) // 2
    return size
