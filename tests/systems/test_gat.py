"""Graph attention networks: layer upon layer, with ELU between them and nowhere else."""

import torch
from torch.nn import functional as F

from saccade.attention import Graph
from saccade.layers.nodes import NodeBatch
from saccade.systems.gat import Config, Model


def test_it_is_its_layers_with_elu_between_them() -> None:
    model = Model(Config(hidden=3, heads=2, output_heads=2, layers=3), features=5, labels=4).eval()
    features, edges = torch.randn(7, 5), torch.randint(0, 7, (2, 20))
    nodes = torch.tensor([6, 0, 3])
    first, second, third = model.layers
    expected = third(F.elu(second(F.elu(first(features, edges)), edges)), edges)[nodes]
    found = model(NodeBatch(Graph(edges, 7), features, None, nodes, nodes))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (found < 0).any()
