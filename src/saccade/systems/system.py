"""What the engine knows of every system: `forward(batch) -> Output`, and `looks`; and settings that several have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Positive, Rate, Share
from saccade.data.tensors import Batch
from saccade.view.trace import Axis, Look

CALLED = {"": "attention", "pool": "attention pooling"}  # looks by their modules; others by the module's own name
Recorded = Mapping[str, Sequence[Any]]  # attention by the qualified name of the module that attended


def cosine(steps: int, learning_rate: float, *, every: int, patience: int) -> dict[str, Any]:
    """Defaults of [train]: a learning rate that falls to 0, validations every so many steps, early stopping."""
    often = {"valid_every": every, "save_every": every, "patience": patience}
    return {"steps": steps, "learning_rate": learning_rate, "schedule": "cosine", **often}


# How systems that read and write texts are trained where nothing else is said (docs/defaults.md).
PAIRS: dict[str, dict[str, Any]] = {
    "tokens": {"kind": "bpe", "size": 2000},
    "model": {"dropout": 0.3},
    "writer": {"share_tokenizer": True, "metric": "bleu", "label_smoothing": 0.1},
    "train": cosine(4000, 2e-3, every=200, patience=12) | {"batch_tokens": 1024, "warmup": 100},
}
# The same for systems that read words and write a label.
WORDS: dict[str, dict[str, Any]] = {
    "tokens": {"kind": "word", "size": 20_000},
    "reader": {"spelling": 3},
    "model": {"word_dropout": 0.3, "dropout": 0.5},
    "writer": {"agreement": 1.0},
    "train": cosine(600, 5e-3, every=50, patience=6) | {"batch_tokens": 2048},
}


# The same for systems that answer questions about pictures.
QUESTIONS: dict[str, Any] = {
    "tokens": {"kind": "word", "size": 20_000, "lower": True},
    "reader": {"max_length": 60},
    "train": cosine(2000, 1e-3, every=200, patience=6) | {"batch_tokens": 128, "warmup": 100, "optimizer": "adamw"},
}


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """How a system attends."""

    normalize: str = "softmax"
    "How scores become weights: softmax, sparsemax, entmax15 …"


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes of a recurrent encoder and decoder."""

    embedding_size: Positive = 256
    "Embedding size."
    hidden_size: Positive = 256
    "Hidden size of every layer, of encoder and decoder."
    cell: Literal["lstm", "gru"] = "lstm"
    "The recurrent unit of encoder and decoder."
    num_layers: Positive = 1
    "Number of encoder layers, and as many decoder layers."
    dropout: Share = 0.0
    "Dropout of embeddings, between layers and before the output."


@dataclass(frozen=True, kw_only=True)
class AttentiveConfig(AttentionConfig, RecurrentConfig):
    """Sizes of a recurrent encoder and of a decoder that attends to what it read."""

    max_positions: Positive = 200
    "Longest source that the location score can look at; other scores have no limit."


@dataclass(frozen=True, kw_only=True)
class WordsConfig(AttentionConfig):
    """Sizes of a system that weighs the words of a text."""

    embedding_size: Positive = 100
    "Embedding size."
    hidden_size: Positive = 64
    "Hidden size of the recurrent unit (in each direction), and of the layer that scores words."
    word_dropout: Share = 0.0
    "Share of the words read as unknown in training, which teaches that vector; with reader.spelling, by their letters only."
    letter_dropout: Share = 0.5
    "Share of the runs of letters (reader.spelling) that are not read in training."
    dropout: Share = 0.3
    "Dropout of word vectors and of the pooled text."


@dataclass(frozen=True, kw_only=True)
class QuestionConfig(AttentionConfig):
    """Sizes of a system that answers questions about pictures; the network that reads pictures is trained along."""

    channels: Positive = 32
    "Channels of the first stage of the picture network; every further stage has twice as many."
    num_stages: Positive = 3
    "Stages of the picture network, a residual block each; a picture is halved in each stage but the last."
    positions: bool = True
    "Whether a cell of the picture also has its row and column; without, all cells could change places."
    hidden_size: Positive = 128
    "Size of what is read of a question, and of all that is compared with it."
    embedding_std: Rate = 0.1
    "Standard deviation of the word vectors before training; those of 1 tell words apart sooner."
    fusion: Literal["sum", "product"] = "sum"
    "What is added to the question: what was seen, as in the papers, or its product with the question, which compares both."
    word_dropout: Share = 0.0
    "Share of the words read as unknown in training, which teaches that vector."
    letter_dropout: Share = 0.5
    "Share of the runs of letters (reader.spelling) that are not read in training."
    dropout: Share = 0.3
    "Dropout of word vectors, of the cells of a picture and of what the answer is read from."


