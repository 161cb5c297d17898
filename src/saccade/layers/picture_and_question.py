"""A picture as cells that know where they stand (Liu et al. 2018), and a question as the vectors of its words."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention.live import live
from saccade.data.tensors import PictureQuestionInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.backbones import Backbone, BackboneGrid, FeatureGrid, grid_reader
from saccade.layers.picture_grid import PictureGrid
from saccade.layers.recurrent import RecurrentReader
from saccade.layers.word_embedding import WordVectors


class PlacedGrid(nn.Module):
    """The grid of a picture; with `positions`, two more features: row and column, from -1 to 1.

    Shapes: pixels (B, C, H, W) -> (B, rows · columns, features), row by row
    """

    places: Tensor

    def __init__(self, picture: PictureGrid | FeatureGrid | BackboneGrid, *, positions: bool) -> None:
        super().__init__()
        self.picture, self.grid = picture, picture.grid
        self.features = picture.features + 2 * positions
        rows, columns = (torch.linspace(-1, 1, size) for size in self.grid)
        places = torch.cartesian_prod(rows, columns) if positions else torch.zeros(len(rows) * len(columns), 0)
        self.register_buffer("places", places, persistent=False)

    def forward(self, pixels: Float[Tensor, "B C H W"]) -> Float[Tensor, "B K D"]:
        cells = self.picture(pixels)
        return torch.cat((cells, self.places.expand(cells.shape[0], -1, -1)), -1)


class PictureAndQuestion(nn.Module):
    """Both, with dropout; `config` is that of a system that answers questions.

    Shapes: picture (B, C, H, W), question (B, T) -> cells (B, K, F), words (B, T, E)
    """

    def __init__(
        self,
        config: Any,
        channels: int,
        height: int,
        width: int,
        source: Vocabulary,
        embedding: int,
        ngrams: int,
        backbone: Backbone | None,
    ) -> None:
        super().__init__()
        grid = grid_reader(backbone, channels, height, width, config.channels, config.num_stages)
        self.picture = PlacedGrid(grid, positions=config.positions)
        self.grid, self.features = self.picture.grid, self.picture.features
        words = {"word_dropout": config.word_dropout, "letter_dropout": config.letter_dropout, "std": config.embedding_std}
        self.embedding = WordVectors(source.size, embedding, runs=ngrams, **words)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input: PictureQuestionInput) -> tuple[Float[Tensor, "B K F"], Float[Tensor, "B T E"]]:
        words = self.embedding(input.question.tokens, input.question.spelling)
        return self.dropout(self.picture(input.picture.pixels)), self.dropout(words)


def fused(question: Float[Tensor, "B D"], seen: Float[Tensor, "B D"], fusion: str) -> Float[Tensor, "B D"]:
    """What was seen, or its product with the question, added to the question (Kim et al. 2016, a multimodal residual)."""
    return question + (question * seen if fusion == "product" else seen)


class LastState(nn.Module):
    """What an LSTM keeps of a question after its last word.

    Shapes: words (B, T, E), lengths (B) -> (B, D)
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.reader = RecurrentReader(width, hidden, cell="lstm", directions=1)

    def forward(self, words: Float[Tensor, "B T E"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B D"]:
        there = live(lengths, words.shape[1])
        _, ends = self.reader(words.transpose(0, 1).contiguous(), there.T.contiguous())
        last: Tensor = ends[0]
        return last
