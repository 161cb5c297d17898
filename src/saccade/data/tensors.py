"""Batches as tensors: what a reader makes of inputs, and a writer of targets.

Letters: B examples, K input tokens, T target tokens, N items of all bags together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.data.batches import Integers
from saccade.data.stored.ragged import flat

FAR = 1_000_000  # the distance of words from an aspect that does not occur in their text


@dataclass(frozen=True)
class Batch:
    """Inputs and targets of the same examples."""

    input: Any
    target: Any = None
    idle: bool = False
    """Whether another process has these examples, and they count nothing here."""

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on this device."""
        batch: Batch = moved(self, torch.device(device))
        return batch


def moved(value: Any, device: torch.device) -> Any:
    """A tensor, or a dataclass of such, on this device."""
    if isinstance(value, Tensor):
        return value if value.device == device else value.to(device, non_blocking=True)
    if isinstance(value, NodeInput):
        return value.on(device)
    if is_dataclass(value) and not isinstance(value, type):
        inner = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        changed = {name: new for name, old in inner.items() if (new := moved(old, device)) is not old}
        return replace(value, **changed) if changed else value
    return value.to(device) if hasattr(value, "to") else value


@dataclass(frozen=True)
class TextInput:
    """Token ids of texts, filled up with padding.

    Shapes: tokens (B, K), lengths (B)
    """

    tokens: Int[Tensor, "B K"]
    lengths: Int[Tensor, " B"]


@dataclass(frozen=True, kw_only=True)
class WordsInput(TextInput):
    """Words of texts; `spelling`: the n-grams of letters of each word, where they are read.

    Shapes: spelling (B, K, P)
    """

    spelling: Int[Tensor, "B K P"] | None = None


@dataclass(frozen=True, kw_only=True)
class AspectInput(WordsInput):
    """Words of texts, and of each text the aspect that its label is about; `distance`: how far each word is from it.

    Shapes: aspect (B, A), aspect_lengths (B), aspect_spelling (B, A, P), distance (B, K)
    """

    aspect: Int[Tensor, "B A"]
    aspect_lengths: Int[Tensor, " B"]
    aspect_spelling: Int[Tensor, "B A P"] | None = None
    distance: Int[Tensor, "B K"] | None = None


@dataclass(frozen=True, kw_only=True)
class PiecesInput(TextInput):
    """Texts, or pairs of texts, between their special tokens. `segments`: 0 in the first text, 1 in the second; `rows` and
    `places`: the tokens that are asked about, those to fill in or the first of each word; `texts`: what was read.

    Shapes: segments (B, K), rows (N), places (N)
    """

    segments: Int[Tensor, "B K"]
    rows: Int[Tensor, " N"]
    places: Int[Tensor, " N"]
    texts: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlacedInput(PiecesInput):
    """The same with what tells where tokens stand. `words`: of the tokens that are asked about the number of their word;
    `counts`: how many words each text has; `offsets`: where each token begins and ends in its own text, -1 of special ones.

    Shapes: words (N), counts (B), offsets (B, K, 2)
    """

    words: Int[Tensor, " N"]
    counts: Int[Tensor, " B"]
    offsets: Int[Tensor, "B K 2"]


@dataclass(frozen=True, kw_only=True)
class PermutedInput(PiecesInput):
    """Texts whose tokens are predicted in an order. `asked`: the places of these tokens, with ranks from 1 on (0: padding);
    `slots`: which of its row's places each one of `rows` is; `memory`: the tokens before each text, at the end of its row.

    Shapes: asked (B, P), ranks (B, P), slots (N), memory (B, M), memory_lengths (B)
    """

    asked: Int[Tensor, "B P"]
    ranks: Int[Tensor, "B P"]
    slots: Int[Tensor, " N"]
    memory: Int[Tensor, "B M"]
    memory_lengths: Int[Tensor, " B"]


@dataclass(frozen=True)
class DocumentInput:
    """Documents, their sentences one below the other; `counts` says how many sentences each document has, `most` how many
    the longest has.

    Shapes: tokens (R, K), lengths (R), counts (B) with R their sum
    """

    tokens: Int[Tensor, "R K"]
    lengths: Int[Tensor, " R"]
    counts: Int[Tensor, " B"]
    most: int


@dataclass(frozen=True, kw_only=True)
class StoryInput(DocumentInput):
    """Stories, the statements of all one below the other in the order in which they were made, and behind them the question
    of each; `counts` says how many statements each story has.

    Shapes: tokens (R + B, K), lengths (R + B), counts (B) with R their sum
    """


@dataclass(frozen=True, kw_only=True)
class FactsInput(StoryInput):
    """Memories whose keys, in the place of statements, are not what is read of them, the values.

    Shapes: values (R, W), value_lengths (R)
    """

    values: Int[Tensor, "R W"]
    value_lengths: Int[Tensor, " R"]


