"""The encoder of BERT (Devlin et al. 2018, section 3): words, positions and segments through post-norm layers; and its head
that fills in hidden tokens."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.attention import lengths as within
from saccade.layers.dropout import Dropout
from saccade.layers.feed_forward import ACTIVATIONS, FeedForward
from saccade.layers.linear import Linear
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.position_embeddings import Learned
from saccade.layers.transformer_blocks import EncoderLayer, SelfAttention


class TextEncoder(nn.Module):
    """Every token looks at every other of its text or pair. `first` is the position of the first token; with one segment
    only, both texts of a pair are of it.

    Shapes: tokens (B, K), lengths (B), segments (B, K) -> (B, K, D)
    """

    def __init__(
        self,
        size: int,
        width: int,
        *,
        layers: int,
        heads: int,
        hidden: int,
        max_positions: int,
        first: int = 0,
        segments: int = 2,
        activation: str = "gelu",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.first = first
        self.embedding = nn.Embedding(size, width)
        self.positions = Learned(width, first + max_positions)
        self.segment_embedding = nn.Embedding(segments, width)
        self.embedding_norm = nn.LayerNorm(width, eps)
        self.dropout = Dropout(dropout)

        def layer() -> EncoderLayer:
            attention = MultiHeadAttention(width, heads, dropout=attention_dropout)
            mixer = SelfAttention(attention, lambda lengths: None if lengths is None else within(lengths))
            return EncoderLayer(mixer, FeedForward(width, hidden, activation), width, dropout, "post", eps)

        self.layers = nn.ModuleList(layer() for _ in range(layers))

    def forward(
        self, tokens: Int[Tensor, "B K"], lengths: Int[Tensor, " B"], segments: Int[Tensor, "B K"]
    ) -> Float[Tensor, "B K D"]:
        one = self.segment_embedding.num_embeddings == 1
        kinds = self.segment_embedding.weight[0] if one else self.segment_embedding(segments)
        places = self.positions(self.first, self.first + tokens.shape[1])
        x: Tensor = self.dropout(self.embedding_norm(self.embedding(tokens) + kinds + places))
        for layer in self.layers:
            x = layer(x, lengths)
        return x


class MaskedHead(nn.Module):
    """What is compared with the vectors of all tokens, to say which one is hidden; `bias` has a number for each token.

    Shapes: (N, D) -> (N, D)
    """

    def __init__(self, width: int, size: int, activation: str, eps: float) -> None:
        super().__init__()
        self.activation = activation
        self.transform = Linear(width, width)
        self.norm = nn.LayerNorm(width, eps)
        self.bias = nn.Parameter(self.norm.bias.new_zeros(size))

    def forward(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        transformed: Tensor = self.norm(ACTIVATIONS[self.activation](self.transform(x)))
        return transformed
