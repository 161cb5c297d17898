"""XLNet: generalized autoregressive pretraining for language understanding (Yang et al. 2019).

Reads: a text, or a pair of texts, as tokens that know their distances and segments, perhaps with the tokens before it.
Attends: in each layer and head, every token to all that come no later in a random order, and to the memory.
Writes: each token from those that come before it in that order; or a label, a label for each word, an answer's place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from saccade.attention.live import live
from saccade.config import Positive, Rate, Share, merged
from saccade.data.tensors import Batch, PermutedInput, PiecesInput
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.layers.two_stream_encoder import Memory, Queries, TwoStreamEncoder
from saccade.systems import bert
from saccade.systems.bert import published
from saccade.systems.system import BatchLook, Output, Recorded

READS, WRITES = "pieces", "permuted"
TASKS = {WRITES: (READS, WRITES)} | {name: sides for name, sides in bert.TASKS.items() if name != bert.WRITES}
LAST = {"reader": {"class_last": True}}
DEFAULTS = merged(bert.DEFAULTS, LAST | {"writer": {"mem_len": 64}})
TASK_DEFAULTS = {task: merged(table, LAST) for task, table in bert.TASK_DEFAULTS.items()}
PRESETS = {"base": published(768, 12, 12, 32_000), "large": published(1024, 24, 16, 32_000)}


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
    activation: Literal["gelu", "gelu_tanh", "relu", "swish"] = "gelu"
    "The function inside the network of each position."
    layer_norm_eps: Rate = 1e-12
    "What layer norms add to the variance."
    dropout: Share = 0.1
    "Dropout of embeddings, of attention weights, of what each layer adds, and before a label."

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise UsageError(f"num_heads: expected a divisor of hidden_size ({self.hidden_size}), got {self.num_heads}")


class PredictionHead(nn.Module):
    """What it takes to predict tokens: what the query stream reads in the place of each, and a number for every one.

    Shapes: hidden (1, D), bias (V)
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.hidden, self.bias = nn.Parameter(torch.zeros(1, width)), nn.Parameter(torch.zeros(size))


class Model(bert.Model):
    """The two-stream encoder and the head of a task; only to predict tokens it needs the query stream.

    Shapes: tokens (B, K) -> loss
    """

    config: Config  # type: ignore[assignment]

    def _encoder(self, source: Vocabulary, max_length: int) -> TwoStreamEncoder:
        return TwoStreamEncoder(
            source.size,
            self.config.hidden_size,
            layers=self.config.num_layers,
            heads=self.config.num_heads,
            hidden=self.config.intermediate_size,
            activation=self.config.activation,
            dropout=self.config.dropout,
            eps=self.config.layer_norm_eps,
        )

    def _masked_head(self, size: int) -> PredictionHead:
        return PredictionHead(self.config.hidden_size, size)

    def states(self, input: PiecesInput) -> Float[Tensor, "B K D"]:
        """What the content stream makes of every token, where all are given."""
        content: Tensor = self.encoder(input.tokens, self._live(input), input.segments)[0]
        return content

    def class_states(self, states: Float[Tensor, "B K D"], input: PiecesInput) -> Float[Tensor, "B D"]:
        """Those of the last token."""
        return states[torch.arange(len(states), device=states.device), input.lengths - 1]

    def logits(self, input: PiecesInput) -> Tensor:
        """As BERT's; of an answer that there is none, by the class token, at the first place."""
        return super().logits(input) if self.masked is None else self._words(self.predicted(input))

    def predicted(self, input: PiecesInput) -> Float[Tensor, "N D"]:
        """What the query stream knows of each token that is asked about. Where no order is said, as of those that are to be
        filled in, each is predicted from all that is given."""
        hidden = self._require_head().hidden
        if isinstance(input, PermutedInput):
            asked, slots = Queries(input.asked, input.ranks, hidden), input.slots
        else:
            everywhere = torch.arange(input.tokens.shape[1], device=input.tokens.device).expand_as(input.tokens)
            ranks = torch.zeros_like(input.tokens).index_put((input.rows, input.places), torch.ones_like(input.places))
            asked, slots = Queries(everywhere, ranks, hidden), input.places
        queries = self.encoder(input.tokens, self._live(input), input.segments, asked, self._memory(input))[1]
        found: Tensor = queries[input.rows, slots]
        return found

    def _live(self, input: PiecesInput) -> Tensor:
        return live(input.lengths, input.tokens.shape[1])

    def _memory(self, input: PiecesInput) -> Memory | None:
        if not isinstance(input, PermutedInput) or not input.memory.shape[1]:
            return None
        size = input.memory.shape[1]
        remembered: Memory = self.encoder.remember(input.memory, live(input.memory_lengths, size).flip(1))
        return remembered

    def _of_masked(self, batch: Batch) -> Output:
        loss, metrics = self._loss_of_words(self.predicted(batch.input), batch.target.tokens)
        return Output(loss, len(batch.target), metrics)

    def looks(self, input: PiecesInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where each token looked in each layer; and where each one that is filled in did, which cannot see itself."""
        K = input.tokens.shape[1]
        weights = [calls[-1].weights() for calls in recorded.values()]
        content = [
            BatchLook(f"self-attention, layer {number}", "input", "input", one[:, :, :K])
            for number, one in enumerate(weights, 1)
        ]
        if weights[0].shape[2] == K or not len(input.rows):
            return content
        return content + [
            BatchLook(f"query stream, layer {number}", "output", "input", self._filled(one[:, :, K:], input))
            for number, one in enumerate(weights, 1)
        ]

    def _filled(self, weights: Float[Tensor, "B H K K"], input: PiecesInput) -> Float[Tensor, "B H P K"]:
        """The rows of the tokens that are filled in."""
        own = [one.transpose(0, 1)[input.places[input.rows == row]] for row, one in enumerate(weights)]
        return pad_sequence(own, batch_first=True).transpose(1, 2)
