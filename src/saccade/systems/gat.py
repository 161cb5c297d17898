"""Graph attention networks (Veličković et al. 2018).

Reads: the features of the nodes of a graph.
Attends: every node to its neighbors and to itself, with several heads, layer after layer.
Writes: a label for each node.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import AttendedEdges, looking
from saccade.config import Positive, Share
from saccade.layers.graph import GATConv, drop_features
from saccade.layers.nodes import NodeBatch
from saccade.systems.system import Labeler

TASK = "nodes_to_labels"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes; the defaults are the paper's for Cora and Citeseer."""

    hidden: Positive = 8
    "Width of each head."
    heads: Positive = 8
    "Heads of every layer but the last, laid side by side."
    output_heads: Positive = 1
    "Heads of the last layer, of which the mean is taken."
    layers: Positive = 2
    "How far a node can see, in steps."
    slope: Share = 0.2
    "Of LeakyReLU below 0, in the score."
    dropout: Share = 0.6
    "Share of features, of weights between nodes, and of what neighbors give, that is struck out in training."


class Model(Labeler):
    """Layers of graph attention with ELU between them."""

    def __init__(self, config: Config, features: int, labels: int, edge_features: int = 0) -> None:
        super().__init__()
        self.dropout = config.dropout
        widths = [features] + [config.heads * config.hidden] * (config.layers - 1)
        shapes = [(config.hidden, config.heads, True)] * (config.layers - 1) + [(labels, config.output_heads, False)]
        drop, edges = config.dropout, edge_features or None
        self.layers = nn.ModuleList(
            GATConv(width, out, heads, concat, config.slope, drop, edge_dim=edges, value_dropout=drop)
            for width, (out, heads, concat) in zip(widths, shapes, strict=True)
        )

    def forward(self, batch: NodeBatch) -> Float[Tensor, "B labels"]:
        x = batch.features
        for number, layer in enumerate(self.layers):
            x = drop_features(F.elu(x) if number else x, self.dropout, self.training)
            x = layer(x, batch.graph, batch.edge_features)
        return x[batch.nodes]

    def attended(self, batch: NodeBatch) -> dict[str, AttendedEdges]:
        """Where every node looked, in each layer."""
        with looking(self) as looks:
            self(batch)
        found = {f"layer {number}": looks[name][-1] for number, name in enumerate(looks, 1)}
        return {name: look for name, look in found.items() if isinstance(look, AttendedEdges)}
