"""Set expansion: what else belongs to a set, by the margin of a function on sets (Zaheer et al. 2017).

Reads: some words of a set, in no order.
Attends: the sum of their vectors to every word there is: score(x | X) = f({x} ∪ X) − f(X).
Writes: the words that belong to the set, the likeliest first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import attend
from saccade.config import Positive, Rate, Share
from saccade.data.tensors import BagInput, Batch
from saccade.data.tokenizers import Vocabulary
from saccade.layers.pooling import bag_sums
from saccade.systems.system import BatchLook, Output, Recorded, System, cosine

READS, WRITES = "set", "word"
DEFAULTS = {
    "tokens": {"kind": "word", "size": 20_000},
    "reader": {"unknown": "drop"},
    "model": {"dropout": 0.5},
    "train": cosine(800, 1e-2, every=100, patience=4) | {"batch_tokens": 1536},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and the margin."""

    embedding_size: Positive = 64
    "Embedding size."
    margin: Rate = 1.0
    "By how much a word that belongs must score above one that does not."
    negatives: Positive = 1000
    "Words drawn for each batch that stand for all that do not belong."
    dropout: Share = 0.0
    "Dropout of word vectors."


class Model(System):
    """f(X) = ρ(Σ φ(x)) with ρ(z) = Σ aᵢ zᵢ² + wᵢ zᵢ, so that score(x | X) is a product of two vectors."""

    def __init__(self, config: Config, source: Vocabulary, shape: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.config = config
        # Special tokens stand before the words of a tokenizer that was trained here.
        self.first_word = 1 + max(source.special)
        self.embedding = nn.Embedding(source.size, config.embedding_size)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.square = nn.Parameter(torch.empty(config.embedding_size).uniform_(-1, 1))
        self.linear = nn.Parameter(torch.empty(config.embedding_size).normal_(std=0.1))
        self.dropout = nn.Dropout(config.dropout)

    def value(self, sums: Float[Tensor, "... D"]) -> Float[Tensor, "..."]:
        """ρ."""
        return sums.square() @ self.square + sums @ self.linear

    def sums(self, input: BagInput) -> Float[Tensor, "B D"]:
        """Σ φ(x) of each set."""
        return bag_sums(self.dropout(self.embedding(input.items)), input.sizes)

    def sides(self, sums: Float[Tensor, "B D"], words: Float[Tensor, "W D"]) -> tuple[Tensor, Tensor]:
        """Queries and keys whose product is ρ(s + φ(x)) − ρ(s) = (2 a s)·φ(x) + ρ(φ(x)); (B, D + 1) and (W, D + 1)."""
        queries = torch.cat((2 * self.square * sums, sums.new_ones(len(sums), 1)), 1)
        return queries, torch.cat((words, self.value(words)[:, None]), 1)

    def scores(self, input: BagInput) -> Float[Tensor, "B V"]:
        """score(x | X) of every word."""
        queries, keys = self.sides(self.sums(input), self.embedding.weight)
        return queries @ keys.T

    def forward(self, batch: Batch) -> Output:
        """log(1 + Σ max(0, score(x' | X) + Δ − score(x | X))) over words x' drawn by chance, summed over the sets.

        The logarithm, after Weston et al. (2011), lets many small violations of the margin count as little as they should.
        """
        target, first = batch.target.labels, self.first_word
        drawn = torch.randint(first, self.embedding.num_embeddings, (self.config.negatives,)).to(target.device)
        queries, keys = self.sides(self.sums(batch.input), self.embedding(torch.cat((target, drawn))))
        own = (queries * keys[: len(queries)]).sum(1, keepdim=True)
        short = (self.config.margin + queries @ keys[len(queries) :].T - own).clamp(min=0)
        losses = short.masked_fill(target[:, None] == drawn, 0).sum(1).log1p()
        return Output(losses.masked_fill(target < first, 0).sum(), len(target))

    def looks(self, input: BagInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """How much of each set's attention every word gets."""
        queries, keys = self.sides(self.sums(input), self.embedding.weight)
        weights = attend(queries, keys, keys, score="dot").weights()
        return [BatchLook("belongs", "set", "output", weights[:, None, None])]
