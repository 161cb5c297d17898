"""Key-value memory networks: what a memory is compared by is not what is read of it (Miller et al. 2016).

Reads: a question, and the facts that share words with it: subject and relation are the key of each, its object the value.
Attends: the question, and what it has become, to the keys of these facts, in one hop or several.
Writes: the answer, one of all things that the facts are about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import lengths
from saccade.config import Positive, Share
from saccade.data.tensors import FactsInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.memory_layers import Answers, Hop, Sentences, in_places
from saccade.systems.system import BatchLook, Labeler, Recorded
from saccade.view.trace import Axis

READS, WRITES = "facts", "candidate"
DEFAULTS = {
    "tokens": {"kind": "word", "lower": True},
    "train": {"batch_size": 32, "learning_rate": 5e-3, "steps": 3000, "valid_every": 300, "save_every": 300, "patience": 5},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, and how questions and facts are encoded."""

    embedding_size: Positive = 50
    "Width of keys, values, questions and answers, which share one table of vectors."
    num_hops: Positive = 2
    "How often the memory is read."
    encoding: Literal["positions", "words"] = "words"
    "positions: words count by their places in the sentence (position encoding); words: all alike (bag of words)."
    dropout: Share = 0.1
    "Dropout of the vectors of questions, keys and values."


class Model(Labeler):
    """Keys, values, hops, and an answer."""

    def __init__(self, config: Config, source: Vocabulary, answers: Sequence[int]) -> None:
        super().__init__()
        self.config, width = config, config.embedding_size
        self.sentences = Sentences(source.size, 1, width, positions=config.encoding == "positions")
        self.hop = Hop()
        # Which hop does what is learned from where nothing has happened to the sum.
        self.between = nn.ParameterList(torch.eye(width) for _ in range(config.num_hops))
        self.answers = Answers(answers, width)
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, input: FactsInput) -> Float[Tensor, "B _"]:
        vectors = self.dropout(self.sentences(input.tokens, input.lengths))
        values = self.dropout(self.sentences(input.values, input.value_lengths))
        keys, state = vectors[: -len(input.counts)], vectors[-len(input.counts) :]
        logits: Tensor = self.answers(self.read(state, keys, values, input), self.sentences.vectors)
        return logits

    def read(
        self, state: Float[Tensor, "B D"], keys: Float[Tensor, "R D"], values: Float[Tensor, "R D"], input: FactsInput
    ) -> Float[Tensor, "B D"]:
        """q ← R (q + Σ pᵢ vᵢ) with p the softmax of q·kᵢ, again and again."""
        mask = lengths(input.counts)
        keys, values = (in_places(rows, input.counts, input.most) for rows in (keys, values))
        for matrix in self.between:
            state = (state + self.hop(state, keys, values, mask)) @ matrix.T
        return state

    def axes(self) -> Mapping[str, Axis]:
        return {"hops": Axis("hops", [f"hop {number}" for number in range(1, self.config.num_hops + 1)])}

    def looks(self, input: FactsInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Which facts each hop read."""
        weights = torch.cat([look.weights() for look in recorded["hop"]], 1)
        return [BatchLook("facts", "hops", "input", weights[:, None])]
