"""Graph attention networks: layer upon layer, with ELU between them and nowhere else."""

import torch
from torch.nn import functional as F

from saccade.attention import Graph
from saccade.data.tensors import NodeInput
from saccade.systems.gat import Config, Model


def test_it_is_its_layers_with_elu_between_them() -> None:
    model = Model(Config(hidden_size=3, num_heads=2, num_output_heads=2, num_layers=3), features=5, labels=4).eval()
    features, edges = torch.randn(7, 5), torch.randint(0, 7, (2, 20))
    nodes = torch.tensor([6, 0, 3])
    first, second, third = model.layers
    expected = third(F.elu(second(F.elu(first(features, edges)), edges)), edges)[nodes]
    logits = model.logits(NodeInput(Graph(edges, 7), features, None, nodes))
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    assert (logits < 0).any()
