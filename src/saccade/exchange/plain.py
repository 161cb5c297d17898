"""A trained Transformer in torch's plainest words, for tools that trace what a model does: same weights, same numbers.

The model itself chooses its way by what it is given (lengths, threads, numbers that are not finite); a trace cannot.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.layers.multihead import MultiHeadAttention
from saccade.systems.transformer import Model

CLOSED = -1e9


class Reader(nn.Module):
    """Shapes: source (B, K), lengths (B) -> memory (B, K, D)"""

    def __init__(self, model: Model, longest: int) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("table", model.positions(0, longest).detach().clone(), persistent=False)

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        x = embedded(self.model, self.model.source_embedding, source, self.get_buffer("table"))
        closed = beyond(source, lengths)
        for layer in _parts(self.model.encoder):
            entered = layer.mixed.enter(x)
            x = layer.mixed.leave(x, looked(layer.mixer.attention, entered, entered, closed))
            x = layer.worked.leave(x, worked(layer.network, layer.worked.enter(x)))
        memory: Tensor = self.model.encoder_norm(x)
        return memory


class Writer(nn.Module):
    """Shapes: written (B, T), memory (B, K, D), lengths (B) -> logits (B, V) of what follows"""

    def __init__(self, model: Model, longest: int) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("table", model.positions(0, longest).detach().clone(), persistent=False)

    def forward(self, written: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
        x = embedded(self.model, self.model.target_embedding, written, self.get_buffer("table"))
        closed, places = beyond(memory[..., 0], lengths), torch.arange(written.shape[1])
        future = (places > places[:, None])[None, None]
        for layer in _parts(self.model.decoder):
            entered = layer.mixed.enter(x)
            x = layer.mixed.leave(x, looked(layer.mixer.attention, entered, entered, future))
            x = layer.crossed.leave(x, looked(layer.cross, layer.crossed.enter(x), memory, closed))
            x = layer.worked.leave(x, worked(layer.network, layer.worked.enter(x)))
        logits: Tensor = self.model.output(self.model.decoder_norm(x[:, -1]))
        return logits


def _parts(layers: nn.Module) -> Sequence[Any]:
    return list(layers.children())


def embedded(model: Model, embedding: nn.Embedding, tokens: Tensor, table: Tensor) -> Tensor:
    """Vectors of tokens with their positions."""
    scale = math.sqrt(model.config.width) if model.config.embedding_scale == "root" else 1.0
    vectors: Tensor = embedding(tokens) * scale + table[: tokens.shape[1]]
    return vectors


def beyond(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Which places lie behind the end of their sample, (B, 1, 1, K)."""
    return (torch.arange(tokens.shape[1]) >= lengths[:, None])[:, None, None]


def looked(layer: MultiHeadAttention, query: Tensor, memory: Tensor, closed: Tensor) -> Tensor:
    """What multi-head attention by scaled dot product and softmax gives, with nothing seen of what is closed."""
    queries, keys, values = (
        one(x).unflatten(-1, (layer.heads, -1)).transpose(1, 2)
        for one, x in ((layer.query_map, query), (layer.key_map, memory), (layer.value_map, memory))
    )
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    context = scores.masked_fill(closed, CLOSED).softmax(-1) @ values
    seen: Tensor = layer.output_map(context.transpose(1, 2).flatten(-2))
    return seen


def worked(network: Any, x: Tensor) -> Tensor:
    """The network of each position, which changes nothing in place."""
    activation = {"relu": torch.relu, "gelu": nn.functional.gelu, "swish": nn.functional.silu}[network.activation]
    out: Tensor = network.out(activation(network.into(x)))
    return out
