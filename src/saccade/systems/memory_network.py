"""End-to-end memory networks: a story is read again and again (Sukhbaatar et al. 2015).

Reads: the words of each statement and of the question, as the sum of their vectors under weights of their places.
Attends: the question, and what it has become, to all statements or to empty places of the memory, in one hop or several.
Writes: the answer, one of those that are known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import lengths
from saccade.config import Count, Positive, Share
from saccade.data.tensors import Batch, StoryInput
from saccade.data.tokenizers import Vocabulary
from saccade.layers.memory_layers import (
    STD,
    Answers,
    Hop,
    LinearStart,
    MemorySoftmax,
    Sentences,
    ages,
    in_places,
    most_empty,
    spread_ages,
)
from saccade.systems.system import BatchLook, Labeler, Output, Recorded, cosine
from saccade.view.trace import Axis

READS, WRITES = "story", "candidate"
DEFAULTS = {
    "tokens": {"kind": "word", "lower": True},
    "train": cosine(5000, 0.32, every=250, patience=0)
    | {"batch_size": 32, "optimizer": "sgd", "momentum": 0.0, "clip": 1.25},
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes, how sentences are encoded, and what hops share."""

    embedding_size: Positive = 20
    "Width of statements, questions and answers."
    num_hops: Positive = 3
    "How often the memory is read."
    tying: Literal["adjacent", "layer"] = "adjacent"
    """adjacent: what a hop reads is what the next compares with; layer: all hops have the same vectors, and a matrix between
    them (layer-wise, RNN-like)."""
    encoding: Literal["positions", "words"] = "positions"
    "positions: words count by their places in the sentence (position encoding); words: all alike (bag of words)."
    empty_memories: Share = 0.1
    "Largest share of empty memories that are put between the statements in training (random noise); 0: none."
    linear_steps: Count = 0
    "Training steps before there is a softmax in the hops (linear start); 0: it is there from the first."


class Model(Labeler):
    """Sentences, hops, and an answer."""

    def __init__(self, config: Config, source: Vocabulary, statements: int, answers: Sequence[int]) -> None:
        super().__init__()
        self.config = config
        width, adjacent = config.embedding_size, config.tying == "adjacent"
        self.places = statements
        self.tables = config.num_hops + 1 if adjacent else 2  # of memories; layer-wise, questions have one of their own
        tables = self.tables + (not adjacent)
        self.sentences = Sentences(source.size, tables, width, positions=config.encoding == "positions")
        self.ages = nn.Embedding(statements + most_empty(statements, config.empty_memories), self.tables * width)
        nn.init.normal_(self.ages.weight, std=STD)
        self.start = LinearStart(config.linear_steps) if config.linear_steps else None
        self.hop = Hop()
        self.between = None if adjacent else nn.Linear(width, width, bias=False)
        self.answers = Answers(answers if adjacent else [-1] * len(answers), width)

    def logits(self, input: StoryInput) -> Float[Tensor, "B _"]:
        vectors = self.sentences(input.tokens, input.lengths)
        memories, questions = vectors[: -len(input.counts)], vectors[-len(input.counts) :]
        memories = self.memories(memories[:, : self.ages.embedding_dim], input)
        logits: Tensor = self.answers(self.read(self.question(questions), memories, input), self.sentences.vectors)
        return logits

    def question(self, vectors: Float[Tensor, "B _"]) -> Float[Tensor, "B D"]:
        """What the first hop looks with: by the first table, or layer-wise by the last."""
        width = self.config.embedding_size
        return vectors[:, :width] if self.between is None else vectors[:, -width:]

    def memories(self, vectors: Float[Tensor, "R _"], input: StoryInput) -> Sequence[Float[Tensor, "B M D"]]:
        """The statements by each table, with how long ago they were made."""
        share = self.config.empty_memories if self.training else 0.0
        age = spread_ages(input.counts, len(vectors), input.most, share) if share else ages(input.counts, len(vectors))
        return in_places(vectors + self.ages(age), input.counts, input.most).chunk(self.tables, -1)

    def read(self, state: Float[Tensor, "B D"], memories: Sequence[Tensor], input: StoryInput) -> Float[Tensor, "B D"]:
        """u ← u + Σ pᵢ cᵢ, again and again; layer-wise H u + Σ pᵢ cᵢ."""
        mask = lengths(input.counts)
        normalize = MemorySoftmax(self.places - input.counts, self.start.left if self.start is not None else None)
        for hop in range(self.config.num_hops):
            keys, values = memories[hop : hop + 2] if self.between is None else memories
            state = (state if self.between is None else self.between(state)) + self.hop(state, keys, values, mask, normalize)
        return state

    def forward(self, batch: Batch) -> Output:
        output = super().forward(batch)
        if self.training and self.start is not None:
            self.start.count()
        return output

    def axes(self) -> Mapping[str, Axis]:
        return {"hops": Axis("hops", [f"hop {number}" for number in range(1, self.config.num_hops + 1)])}

    def looks(self, input: StoryInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Which statements each hop read."""
        weights = torch.cat([look.weights() for look in recorded["hop"]], 1)
        return [BatchLook("statements", "hops", "input", weights[:, None])]
