"""Show, ask, attend, and answer: a strong baseline for visual question answering (Kazemi and Elqursh 2017).

Reads: a picture, by a small residual network, as a grid of feature vectors; a question, by an LSTM.
Attends: two glimpses, by a network of two layers over the question and each cell, to every cell of the grid.
Writes: an answer, from both glimpses and the question side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import attend, make_normalizer
from saccade.config import Positive
from saccade.data.tensors import PictureQuestionInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.backbones import Backbone
from saccade.layers.picture_and_question import LastState, PictureAndQuestion, fused
from saccade.systems.system import QUESTIONS, BatchLook, Labeler, QuestionConfig, Recorded

READS, WRITES = "picture_question", "answer"
DEFAULTS = QUESTIONS


@dataclass(frozen=True, kw_only=True)
class Config(QuestionConfig):
    """Sizes."""

    num_glimpses: Positive = 2
    "Glimpses, each with weights of its own; the paper's C."
    embedding_size: Positive = 128
    "Embedding size."


class Glimpses(nn.Module):
    """x = Σ pᵢ cᵢ with p the normalized w·relu(W cᵢ + U q + b), for each glimpse's own w (section 3.2, equations 4 and 5).

    Shapes: cells (B, K, F), question (B, D) -> (B, glimpses, F)
    """

    def __init__(self, features: int, width: int, count: int, normalize: str) -> None:
        super().__init__()
        self.cell_map, self.question_map = nn.Linear(features, width, bias=False), nn.Linear(width, width)
        self.vectors = nn.Parameter(torch.empty(count, width).uniform_(-1, 1) * (3 / width) ** 0.5)
        self.normalize = make_normalizer(normalize)

    def forward(self, cells: Float[Tensor, "B K F"], question: Float[Tensor, "B D"]) -> Float[Tensor, "B G F"]:
        both = F.relu(self.cell_map(cells) + self.question_map(question)[:, None])
        vectors = self.vectors.expand(cells.shape[0], -1, -1)
        return attend(vectors, both, cells, score="dot", normalize=self.normalize).context


class Model(Labeler):
    """Cells of length 1, the question, glimpses from one to the other, and a layer over them side by side."""

    def __init__(
        self,
        config: Config,
        channels: int,
        height: int,
        width: int,
        source: Vocabulary,
        labels: int,
        ngrams: int = 0,
        backbone: Backbone | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = PictureAndQuestion(config, channels, height, width, source, config.embedding_size, ngrams, backbone)
        self.grid, features, hidden = self.encoder.grid, self.encoder.features, config.hidden_size
        self.question = LastState(config.embedding_size, hidden)
        self.glimpses = Glimpses(features, hidden, config.num_glimpses, config.normalize)
        beside = hidden if config.fusion == "sum" else 0
        self.hidden = nn.Linear(config.num_glimpses * features + beside, hidden)
        self.output = nn.Linear(hidden, labels)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: PictureQuestionInput) -> Float[Tensor, "B labels"]:
        cells, words = self.encoder(input)
        question = self.question(torch.tanh(words), input.question.lengths)
        seen = self.glimpses(F.normalize(cells, dim=-1), question).flatten(1)
        hidden = F.relu(self.joined(seen, question))
        logits: Tensor = self.output(self.dropout(hidden))
        return logits

    def joined(self, seen: Float[Tensor, "B S"], question: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        """A layer over both side by side, which is a sum; or the question and its product with a layer over the glimpses."""
        if self.config.fusion == "product":
            return fused(self.dropout(question), self.hidden(self.dropout(seen)), "product")
        both: Tensor = self.hidden(self.dropout(torch.cat((seen, question), -1)))
        return both

    def looks(self, input: PictureQuestionInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """One glimpse beside the other."""
        return [BatchLook("glimpses", "glimpse", "input", recorded["glimpses"][-1].weights()[:, None])]
