"""Bags of words and of n-grams (Salton and McGill 1983; Iyyer et al. 2015; Joulin et al. 2016).

Reads: the words of a text and, if asked for, its short runs of words, without regard to their order.
Attends: to all of them alike.
Writes: a label, from their mean or their sum.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.live import live
from saccade.config import Count, Positive, Share
from saccade.data.tensors import WordsInput
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.systems.system import WORDS, Labeler

READS, WRITES = "words", "label"
DEFAULTS = {key: WORDS[key] for key in ("tokens", "writer", "train")} | {
    "model": {"ngrams": 2, "word_dropout": 0.1, "dropout": 0.5}
}
PRIME = 1_000_003  # spreads pairs of words over the buckets


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as a feature, and how features become a label."""

    features: Literal["vectors", "binary"] = "vectors"
    "vectors: each word has a learned vector; binary: a weight for each label, counted once however often a word comes."
    embedding_size: Positive = 100
    "Embedding size."
    ngrams: Literal[1, 2, 3] = 1
    "Longest run of words that is a feature of its own."
    buckets: Positive = 100_000
    "Runs of two and more words share so many vectors, found by a hash."
    pool: Literal["mean", "sum"] = "mean"
    "How the vectors become one."
    hidden_size: Count = 0
    "Width of a layer between them and the label (Iyyer's deep averaging); 0: none."
    word_dropout: Share = 0.0
    "Word dropout: share of the words left out of a text in training."
    dropout: Share = 0.3
    "Dropout of the pooled text."

    def __post_init__(self) -> None:
        if self.features == "binary" and self.hidden_size:
            raise UsageError(
                f"hidden_size: binary features are the label's weights themselves, expected 0, got {self.hidden_size}"
            )


def attends(config: Config) -> bool:
    """All features count alike."""
    return False


class Model(Labeler):
    """Vectors of words and runs of words, added up, and a linear layer or two."""

    def __init__(self, config: Config, source: Vocabulary, labels: int) -> None:
        super().__init__()
        self.config, self.source_size = config, source.size
        binary = config.features == "binary"
        width = labels if binary else config.embedding_size
        self.embedding = nn.Embedding(source.size + (config.buckets if config.ngrams > 1 else 0), width)
        nn.init.normal_(self.embedding.weight, std=0.0 if binary else 0.1)
        self.dropout = nn.Dropout(config.dropout)
        middle = [nn.Linear(width, config.hidden_size), nn.ReLU(), nn.Dropout(config.dropout)] if config.hidden_size else []
        self.bias = nn.Parameter(torch.zeros(labels)) if binary else None
        self.output = nn.Identity() if binary else nn.Sequential(*middle, nn.Linear(config.hidden_size or width, labels))

    def logits(self, input: WordsInput) -> Float[Tensor, "B labels"]:
        features, share = self.features(input)
        pooled = F.embedding_bag(features, self.embedding.weight, mode="sum", per_sample_weights=share)
        if self.bias is not None:
            return pooled + self.bias
        logits: Tensor = self.output(self.dropout(pooled))
        return logits

    def features(self, input: WordsInput) -> tuple[Int[Tensor, "B F"], Float[Tensor, "B F"]]:
        """The numbers of all features, and how much each counts; 0 for padding and what dropout takes."""
        there = live(input.lengths, input.tokens.shape[1])
        numbers, counted = [input.tokens], [there]
        run = input.tokens
        for length in range(1, self.config.ngrams):
            run = (run[:, :-1] * PRIME + input.tokens[:, length:]) % (2**31 - 1)
            numbers.append(run % self.config.buckets + self.source_size)
            counted.append(there[:, length:])
        features, there = torch.cat(numbers, 1), torch.cat(counted, 1)
        if self.config.features == "binary":
            features, there = once(features, there)
        share = there.to(self.embedding.weight.dtype)
        if self.training and self.config.word_dropout:
            share = share * (torch.rand_like(share) >= self.config.word_dropout)
        if self.config.pool == "mean" and self.config.features == "vectors":
            share = share / share.sum(1, keepdim=True).clamp(min=1)
        return features, share


def once(features: Int[Tensor, "B F"], there: Tensor) -> tuple[Tensor, Tensor]:
    """Each feature of a text counted once: in order, those that equal their neighbor do not count."""
    ordered = features.masked_fill(~there, -1).sort(1).values
    first = torch.ones_like(there)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return ordered.clamp(min=0), first & (ordered >= 0)
