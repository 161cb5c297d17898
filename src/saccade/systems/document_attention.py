"""Attention over the words of a text (Wang et al. 2016; one level of Yang et al. 2016), or over its segments or latent
dependency trees (Kim et al. 2017).

Reads: the words of a text, each by itself, or with its neighbors by a GRU in both directions.
Attends: a query, learned or the mean of the text's own words, to every word.
Writes: a label, from the sum of the words under those weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import lengths
from saccade.attention.live import live
from saccade.config import merged
from saccade.data.tensors import WordsInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.pooling import AttentionPool, mean
from saccade.layers.recurrent import RecurrentReader
from saccade.layers.tape_lstm import PlainLSTM, TapeLSTM, tape_weights
from saccade.layers.tree_attention import TreeAttention
from saccade.layers.word_embedding import WordVectors
from saccade.systems.system import WORDS, BatchLook, Labeler, Recorded, WordsConfig

READS, WRITES = "words", "label"
DEFAULTS = merged(WORDS, {"model": {"encoder": "gru"}})


@dataclass(frozen=True, kw_only=True)
class Config(WordsConfig):
    """Sizes, and who asks."""

    encoder: Literal["none", "gru", "lstm", "lstmn"] = "none"
    "none: words alone, in no order; gru: with their neighbors; lstm: with those before them; lstmn: attending to those."
    pool: Literal["attention", "mean"] = "attention"
    "attention: words count by their weights; mean: all alike, the control."
    structure: Literal["none", "tree"] = "none"
    "tree: each word is joined with its likely heads in a dependency tree that nobody has annotated (Kim et al. 2017)."
    query: Literal["learned", "context"] = "learned"
    "Who asks. learned: one vector for all texts; context: the mean of the text's own words."


def attends(config: Config) -> bool:
    """Whether words are weighed."""
    return config.pool == "attention" or config.encoder == "lstmn" or config.structure == "tree"


class Model(Labeler):
    """The words, pooled, and a linear layer."""

    def __init__(self, config: Config, source: Vocabulary, labels: int, ngrams: int = 0) -> None:
        super().__init__()
        self.config = config
        dropout = {"word_dropout": config.word_dropout, "letter_dropout": config.letter_dropout}
        self.embedding = WordVectors(source.size, config.embedding_size, runs=ngrams, **dropout)
        self.reader = _reader(config)
        width = {"none": config.embedding_size, "gru": 2 * config.hidden_size}.get(config.encoder, config.hidden_size)
        self.tree = TreeAttention(width, config.hidden_size) if config.structure == "tree" else None
        width = width if self.tree is None else 2 * width
        self.pool = AttentionPool(width, config.hidden_size, config.normalize) if config.pool == "attention" else None
        self.output = nn.Linear(width, labels)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: WordsInput) -> Float[Tensor, "B labels"]:
        words, mask = self.words(input), lengths(input.lengths)
        if self.pool is None:
            pooled = mean(words, mask)
        else:
            pooled = self.pool(words, mask, mean(words, mask) if self.config.query == "context" else None)
        logits: Tensor = self.output(self.dropout(pooled))
        return logits

    def words(self, input: WordsInput) -> Float[Tensor, "B K D"]:
        """A vector for each word, with that of its likely heads behind it where there is a tree."""
        words = self.read(input)
        return words if self.tree is None else torch.cat((words, self.tree(words, input.lengths)), -1)

    def read(self, input: WordsInput) -> Float[Tensor, "B K D"]:
        """Each word by itself, or with its neighbors."""
        words: Tensor = self.dropout(self.embedding(input.tokens, input.spelling))
        if self.reader is None:
            return words
        in_time = words.transpose(0, 1).contiguous()
        if isinstance(self.reader, RecurrentReader):
            there = live(input.lengths, words.shape[1])
            states: Tensor = self.reader(in_time, there.T.contiguous())[0]
        else:
            states = self.reader(in_time)  # in which nothing comes from what follows, as padding does
        return states.transpose(0, 1)

    def looks(self, input: WordsInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """The words that were weighed, and the likely heads of each."""
        pooled = {name: seen for name, seen in recorded.items() if name not in ("tree", "reader")}
        found = list(super().looks(input, output, pooled))
        if steps := recorded.get("reader"):
            found.append(BatchLook("intra-attention", "input", "input", tape_weights(steps, input.tokens.shape[1])))
        return found + [BatchLook("heads", "input", "input", seen.weights()[:, None]) for seen in recorded.get("tree", ())]


def _reader(config: Config) -> RecurrentReader | TapeLSTM | PlainLSTM | None:
    """What reads words with others."""
    if config.encoder == "gru":
        return RecurrentReader(config.embedding_size, config.hidden_size)
    kinds = {"lstm": PlainLSTM, "lstmn": TapeLSTM}
    return kinds[config.encoder](config.embedding_size, config.hidden_size) if config.encoder in kinds else None
