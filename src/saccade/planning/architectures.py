"""Sizes of a Transformer, and its parameters and products in closed form: counted, never typed in.

Letters: D width, F inner width of the network of each position.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["decoder", "encoder", "encoder-decoder", "two-stream"]


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """A Transformer: a decoder (GPT-2), an encoder (BERT), both (Vaswani et al. 2017), or two streams (XLNet)."""

    kind: Kind
    layers: int
    "Layers; of an encoder and a decoder as many each."
    width: int
    heads: int
    inner: int
    "Inner width of the network of each position."
    vocabulary: int
    positions: int = 0
    "Learned positions; 0: sinusoids, or relative ones."
    segments: int = 0
    "Kinds of segments with an embedding."
    embedding_norm: bool = False
    "Whether a layer norm follows the embeddings."
    final_norms: int = 0
    "Layer norms behind all layers."
    pooler: bool = False
    "Whether the first token goes through one more map."
    predicted: float = 1.0
    "The share of the tokens whose logits are computed in training."
    decoder_layers: int | None = None
    "Layers of the decoder, if not as many as of the encoder."

    @property
    def written_layers(self) -> int:
        """Layers of the decoder beside an encoder."""
        own = self.layers if self.decoder_layers is None else self.decoder_layers
        return own if self.kind == "encoder-decoder" else 0


def parameters(shape: Architecture) -> dict[str, int]:
    """Parameters by part; the output layer shares those of the embedding."""
    D = shape.width
    rows = shape.vocabulary + shape.positions + shape.segments + (shape.kind == "two-stream")  # of its mask
    norms = 2 * D * (shape.embedding_norm + shape.final_norms)
    return {
        "embeddings": rows * D,
        "layers": shape.layers * _layer(shape) + shape.written_layers * (_layer(shape) + _attention(shape) + 2 * D),
        "norms beside layers": norms,
        "pooler": shape.pooler * (D * D + D),
    }


def total(shape: Architecture) -> int:
    """All parameters."""
    return sum(parameters(shape).values())


def _layer(shape: Architecture) -> int:
    """Attention, network and two layer norms."""
    D, F = shape.width, shape.inner
    return _attention(shape) + 2 * D * F + F + D + 4 * D


def _attention(shape: Architecture) -> int:
    """Queries, keys, values and outputs; XLNet has no biases, but a map for positions, three vectors and two segments."""
    D = shape.width
    return 5 * D * D + 5 * D if shape.kind == "two-stream" else 4 * D * D + 4 * D


def forward_flops(shape: Architecture, *, sequences: int, context: int, source: int | None = None) -> dict[str, int]:
    """FLOPs of the matrix products of one pass by part, a multiplication and an addition counted as two.

    A causal mask halves nothing here: torch's counter, and the usual formulas, count the whole square. `context` is the
    length of what is written, `source` of what is read by an encoder with a decoder, if that differs.
    """
    D, F = shape.width, shape.inner
    tokens, read = sequences * context, sequences * (context if source is None else source)
    if shape.kind == "encoder-decoder":
        maps = 8 * D * D * (shape.layers * read + shape.written_layers * tokens)
        maps += 4 * D * D * shape.written_layers * (tokens + read)
        seen = shape.layers * read * read + shape.written_layers * tokens * (tokens + read)
        network = 4 * D * F * (shape.layers * read + shape.written_layers * tokens)
        attention = 4 * D * seen // sequences
    else:
        # Two streams: the content's map of twice as many relative positions; the query's stream has queries and outputs.
        streams = 2 if shape.kind == "two-stream" else 1
        maps = shape.layers * tokens * (8 if streams == 1 else 16) * D * D
        attention = shape.layers * tokens * context * (4 if streams == 1 else 16) * D
        network = shape.layers * tokens * 4 * D * F * streams
    output = round(2 * D * shape.vocabulary * tokens * shape.predicted)
    return {"attention maps": maps, "attention": attention, "network": network, "output layer": output}


@dataclass(frozen=True)
class TrainingFlops:
    """FLOPs of a training: the model's own (forward, and twice that backward), and what the hardware does for them."""

    model: float
    hardware: float


def training_flops(shape: Architecture, *, tokens: float, context: int, recompute: bool) -> TrainingFlops:
    """FLOPs of so many tokens, in sequences of this length; recomputation runs the layers, not the output, once more."""
    forward = forward_flops(shape, sequences=1, context=context)
    sequences = tokens / context
    again = sum(forward.values()) - forward["output layer"]
    model = 3 * sum(forward.values()) * sequences
    return TrainingFlops(model, model + recompute * again * sequences)
