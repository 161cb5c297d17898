"""Nodes of a graph that are to be labeled, as tensors."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from saccade.attention import Graph


@dataclass(frozen=True)
class NodeBatch:
    """Some nodes with their labels, in the whole graph that they stand in.

    Shapes: features (N, F), dense or sparse, edge_features (E, _), nodes (B), label (B)
    """

    graph: Graph
    features: Tensor
    edge_features: Float[Tensor, "E _"] | None
    nodes: Int[Tensor, " B"]
    label: Int[Tensor, " B"]

    @property
    def tokens(self) -> int:
        """How many labels there are to write."""
        return len(self.label)
