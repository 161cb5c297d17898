"""Graph attention: each node looks at its neighbors (Veličković et al. 2018).

The layer is the operator on edges with the score `LeakyConcat`; where it looked is recorded by `saccade.attention.looking`.
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Graph, LeakyConcat, Prepared, attend_edges
from saccade.attention.operator import check_dropout
from saccade.attention.quarantine import clean
from saccade.errors import ShapeError, UnknownName
from saccade.kernels import dropout_masks
from saccade.kernels.edge_lists import as_graph
from saccade.kernels.sparse_products import sparse_times

# How the features of a self loop come from those of the edges into its node.
FILLS = {"mean": "mean", "add": "sum", "min": "amin", "max": "amax", "mul": "prod"}


def drop_features(x: Tensor, dropout: float, training: bool = True) -> Tensor:
    """Dropout of a dense or a sparse (N, F): zeros stay zeros either way, so of a sparse one only the entries are drawn."""
    check_dropout(dropout)
    if x.layout == torch.strided or not training or dropout == 0:
        return F.dropout(x, dropout, training)
    x = x if x.layout == torch.sparse_coo else x.to_sparse_coo()
    stays = dropout_masks.kept(1, x._nnz(), dropout, x.device)[0]
    values = x._values() * stays * dropout_masks.rounded(dropout)[1]
    return torch.sparse_coo_tensor(x._indices(), values, x.shape, is_coalesced=x.is_coalesced(), check_invariants=False)


class GATConv(nn.Module):
    """Graph attention with the arguments of PyTorch Geometric's layer of this name.

    Row 0 of `edge_index` are sources, row 1 targets. A `Graph` in its place is sorted once for all layers and steps. With
    `add_self_loops` every node gets one self loop, in place of those that are listed; its features are made by `fill_value`
    of those of the edges into the node. A node that nothing leads to gives zeros, plus the bias. Features of nodes may be
    a sparse tensor. `looking` keeps the weights of the edges as they are listed, and of the added loops apart (`loops()`).
    `dropout` strikes out weights; `value_dropout`, which PyTorch Geometric does not have and the authors' code does, numbers
    of what a node gives to others, not of what it is scored by.

    Shapes: x (N, in), edge_index (2, E), edge_attr (E, edge_dim) -> (N, heads · out), or (N, out) without concat
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        *,
        value_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_dropout(dropout)
        check_dropout(value_dropout)
        if isinstance(fill_value, str) and fill_value not in FILLS:
            raise UnknownName("fill_value", fill_value, FILLS)
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.concat, self.add_self_loops, self.fill_value = concat, add_self_loops, fill_value
        self.dropout, self.value_dropout = dropout, value_dropout
        self.weight = _glorot(heads * out_channels, in_channels)
        self.score = LeakyConcat(out_channels, out_channels, heads, negative_slope)
        self.edge_weight = None if edge_dim is None else _glorot(heads * out_channels, edge_dim)
        self.edge_vector = None if edge_dim is None else _glorot(heads, out_channels)
        self.bias = nn.Parameter(torch.zeros(heads * out_channels if concat else out_channels)) if bias else None

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"

    def forward(
        self,
        x: Float[Tensor, "N _"],
        edge_index: Int[Tensor, "2 E"] | Graph,
        edge_attr: Float[Tensor, "E _"] | Float[Tensor, " E"] | None = None,
    ) -> Float[Tensor, "N _"]:
        """Features of all nodes, from their neighbors'."""
        graph = as_graph(edge_index, x.shape[0], x.shape[0])
        graph = graph.looped if self.add_self_loops else graph
        projected, spoiled = self._projected(x)
        value, key, query = projected.split((self.heads * self.out_channels, self.heads, self.heads), -1)
        if self.training and self.value_dropout:
            value = F.dropout(value, self.value_dropout)
        attended = attend_edges(
            Prepared(query.T[..., None], spoiled, self.score),
            Prepared(key.T[..., None], spoiled, self.score),
            value.unflatten(-1, (self.heads, self.out_channels)).transpose(0, 1),
            graph,
            score=self.score,
            offset=None if edge_attr is None else self._offset(edge_attr, graph),
            dropout=self.dropout if self.training else 0.0,
        )
        return self._joined(attended.context.transpose(0, 1))

    def _projected(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """W h of all heads and its two parts of the score, as one product, a'(W h) = (a'W) h; and rows not finite."""
        split = self.weight.view(self.heads, self.out_channels, -1)
        parts = [(vector.transpose(1, 2) @ split).squeeze(1) for vector in (self.score.key_vector, self.score.query_vector)]
        table = torch.cat((self.weight, *parts))
        if x.layout != torch.strided:
            values = x._values() if x.layout == torch.sparse_coo else x.values()
            if math.isfinite(values.detach().sum()):
                return sparse_times(x, table.T), None
            x = x.to_dense()
        x, spoiled = clean(x)
        return F.linear(x, table), spoiled

    def _offset(self, features: Tensor, graph: Graph) -> Tensor:
        """a'(W e) of every edge and head, (H, E)."""
        if self.edge_weight is None or self.edge_vector is None:
            raise ShapeError(
                "edge_attr was given to a layer without edge_dim; make it with edge_dim=, or leave edge_attr out"
            )
        features = features[:, None] if features.dim() == 1 else features
        wanted = (graph.listed.shape[1], self.edge_weight.shape[1])
        if features.shape != wanted:
            raise ShapeError(f"edge_attr must be (edges, edge_dim) = {wanted}, got {tuple(features.shape)}")
        if graph.loops:
            features = features if graph.kept is None else features[graph.kept]
            features = torch.cat((features, self._loop_features(features, graph)))
        split = self.edge_weight.view(self.heads, self.out_channels, -1)
        return (self.edge_vector[:, None] @ split).squeeze(1) @ features.T

    def _loop_features(self, features: Tensor, graph: Graph) -> Tensor:
        """Features of the self loop of each node; zeros of "mean" where nothing leads to it."""
        empty = features.new_zeros(graph.nodes, features.shape[1])
        if not isinstance(self.fill_value, str):
            return empty + self.fill_value
        target = graph.edge_index[1, : len(features), None].expand_as(features)
        return empty.scatter_reduce(0, target, features, FILLS[self.fill_value], include_self=False)

    def _joined(self, context: Float[Tensor, "N H C"]) -> Tensor:
        """All heads side by side, or their mean."""
        if self.concat or self.heads == 1:
            output = context.flatten(1)
        else:
            output = context.mean(1)
        return output if self.bias is None else output + self.bias

    @classmethod
    def from_pyg(cls, module: Any) -> "GATConv":
        """The same layer with the same weights as a `torch_geometric.nn.GATConv` between nodes of one kind."""
        if not isinstance(module.in_channels, int) or getattr(module, "residual", False):
            raise ShapeError("only a GATConv with one in_channels and no residual has a counterpart here")
        names = ["in_channels", "out_channels", "heads", "concat", "negative_slope", "dropout", "add_self_loops"]
        names += ["edge_dim", "fill_value"]
        layer = cls(**{name: getattr(module, name) for name in names}, bias=module.bias is not None).to(module.lin.weight)
        pairs = [(layer.weight, module.lin.weight), (layer.bias, module.bias)]
        pairs += [(layer.score.key_vector, module.att_src), (layer.score.query_vector, module.att_dst)]
        if module.edge_dim is not None:
            pairs += [(layer.edge_weight, module.lin_edge.weight), (layer.edge_vector, module.att_edge)]
        with torch.no_grad():
            for ours, theirs in pairs:
                if ours is not None:
                    ours.copy_(theirs.view_as(ours))
        return layer.train(module.training)


def _glorot(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))
