"""Hierarchical attention over words and sentences (Yang et al. 2016).

Reads: the words of each sentence, then the sentences of the document, each level by a GRU in both directions.
Attends: a learned query to the words of every sentence, and another to the sentences.
Writes: a label, from the sum of the sentences under those weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.attention import Mask, allow, lengths
from saccade.attention.live import live
from saccade.config import Positive, Share
from saccade.data.tensors import DocumentInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.dropout import Dropout
from saccade.layers.pooling import AttentionPool, MeanPool
from saccade.layers.recurrent import RecurrentReader
from saccade.systems.system import WORDS, BatchLook, Labeler, Recorded

READS, WRITES = "document", "label"
DEFAULTS = {"tokens": WORDS["tokens"], "train": WORDS["train"] | {"batch_tokens": 4096, "learning_rate": 2e-3}}
STEPS = (0, 4, 8, 12, 16, 20, 25, 30, 37, 45, 60)  # sentences of lengths between two of these are read together


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and how words and sentences are pooled."""

    embedding_size: Positive = 100
    "Embedding size."
    hidden_size: Positive = 50
    "Hidden size of the GRUs in each direction."
    attention_size: Positive = 100
    "Size of the layers that score words and sentences."
    pool: Literal["attention", "mean"] = "attention"
    "attention: words and sentences count by their weights; mean: all alike, the control."
    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"
    dropout: Share = 0.3
    "Dropout of words, sentences and the pooled document."


def attends(config: Config) -> bool:
    """Whether words and sentences are weighed."""
    return config.pool == "attention"


class Level(nn.Module):
    """Vectors read with their neighbors, and pooled.

    Shapes: x (B, K, width), live (B, K) -> (B, 2 · hidden)
    """

    def __init__(self, width: int, config: Config) -> None:
        super().__init__()
        self.reader = RecurrentReader(width, config.hidden_size)
        size = 2 * config.hidden_size
        self.pool = (
            AttentionPool(size, config.attention_size, config.normalize) if config.pool == "attention" else MeanPool()
        )
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B K _"], live: Bool[Tensor, "B K"], mask: Mask) -> Float[Tensor, "B _"]:
        states = self.reader(self.dropout(x).transpose(0, 1).contiguous(), live.T.contiguous())[0]
        pooled: Tensor = self.pool(states.transpose(0, 1), mask)
        return pooled


class Model(Labeler):
    """Words to sentences, sentences to a document, and a linear layer."""

    def __init__(self, config: Config, source: Vocabulary, labels: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(source.size, config.embedding_size, padding_idx=source.pad)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.words = Level(config.embedding_size, config)
        self.sentences = Level(2 * config.hidden_size, config)
        self.output = nn.Linear(2 * config.hidden_size, labels)
        self.dropout = Dropout(config.dropout)

    def logits(self, input: DocumentInput) -> Float[Tensor, "B labels"]:
        sentences, own = laid_out(self.read(input), input.counts, input.most)
        there = laid_out(input.lengths[:, None] > 0, input.counts, input.most)[0][..., 0] & own  # an empty sentence is none
        documents = self.sentences(sentences, there, allow(there[:, None]))
        logits: Tensor = self.output(self.dropout(documents))
        return logits

    def read(self, input: DocumentInput) -> Float[Tensor, "R D"]:
        """A vector for each sentence. Those of like length are read together, so that little is padding; in a graph of
        torch's all are, because how many lengths there are is data."""
        if torch.compiler.is_compiling():
            return self._read(input.tokens, input.lengths)
        order, vectors = list(of_like_length(input.lengths)), []
        for rows in order:
            sizes = input.lengths[rows]
            vectors.append(self._read(input.tokens[rows, : max(int(sizes.max()), 1)], sizes))
        if not vectors:
            return self.output.weight.new_zeros(0, 2 * self.config.hidden_size)
        return torch.cat(vectors)[torch.cat(order).argsort()]

    def _read(self, tokens: Int[Tensor, "R K"], sizes: Int[Tensor, " R"]) -> Float[Tensor, "R D"]:
        vectors: Tensor = self.words(self.embedding(tokens), live(sizes, tokens.shape[1]), lengths(sizes))
        return vectors

    def looks(self, input: DocumentInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where each sentence looked at its own words, and each document at its sentences."""
        if self.config.pool != "attention":
            return []
        words = self.output.weight.new_zeros(input.tokens.shape)
        for rows, look in zip(of_like_length(input.lengths), recorded["words.pool"] if len(words) else [], strict=True):
            seen = look.weights()[:, 0]
            words[rows, : seen.shape[1]] = seen
        sentences = recorded["sentences.pool"][0].weights()[:, None]
        own = diagonal(words, input.lengths, input.counts)
        return [BatchLook("words", "sentences", "input", own), BatchLook("sentences", "output", "sentences", sentences)]


def diagonal(words: Tensor, sizes: Tensor, counts: Tensor) -> Float[Tensor, "B 1 S K"]:
    """Rows of sentences (R, K) as one matrix for each document: a row for each sentence, zeros beyond its own words."""
    documents = [
        torch.block_diag(*(row[:size][None] for row, size in zip(rows, own.tolist(), strict=True)))
        for rows, own in zip(words.split(counts.tolist()), sizes.split(counts.tolist()), strict=True)
    ]
    matrices = words.new_zeros(len(documents), 1, max(map(len, documents)), max(one.shape[-1] for one in documents))
    for index, one in enumerate(documents):
        matrices[index, 0, : len(one), : one.shape[-1]] = one
    return matrices


def of_like_length(sizes: Tensor) -> Iterator[Tensor]:
    """The rows of each step of lengths."""
    steps = torch.bucketize(sizes, torch.tensor(STEPS).to(sizes.device))
    for step in steps.unique().tolist():
        yield torch.nonzero(steps == step)[:, 0]


def laid_out(rows: Tensor, counts: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Rows (R, D) as documents (B, S, D) with S = `most`, zeros where no sentence is; and where one is (B, S)."""
    there = live(counts, max(most, 1))
    places = rows.new_zeros(*there.shape, rows.shape[1])
    return places.masked_scatter(there[..., None], rows), there