@dataclass(frozen=True)
class BagInput:
    """The items of all bags or sets, one after the other without padding, and how many belong to each.

    Shapes: items (N), word ids, or (N, …), features or pictures; sizes (B)
    """

    items: Tensor
    sizes: Int[Tensor, " B"]


@dataclass(frozen=True)
class PictureInput:
    """Standardized pictures.

    Shapes: pixels (B, C, height, width), channels last in memory
    """

    pixels: Float[Tensor, "B C height width"]


@dataclass(frozen=True)
class PictureQuestionInput:
    """Pictures, and the words of the question on each."""

    picture: PictureInput
    question: WordsInput


@dataclass(frozen=True)
class BitsInput:
    """Sequences of vectors of zeros, ones and marks, filled up with zeros; `blanks`: where an answer is expected.

    Shapes: vectors (B, T, C), lengths (B), blanks (B, T)
    """

    vectors: Float[Tensor, "B T C"]
    lengths: Int[Tensor, " B"]
    blanks: Bool[Tensor, "B T"]


@dataclass(frozen=True)
class NodeInput:
    """Nodes to be labeled, in the whole graph.

    Shapes: features (N, F), dense or sparse, edge_features (E, _), nodes (B)
    """

    graph: Any
    features: Tensor
    edge_features: Float[Tensor, "E _"] | None
    nodes: Int[Tensor, " B"]
    elsewhere: dict[torch.device, "NodeInput"] = field(default_factory=dict, repr=False, compare=False)
    """The graph on other devices: what all batches share goes there once."""

    def on(self, device: torch.device) -> "NodeInput":
        """The same nodes, in the graph on this device."""
        if self.features.device == device:
            return self if self.nodes.device == device else replace(self, nodes=moved(self.nodes, device))
        if device not in self.elsewhere:
            with torch.inference_mode(mode=False):  # what is kept must serve training, too
                parts = {name: moved(getattr(self, name), device) for name in ("graph", "features", "edge_features")}
            self.elsewhere[device] = replace(self, **parts, elsewhere={})
        return replace(self.elsewhere[device], nodes=moved(self.nodes, device))


@dataclass(frozen=True)
class TextTarget:
    """Texts to write; each ends with its end token. `first` is the token that each starts from.

    Shapes: tokens (B, T), lengths (B), first (B)
    """

    tokens: Int[Tensor, "B T"]
    lengths: Int[Tensor, " B"]
    first: Int[Tensor, " B"]
    label_smoothing: float = 0.0

    def before(self) -> Int[Tensor, "B T"]:
        """The token before each one: the first token, then the target's own."""
        return torch.cat((self.first[:, None], self.tokens[:, :-1]), 1)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class LabelTarget:
    """The class of each example: a label, a word, or the place of an item in its set; `weights`: how much each class counts.

    Shapes: labels (B), weights (classes)
    """

    labels: Int[Tensor, " B"]
    label_smoothing: float = 0.0
    agreement: float = 0.0
    weights: Float[Tensor, " C"] | None = None

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class BitsTarget:
    """The vectors of answers in the places of their sequences, zeros elsewhere; `asked`: where they stand.

    Shapes: bits (B, T, _), asked (B, T)
    """

    bits: Float[Tensor, "B T _"]
    asked: Bool[Tensor, "B T"]

    def __len__(self) -> int:
        return len(self.bits)


@dataclass(frozen=True)
class NumberTarget:
    """The number of each example, scaled.

    Shapes: numbers (B)
    """

    numbers: Float[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class MaskedTarget:
    """The tokens behind those that are to be filled in, and of each example whether its second part is another text's.

    Shapes: tokens (N), strangers (B)
    """

    tokens: Int[Tensor, " N"]
    strangers: Int[Tensor, " B"] | None = None

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class TagTarget:
    """The label of each word.

    Shapes: labels (B, W)
    """

    labels: Int[Tensor, "B W"]
    label_smoothing: float = 0.0

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class SpanTarget:
    """The first and the last token of each answer; both are 0 where there is none.

    Shapes: first (B), last (B)
    """

    first: Int[Tensor, " B"]
    last: Int[Tensor, " B"]

    def __len__(self) -> int:
        return len(self.first)


def padded(rows: Sequence[Sequence[int]], pad: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of ids as one rectangle (B, longest), and their lengths (B)."""
    return filled(*flat(rows), pad)


def filled(values: Integers, lengths: Integers, pad: int = 0) -> tuple[Tensor, Tensor]:
    """The same of rows that stand one after the other."""
    rectangle = np.full((len(lengths), int(lengths.max(initial=0))), pad, dtype=np.int64)
    rectangle[np.arange(rectangle.shape[1]) < lengths[:, None]] = values
    return torch.from_numpy(rectangle), torch.from_numpy(lengths)
