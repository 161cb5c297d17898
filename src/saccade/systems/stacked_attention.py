"""Stacked attention networks for image question answering (Yang, He, Gao, Deng and Smola 2016).

Reads: a picture, by a small residual network, as a grid of feature vectors; a question, by an LSTM.
Attends: the question to every cell of the grid; then, with what it found, again and again.
Writes: an answer, from the question and all that it found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import attend, make_normalizer
from saccade.config import Positive
from saccade.data.tensors import PictureQuestionInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.backbones import Backbone
from saccade.layers.picture_and_question import LastState, PictureAndQuestion, fused
from saccade.systems.system import QUESTIONS, BatchLook, Labeler, QuestionConfig, Recorded, hops_look

READS, WRITES = "picture_question", "answer"
DEFAULTS = QUESTIONS


@dataclass(frozen=True, kw_only=True)
class Config(QuestionConfig):
    """Sizes."""

    num_hops: Positive = 2
    "Attention layers; the paper's k."
    embedding_size: Positive = 128
    "Embedding size."


class StackedHop(nn.Module):
    """u = Σ pᵢ vᵢ + u' with p the normalized w·tanh(W vᵢ + U u' + b) (equations 15 to 20).

    Shapes: cells (B, K, D), query (B, D) -> (B, D)
    """

    def __init__(self, width: int, normalize: str, fusion: str) -> None:
        super().__init__()
        self.cell_map, self.query_map = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.vector = nn.Parameter(torch.empty(width).uniform_(-1, 1) * (3 / width) ** 0.5)
        self.normalize, self.fusion = make_normalizer(normalize), fusion

    def forward(self, cells: Float[Tensor, "B K D"], query: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
        both = torch.tanh(self.cell_map(cells) + self.query_map(query)[:, None])
        vector = self.vector.expand(cells.shape[0], 1, -1)
        attended = attend(vector, both, cells, score="dot", normalize=self.normalize)
        return fused(query, attended.context[:, 0], self.fusion)


class Model(Labeler):
    """The cells of the picture in the question's width, the question, and hops from one to the other."""

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
        self.grid, hidden = self.encoder.grid, config.hidden_size
        self.cell_map = nn.Linear(self.encoder.features, hidden)
        self.question = LastState(config.embedding_size, hidden)
        self.hops = nn.ModuleList(StackedHop(hidden, config.normalize, config.fusion) for _ in range(config.num_hops))
        self.output = nn.Linear(hidden, labels)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: PictureQuestionInput) -> Float[Tensor, "B labels"]:
        cells, words = self.encoder(input)
        cells = torch.tanh(self.cell_map(cells))
        found = self.question(words, input.question.lengths)
        for hop in self.hops:
            found = hop(cells, found)
        logits: Tensor = self.output(self.dropout(found))
        return logits

    def looks(self, input: PictureQuestionInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """One hop beside the other."""
        return [hops_look([f"hops.{number}" for number in range(len(self.hops))], recorded)]
