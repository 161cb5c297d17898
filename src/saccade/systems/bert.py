"""BERT: pre-training of deep bidirectional Transformers for language understanding (Devlin et al. 2018).

Reads: a text, or a pair of texts, as tokens with learned positions and segments.
Attends: in each layer and head, every token to every other.
Writes: hidden tokens and whether one text follows the other; or a label, a label for each word, an answer's place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Positive, Rate, Share, merged
from saccade.data.tensors import Batch, PiecesInput
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.layers.cross_entropy import linear_cross_entropy
from saccade.layers.dropout import Dropout
from saccade.layers.linear import Linear
from saccade.layers.text_encoder import MaskedHead, TextEncoder
from saccade.systems.system import BatchLook, Labeler, Output, Recorded

READS, WRITES = "pieces", "masked"
TASKS = {
    "masked": (READS, WRITES),
    "label": ("pieces", "label"),
    "tags": ("placed_pieces", "tags"),
    "span": ("placed_pieces", "span"),
    "vector": ("pieces", "vector"),
}
ADAM = {"optimizer": "adamw", "weight_decay": 0.01, "decay": "matrices", "schedule": "linear"}
TOKENS = {"tokens": {"kind": "bpe", "size": 4000, "lower": True}}
DEFAULTS: dict[str, Any] = TOKENS | {
    "train": ADAM
    | {"steps": 4000, "learning_rate": 5e-4, "warmup": 400, "batch_tokens": 4096, "valid_every": 400, "save_every": 400},
}
# How a label, labels of words or answers are learned, best from a model that was pre-trained (start=…).
TUNED = TOKENS | {
    "train": ADAM
    | {
        "steps": 600,
        "learning_rate": 1e-4,
        "warmup": 60,
        "batch_size": 16,
        "valid_every": 50,
        "save_every": 50,
        "patience": 6,
    },
}
TASK_DEFAULTS = {"label": TUNED, "tags": TUNED, "span": merged(TUNED, {"reader": {"max_length": 384}}), "vector": TOKENS}
INIT_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of the model; the defaults are for some megabytes of text, the published ones are presets."""

    hidden_size: Positive = 128
    "Size of a token's vector in all layers."
    num_layers: Positive = 4
    "Number of layers."
    num_heads: Positive = 4
    "Attention heads of each layer; must divide hidden_size."
    intermediate_size: Positive = 512
    "Size of the feed-forward network's inner layer."
    max_positions: Positive = 512
    "Longest input that can be read, in tokens."
    activation: Literal["gelu", "gelu_tanh", "relu", "swish"] = "gelu"
    "The function inside the network of each position."
    layer_norm_eps: Rate = 1e-12
    "What layer norms add to the variance."
    dropout: Share = 0.1
    "Dropout of embeddings, of what each layer adds, and before a label."
    attention_dropout: Share = 0.1
    "Dropout of attention weights."

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise UsageError(f"num_heads: expected a divisor of hidden_size ({self.hidden_size}), got {self.num_heads}")


def published(hidden_size: int, num_layers: int, num_heads: int, size: int) -> dict[str, Any]:
    """The sizes of a paper's model."""
    model = {"hidden_size": hidden_size, "num_layers": num_layers, "num_heads": num_heads}
    own = {"model": {**model, "intermediate_size": 4 * hidden_size}, "reader": {"max_length": 512}}
    return {"tokens": {"size": size}, **own}


PRESETS = {"base": published(768, 12, 12, 30_522), "large": published(1024, 24, 16, 30_522)}


