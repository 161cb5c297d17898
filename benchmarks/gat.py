"""Graph attention beside PyTorch Geometric (and DGL where it is installed).

python benchmarks/gat.py            training on a graph like Cora, and one layer on 100,000 nodes with 2,000,000 edges
python benchmarks/gat.py --quick    at most a minute: a tenth of the large graph, no compiled peer

The graph is drawn with Cora's sizes and its share of words, so that no data is needed. Ours gets the features as a sparse
tensor and the edges as a `Graph`, both made once; so does DGL its graph. Peers get what they take.
"""

import functools
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from kit import Report, Run, arguments, extra_megabytes, interleave
from torch import Tensor, nn

from saccade.attention import Graph
from saccade.layers.gat_conv import GATConv, drop_features

NODES, EDGES, WORDS, CLASSES, LEARNED, FULL = 2708, 5278, 1433, 7, 140, 0.0127
LARGE = (100_000, 2_000_000)
HEADS, WIDTH = 8, 8


def pyg() -> Any:
    """PyTorch Geometric's layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.nn

    return torch_geometric.nn


def dgl() -> Any:
    """DGL, or None; said in one line."""
    if importlib.util.find_spec("dgl") is None:
        print("DGL is not installed: left out")
        return None
    # Its sampler is built for older versions of torch than the rest of it, and layers do not use it.
    sys.modules.setdefault("dgl.graphbolt", types.ModuleType("dgl.graphbolt"))
    try:
        import dgl
        import dgl.nn.pytorch
    except Exception as error:  # it is built for one version of torch
        print(f"DGL cannot be imported ({type(error).__name__}): left out")
        return None
    return dgl


class Network(nn.Module):
    """The two layers of the paper, of either library's kind."""

    def __init__(self, kind: Any, edges: Any) -> None:
        super().__init__()
        self.first = kind(WORDS, WIDTH, heads=HEADS, dropout=0.6)
        self.second = kind(HEADS * WIDTH, CLASSES, heads=1, concat=False, dropout=0.6)
        self.edges = edges

    def forward(self, x: Tensor) -> Tensor:
        """Logits of all nodes."""
        hidden = F.elu(self.first(drop_features(x, 0.6, self.training), self.edges))
        logits: Tensor = self.second(F.dropout(hidden, 0.6, self.training), self.edges)
        return logits


def like_cora() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, edges, labels, and the nodes to learn from."""
    source = torch.randint(NODES, (EDGES,))
    target = (source + torch.randint(1, NODES, (EDGES,))) % NODES
    x = (torch.rand(NODES, WORDS) < FULL).float()
    edges = torch.stack((torch.cat((source, target)), torch.cat((target, source))))
    return x / x.sum(1, keepdim=True).clamp(min=1), edges, torch.randint(CLASSES, (NODES,)), torch.randperm(NODES)[:LEARNED]


def epoch(model: nn.Module, called: Callable[[Tensor], Tensor], x: Tensor, labels: Tensor, learned: Tensor) -> Run:
    """One update, as in the paper."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4, fused=True)

    def once() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(called(x)[learned], labels[learned]).backward()
        optimizer.step()

    return once


def training(report: Report, quick: bool) -> None:
    """An epoch, and what it takes of memory."""
    x, edges, labels, learned = like_cora()
    ours, theirs = Network(GATConv, Graph(edges, NODES)), Network(pyg().GATConv, edges)
    runs = {"ours": epoch(ours, ours, x.to_sparse(), labels, learned), "pyg": epoch(theirs, theirs, x, labels, learned)}
    if not quick:
        again = Network(pyg().GATConv, edges)
        runs["pyg compiled"] = epoch(again, torch.compile(again, dynamic=False), x, labels, learned)
    report.case("epoch on a graph like Cora", interleave(runs, 3 if quick else 9, 0.3))
    memory(report, "epoch on a graph like Cora, memory", runs)


def memory(report: Report, case: str, runs: dict[str, Run]) -> None:
    """Extra memory of each, ours against all."""
    used = {name: extra_megabytes(run) for name, run in runs.items()}
    for peer in used:
        if peer != "ours":
            text = f"ours {used['ours']:.1f} MB, {peer} {used[peer]:.1f} MB"
            report.value(case, peer, used[peer] / max(used["ours"], 0.1), text)


def large(report: Report, quick: bool) -> None:
    """One layer, forward, and with the gradient of features and weights."""
    nodes, count = (size // 10 for size in LARGE) if quick else LARGE
    edges, x = torch.randint(nodes, (2, count)), torch.randn(nodes, 64, requires_grad=True)
    graph, pull = Graph(edges, nodes), torch.randn(nodes, HEADS * WIDTH)
    ours = GATConv(64, WIDTH, HEADS, add_self_loops=False)
    theirs = pyg().GATConv(64, WIDTH, HEADS, add_self_loops=False)
    layers: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        "ours": (ours, lambda: ours(x, graph)),
        "pyg": (theirs, lambda: theirs(x, edges)),
    }
    if (library := dgl()) is not None:
        drawn = library.graph((edges[0], edges[1]), num_nodes=nodes)
        other = library.nn.pytorch.GATConv(64, WIDTH, HEADS, allow_zero_in_degree=True)
        layers["dgl"] = (other, lambda: other(drawn, x).flatten(1))
    name = f"{nodes:,} nodes, {count:,} edges"
    forwards: dict[str, Run] = {peer: functools.partial(without_gradient, run) for peer, (_, run) in layers.items()}
    backwards: dict[str, Run] = {
        peer: functools.partial(with_gradient, run, [x, *layer.parameters()], pull) for peer, (layer, run) in layers.items()
    }
    for case, runs in ((f"{name}, forward", forwards), (f"{name}, backward", backwards)):
        report.case(case, interleave(runs, 3 if quick else 7, 0.1))
        memory(report, f"{case}, memory", runs)


def without_gradient(run: Callable[[], Tensor]) -> None:
    """Forward."""
    with torch.no_grad():
        run()


def with_gradient(run: Callable[[], Tensor], inputs: list[Tensor], pull: Tensor) -> None:
    """Forward and backward."""
    torch.autograd.grad(run(), inputs, pull)


def main() -> None:
    options = arguments("Graph attention beside PyTorch Geometric and DGL.")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    report = Report()
    training(report, options.quick)
    large(report, options.quick)
    report.close(options.json)


if __name__ == "__main__":
    main()
