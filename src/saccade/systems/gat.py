"""Graph attention networks (Veličković et al. 2018).

Reads: the features of the nodes of a graph.
Attends: every node to its neighbors and to itself, with several heads, layer after layer.
Writes: a label for each node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.config import Positive, Share
from saccade.data.tensors import NodeInput
from saccade.layers.gat_conv import GATConv, drop_features
from saccade.systems.system import BatchLook, EdgeLook, Labeler, Recorded

READS, WRITES = "node", "label"
DEFAULTS = {  # as published
    "train": {"steps": 1000, "learning_rate": 5e-3, "weight_decay": 5e-4, "clip": 0.0}
    | {"valid_every": 5, "save_every": 1000, "patience": 20, "keep": 1}
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes; the defaults are the paper's for Cora and Citeseer."""

    hidden_size: Positive = 8
    "Width of each head."
    num_heads: Positive = 8
    "Heads of every layer but the last, laid side by side."
    num_output_heads: Positive = 1
    "Heads of the last layer, of which the mean is taken."
    num_layers: Positive = 2
    "How far a node can see, in steps."
    negative_slope: Share = 0.2
    "Of LeakyReLU below 0, in the score."
    dropout: Share = 0.6
    "Dropout of features, of attention weights, and of what neighbors give."


class Model(Labeler):
    """Layers of graph attention with ELU between them."""

    def __init__(self, config: Config, features: int, labels: int, edge_features: int = 0) -> None:
        super().__init__()
        self.dropout = config.dropout
        widths = [features] + [config.num_heads * config.hidden_size] * (config.num_layers - 1)
        shapes = [(config.hidden_size, config.num_heads, True)] * (config.num_layers - 1) + [
            (labels, config.num_output_heads, False)
        ]
        drop, edges = config.dropout, edge_features or None
        self.layers = nn.ModuleList(
            GATConv(width, out, heads, concat, config.negative_slope, drop, edge_dim=edges, value_dropout=drop)
            for width, (out, heads, concat) in zip(widths, shapes, strict=True)
        )

    def logits(self, input: NodeInput) -> Float[Tensor, "B labels"]:
        x = input.features
        for number, layer in enumerate(self.layers):
            x = drop_features(F.elu(x) if number else x, self.dropout, self.training)
            x = layer(x, input.graph, input.edge_features)
        return x[input.nodes]

    def looks(self, input: NodeInput, output: Tensor, recorded: Recorded) -> Sequence[BatchLook]:
        """Where the nodes looked, in each layer."""
        return [
            EdgeLook(
                f"graph attention, layer {number}",
                "node",
                "neighbors",
                look.weights(),
                look.loops(),
                look.edge_index[1],
                input.nodes,
            )
            for number, (*_, look) in enumerate(recorded.values(), 1)
        ]