class Model(Labeler):
    """The encoder and the head of a task: what its writer counts decides which (labels, tags, spans); a `pooler` that is
    True or False stands for no head at all.

    Shapes: tokens (B, K) -> loss
    """

    SEGMENTS: ClassVar[int] = 2

    def __init__(
        self,
        config: Config,
        source: Vocabulary,
        max_length: int,
        *,
        labels: int = 0,
        tags: int = 0,
        spans: int = 0,
        next_sentence: bool = False,
        pooler: bool | None = None,
    ) -> None:
        super().__init__()
        self.config, self.end = config, source.end
        width = config.hidden_size
        self.encoder = self._encoder(source, max_length)
        headless = bool(labels or tags or spans or pooler is not None)
        self.pooler = Linear(width, width) if labels or next_sentence or pooler else None
        self.masked = None if headless else self._masked_head(source.size)
        self.following = Linear(width, 2) if next_sentence else None
        self.label_output = Linear(width, labels) if labels else None
        self.tag_output = Linear(width, tags) if tags else None
        self.span_output = Linear(width, spans) if spans else None
        self.dropout = Dropout(config.dropout)
        self._initialize()

    def _encoder(self, source: Vocabulary, max_length: int) -> Any:
        config = self.config
        if max_length > config.max_positions:
            most = f"expected at most model.max_positions={config.max_positions}"
            raise UsageError(f"reader.max_length: {most}, got {max_length}; shorten it")
        return TextEncoder(
            source.size,
            config.hidden_size,
            layers=config.num_layers,
            heads=config.num_heads,
            hidden=config.intermediate_size,
            max_positions=config.max_positions,
            first=self.first_position(source),
            segments=self.SEGMENTS,
            activation=config.activation,
            dropout=config.dropout,
            attention_dropout=config.attention_dropout,
            eps=config.layer_norm_eps,
        )

    def _masked_head(self, size: int) -> Any:
        return MaskedHead(self.config.hidden_size, size, self.config.activation, self.config.layer_norm_eps)

    @classmethod
    def first_position(cls, source: Vocabulary) -> int:
        """The number of the first token's position."""
        return 0

    def _initialize(self) -> None:
        """N(0, 0.02), and biases of 0."""
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=INIT_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def states(self, input: PiecesInput) -> Float[Tensor, "B K D"]:
        """What the encoder makes of every token."""
        states: Tensor = self.encoder(input.tokens, input.lengths, input.segments)
        return states

    def class_states(self, states: Float[Tensor, "B K D"], input: PiecesInput) -> Float[Tensor, "B D"]:
        """Those of the token that stands for the whole input: the first."""
        return states[:, 0]

    def pooled(self, states: Float[Tensor, "B K D"], input: PiecesInput) -> Float[Tensor, "B D"]:
        """One vector for the whole input."""
        assert self.pooler is not None
        return torch.tanh(self.pooler(self.class_states(states, input)))

    def logits(self, input: PiecesInput) -> Tensor:
        """Scores before the softmax: of labels (B, labels); of labels of the words that are asked about (N, tags); of first
        and last tokens of an answer (B, K, 2); of the tokens that are asked about (N, V)."""
        states = self.states(input)
        if self.label_output is not None:
            logits: Tensor = self.label_output(self.dropout(self.pooled(states, input)))
            return logits
        if self.tag_output is not None:
            tagged: Tensor = self.tag_output(self.dropout(states[input.rows, input.places]))
            return tagged
        if self.span_output is not None:
            ends: Tensor = self.span_output(states)
            none = self.class_states(ends, input)[:, None]
            return torch.cat((none, ends[:, 1:]), 1).masked_fill(~self._possible(input)[..., None], -torch.inf)
        return self._words(self._hidden(states, input))

    def _hidden(self, states: Float[Tensor, "B K D"], input: PiecesInput) -> Float[Tensor, "N D"]:
        hidden: Tensor = self._require_head()(states[input.rows, input.places])
        return hidden

    def _require_head(self) -> Any:
        if self.masked is None:
            raise UsageError("expected a model with a head, got one that makes vectors only; use embed")
        return self.masked

    def _words(self, hidden: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        assert self.masked is not None
        return F.linear(hidden, self.encoder.embedding.weight, self.masked.bias)

    def _possible(self, input: PiecesInput) -> Tensor:
        """Where an answer may begin or end: in the second text, or, if there is none, at the first place, which stands for
        the class token."""
        inside = (input.segments == 1) & (input.tokens != self.end)
        start = torch.arange(input.tokens.shape[1], device=input.tokens.device) == 0
        return inside | start

    def forward(self, batch: Batch) -> Output:
        """The summed cross-entropy of what the writer predicts."""
        if self.label_output is not None:
            return super().forward(batch)
        if self.tag_output is not None:
            return self._of_tags(batch)
        return self._of_masked(batch) if self.span_output is None else self._of_spans(batch)

    def _of_tags(self, batch: Batch) -> Output:
        labels = batch.target.labels[batch.input.rows, batch.input.words]
        smoothing = self.smoothing(batch.target)
        loss = F.cross_entropy(self.logits(batch.input), labels, label_smoothing=smoothing, reduction="sum")
        return Output(loss, len(labels))

    def _of_spans(self, batch: Batch) -> Output:
        """The mean of those of the first and the last token."""
        logits, ends = self.logits(batch.input), (batch.target.first, batch.target.last)
        losses = [F.cross_entropy(logits[..., side], end, reduction="sum") for side, end in enumerate(ends)]
        return Output((losses[0] + losses[1]) / 2, len(logits))

    def _of_masked(self, batch: Batch) -> Output:
        """Over the hidden tokens −log p(token); with next sentences also, of each example as often as it has hidden tokens,
        −log p(whether the second text follows): divided by their number, the sum of both means."""
        input, target = batch.input, batch.target
        states = self.states(input)
        hidden = self._hidden(states, input)
        loss, metrics = self._loss_of_words(hidden, target.tokens)
        if self.following is not None:
            follows: Tensor = self.following(self.pooled(states, input))
            counts = states.new_zeros(len(states)).index_add(0, input.rows, states.new_ones(len(input.rows)))
            loss = loss + (counts * F.cross_entropy(follows, target.strangers, reduction="none")).sum()
            if not self.training:
                metrics["next_sentence_accuracy"] = (counts * (follows.argmax(-1) == target.strangers)).sum()
        return Output(loss, len(target.tokens), metrics)

    def _loss_of_words(self, hidden: Float[Tensor, "N D"], tokens: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The summed loss of these tokens, and outside of training the metrics of it."""
        assert self.masked is not None
        loss = linear_cross_entropy(hidden, self.encoder.embedding.weight, self.masked.bias, tokens)
        return loss, {} if self.training else {"masked_loss": loss, "masked_accuracy": self._right(hidden, tokens)}

    def _right(self, hidden: Float[Tensor, "N D"], tokens: Tensor) -> Tensor:
        return (self._words(hidden.detach()).argmax(-1) == tokens).sum()

    def looks(self, input: PiecesInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where each token looked in each layer."""
        return [
            BatchLook(f"self-attention, layer {number}", "input", "input", calls[-1].weights())
            for number, calls in enumerate((recorded[name] for name in recorded), 1)
        ]
