"""Edges in half precision: sums over many edges are those of float32, rounded once."""

import pytest
import torch

from saccade.attention import Additive, attend_edges, bags
from saccade.layers.graph import GATConv
from saccade.layers.pooling import bag_means, bag_sums

HALF = [torch.bfloat16, torch.float16]
COUNT = 1000


def close(found: torch.Tensor, exact: torch.Tensor) -> None:
    """Equal but for one rounding of the result, and of the inputs' products."""
    assert found.dtype in HALF
    torch.testing.assert_close(found.float(), exact, atol=2e-2 * float(exact.abs().max()), rtol=2e-2)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("normalize", ["softmax", "sparsemax", "entmax15"])
def test_weights_of_many_edges_sum_to_one(dtype: torch.dtype, normalize: str) -> None:
    torch.manual_seed(0)
    x, query = torch.rand(COUNT, 8).to(dtype), (0.1 * torch.randn(1, 8)).to(dtype)
    looked = attend_edges(query, x, x, bags(torch.tensor([COUNT])), normalize=normalize)
    exact = attend_edges(query.float(), x.float(), x.float(), bags(torch.tensor([COUNT])), normalize=normalize)
    assert float(looked.weights().float().sum()) == pytest.approx(1, abs=1e-2)
    assert float(looked.mass().float().sum()) == pytest.approx(1, abs=1e-2)
    close(looked.context, exact.context)
    close(looked.entropy(), exact.entropy())


@pytest.mark.parametrize("dtype", HALF)
def test_means_and_sums_of_large_bags(dtype: torch.dtype) -> None:
    x, sizes = torch.rand(2 * COUNT + 3, 4).to(dtype), torch.tensor([COUNT, 3, COUNT])
    close(bag_means(x, sizes), bag_means(x.float(), sizes))
    close(bag_sums(x, sizes), bag_sums(x.float(), sizes))


@pytest.mark.parametrize("dtype", HALF)
def test_a_hub_of_a_graph(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    edges = torch.stack((torch.arange(COUNT), torch.zeros(COUNT, dtype=torch.long)))
    x, layer = torch.randn(COUNT, 8).to(dtype), GATConv(8, 4, heads=2).to(dtype)
    wide = GATConv(8, 4, heads=2)
    wide.load_state_dict({name: value.float() for name, value in layer.state_dict().items()})
    close(layer(x, edges)[:1].detach(), wide(x.float(), edges)[:1].detach())
    score = Additive(8, 8)
    exact = attend_edges(x[:1].float(), x.float(), x.float(), edges[:, :], score=score).context.detach()
    close(attend_edges(x[:1], x, x, edges, score=score.to(dtype)).context.detach(), exact)