@dataclass(frozen=True)
class Output:
    """What the trainer needs of a batch: the summed loss, how many things were predicted, and sums of other metrics."""

    loss: Float[Tensor, ""]
    count: Tensor | int
    metrics: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchLook:
    """Attention of a batch: between which axes, and its weights.

    Shapes: weights (B, H, Q, K)
    """

    name: str
    queries: str
    keys: str
    weights: Tensor

    def of(self, index: int) -> Look:
        """That of one example."""
        return Look(self.name, self.queries, self.keys, self.weights[index].float().cpu().numpy())


@dataclass(frozen=True)
class RaggedLook(BatchLook):
    """Attention over bags of different sizes, one after the other.

    Shapes: weights (N), sizes (B)
    """

    sizes: Int[Tensor, " B"]

    def of(self, index: int) -> Look:
        first, size = int(self.sizes[:index].sum()), int(self.sizes[index])
        return Look(
            self.name, self.queries, self.keys, self.weights[first : first + size].view(1, 1, -1).float().cpu().numpy()
        )


@dataclass(frozen=True)
class EdgeLook(BatchLook):
    """Attention along the edges into nodes, and along the self loops that a layer adds.

    Shapes: weights (…, E), loops (…, N), targets (E), nodes (B)
    """

    loops: Tensor
    targets: Int[Tensor, " E"]
    nodes: Int[Tensor, " B"]

    def of(self, index: int) -> Look:
        node = self.nodes[index]
        into = (self.targets == node).nonzero()[:, 0]
        own = torch.cat((self.loops[..., node, None], self.weights[..., into]), -1).reshape(-1, 1, len(into) + 1)
        return Look(self.name, self.queries, self.keys, own.float().cpu().numpy())


@dataclass(frozen=True)
class PlacesLook(BatchLook):
    """Places in an image that were looked at, one after the other: row, column, height and width in pixels.

    Shapes: weights (B, S, 4)
    """

    def of(self, index: int) -> Look:
        return Look(self.name, self.queries, self.keys, places=self.weights[index].float().cpu().numpy())


def hops_look(modules: Sequence[str], recorded: Recorded, keys: str = "input") -> BatchLook:
    """Where each of several hops looked, each recorded in a module of its own with one query, side by side."""
    return BatchLook("hops", "hop", keys, torch.cat([recorded[name][-1].weights() for name in modules], 1)[:, None])


class System(nn.Module):
    """A model that can be trained. A system that writes text adds `read`, `start` and `step`; others their outputs."""

    def forward(self, batch: Batch) -> Output:
        """The loss of everything that the batch predicts."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(batch)")

    def smoothing(self, target: Any) -> float:
        """The label smoothing: in training only."""
        return float(target.label_smoothing) if self.training else 0.0

    def class_weights(self, target: Any) -> Tensor | None:
        """How much each class counts: in training only."""
        weights: Tensor | None = target.weights if self.training else None
        return weights

    def looks(self, input: Any, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where it looked while this output was computed, from what was recorded; nothing where it has no attention."""
        # What the system itself attends to on the way, the mean of all words say, is not what its parts chose.
        names = [name for name in recorded if name] or list(recorded)
        by_name = {CALLED.get(name, name): recorded[name][-1].weights() for name in names}
        return [
            BatchLook(name, "output", "input", weights.unflatten(0, (len(output), -1))) for name, weights in by_name.items()
        ]

    def axes(self) -> Mapping[str, Axis]:
        """The places that looks name and that are neither the input's nor the output's."""
        return {}

    def reading(self, input: Any) -> Sequence[BatchLook]:
        """Where each place of the input looked while it was read; nothing where none looks."""
        return []


class Labeler(System):
    """A system that writes one label for each example: `logits(input)` are (B, labels)."""

    def logits(self, input: Any) -> Float[Tensor, "B labels"]:
        """The scores of all labels before the softmax."""
        raise NotImplementedError(f"{type(self).__name__} must define logits(input)")

    def forward(self, batch: Batch) -> Output:
        """Cross-entropy, summed over the batch.

        With `agreement`, the mean loss of two passes, each with a dropout of its own, and so much of the divergence between
        them: the mean of KL(p‖q) and KL(q‖p) (R-Drop, Liang et al. 2021, equations 2 and 3, halved).
        """
        labels, smoothing, weights = batch.target.labels, self.smoothing(batch.target), self.class_weights(batch.target)
        if not (self.training and batch.target.agreement):
            loss = F.cross_entropy(self.logits(batch.input), labels, weights, label_smoothing=smoothing, reduction="sum")
            return Output(loss, len(labels))
        one, other = (F.log_softmax(self.logits(batch.input), -1) for _ in range(2))
        pairs, twice = torch.cat((one, other)), labels.repeat(2)
        both = F.cross_entropy(pairs, twice, weights, label_smoothing=smoothing, reduction="sum")
        apart = ((one.exp() - other.exp()) * (one - other)).sum()
        return Output((both + batch.target.agreement * apart) / 2, len(labels))
