"""Attention toward an aspect: an LSTM that is told, at every word, what the label is about (Wang et al. 2016).

Reads: the words of a text, each with the vector of the aspect beside it, by an LSTM.
Attends: the aspect to every state of the LSTM.
Writes: a label, from the sum of the states under those weights and the last of them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import Biased, Mask, Perceptron, Positions, Score, attend, lengths, make_normalizer
from saccade.attention.live import live
from saccade.config import Count, Share, merged
from saccade.data.tensors import FAR, AspectInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.pooling import mean
from saccade.layers.recurrent import RecurrentReader
from saccade.layers.word_embedding import WordVectors
from saccade.systems.system import WORDS, Labeler, WordsConfig

READS, WRITES = "aspect", "label"
DEFAULTS = merged(WORDS, {"model": {"near": 10}, "train": {"batch_tokens": 1024}})


@dataclass(frozen=True, kw_only=True)
class Config(WordsConfig):
    """Sizes."""

    near: Count = 0
    "Words to each side of the aspect whose distance counts, by a learned number in the score; 0: none, as in the paper."
    dropout: Share = 0.5
    "Dropout of word vectors and of the pooled text."


class Nearness(nn.Module):
    """A learned number for each distance from the aspect, the same for all words that are farther than `reach`.

    Shapes: distance (B, K) -> (B, 1, K)
    """

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.zeros(2 * reach + 1))

    def forward(self, distance: Int[Tensor, "B K"]) -> Float[Tensor, "B 1 K"]:
        numbers = self.table[distance.clamp(-self.reach, self.reach) + self.reach]
        return numbers.masked_fill(distance == FAR, 0.0)[:, None]


class KeyBias(nn.Module):
    """What is added to the scores of each key of each sample, (B, 1, K), as `Biased` asks for it."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self.bias = bias

    def forward(self, at: Positions) -> Tensor:
        return at.select(self.bias[..., at.key])


class AspectPool(nn.Module):
    """Σ αᵢ hᵢ with α the normalized v'tanh(W a + U hᵢ), for the aspect a, plus what its distance counts, if it does.

    Equation 7 of the paper puts W a below U hᵢ and not upon it: the softmax would take out again what all words share.

    Shapes: states (B, K, D), aspect (B, E), distance (B, K) -> (B, D)
    """

    def __init__(self, aspect: int, width: int, near: int, normalize: str) -> None:
        super().__init__()
        self.score = Perceptron(aspect, width, width)
        self.nearness = Nearness(near) if near else None
        self.normalize = make_normalizer(normalize)

    def forward(
        self, states: Float[Tensor, "B K D"], aspect: Float[Tensor, "B E"], mask: Mask, distance: Tensor | None = None
    ) -> Float[Tensor, "B D"]:
        score: Score = self.score
        if self.nearness is not None and distance is not None:
            score = Biased(score, KeyBias(self.nearness(distance)))
        attended = attend(aspect[:, None], states, states, score=score, mask=mask, normalize=self.normalize)
        return attended.context[:, 0]


class Model(Labeler):
    """The words beside the aspect, read, pooled by it, and a linear layer."""

    def __init__(self, config: Config, source: Vocabulary, labels: int, ngrams: int = 0) -> None:
        super().__init__()
        self.config = config
        dropout = {"word_dropout": config.word_dropout, "letter_dropout": config.letter_dropout}
        self.embedding = WordVectors(source.size, config.embedding_size, runs=ngrams, **dropout)
        self.reader = RecurrentReader(2 * config.embedding_size, config.hidden_size, cell="lstm", directions=1)
        self.pool = AspectPool(config.embedding_size, config.hidden_size, config.near, config.normalize)
        self.pooled = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.last = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, labels)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: AspectInput) -> Float[Tensor, "B labels"]:
        aspect = mean(self.embedding(input.aspect, input.aspect_spelling), lengths(input.aspect_lengths))
        words = self.dropout(self.embedding(input.tokens, input.spelling))
        beside = torch.cat((words, aspect[:, None].expand(-1, words.shape[1], -1)), -1)
        there = live(input.lengths, words.shape[1])
        states, (last,) = self.reader(beside.transpose(0, 1).contiguous(), there.T.contiguous())
        pooled = self.pool(states.transpose(0, 1), aspect, lengths(input.lengths), input.distance)
        logits: Tensor = self.output(self.dropout(torch.tanh(self.pooled(pooled) + self.last(last))))
        return logits
