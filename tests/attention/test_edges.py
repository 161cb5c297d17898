"""Weights along edges and what is told of them, against plain loops; of no nodes and no edges; and in half precision."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from saccade.attention import (
    NORMALIZERS,
    SCORES,
    Additive,
    Graph,
    Mask,
    attend_edges,
    bags,
    causal,
    make_score,
    window,
)
from saccade.layers.gat_conv import GATConv
from saccade.layers.pooling import bag_means, bag_sums
from tests.second_device import on_cpu, on_device, second_device

Numbers = NDArray[np.float64]
H, N, D, E = 2, 7, 4, 25
HALF = [torch.bfloat16, torch.float16]
COUNT = 1000


def drawn() -> torch.Tensor:
    """Edges in no order, some twice; nothing leads to the last two nodes, and two nodes have a loop."""
    edges = torch.stack((torch.randint(0, N, (E - 2,)), torch.randint(0, N - 2, (E - 2,))))
    return torch.cat((edges, torch.tensor([[1, 3], [1, 3]])), 1)[:, torch.randperm(E)]


def normalized(name: str, scores: list[float]) -> list[float]:
    """Weights of the edges into one node."""
    if name == "none":
        return scores
    if name == "sparsemax":
        for count in range(len(scores), 0, -1):  # the largest support whose members all stay above the threshold
            best = sorted(scores, reverse=True)[:count]
            if best[-1] > (threshold := (sum(best) - 1) / count):
                return [max(0.0, score - threshold) for score in scores]
        return []
    positive = [max(0.0, score) if name == "kernel" else math.exp(score) for score in scores]
    return [number / sum(positive) if sum(positive) else 0.0 for number in positive]


def expected(pairs: list[tuple[int, int]], mask: str, normalizer: str, query: Numbers, key: Numbers) -> Numbers:
    """Weights of (source, target) pairs, (H, E), by scaled products."""
    rules: dict[str, Callable[[int, int], bool]] = {
        "none": lambda s, t: True,
        "causal": lambda s, t: s <= t,
        "window": lambda s, t: abs(s - t) <= 1,
    }
    weights = np.zeros((H, len(pairs)))
    for h, node in np.ndindex(H, N):
        into = [i for i, (source, target) in enumerate(pairs) if target == node and rules[mask](source, target)]
        scores = [sum(query[h, node] * key[h, pairs[i][0]]) / math.sqrt(D) for i in into]
        for i, weight in zip(into, normalized(normalizer, scores), strict=True):
            weights[h, i] = weight
    return weights


MASKS: dict[str, Mask | None] = {"none": None, "causal": causal(), "window": window(1)}


@pytest.mark.parametrize("loops", [False, True], ids=["listed", "loops"])
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax", "kernel", "none"])
@pytest.mark.parametrize("mask", MASKS)
def test_summaries_are_those_of_plain_loops(mask: str, normalizer: str, loops: bool) -> None:
    edges = drawn()
    query, key, value = (torch.randn(H, N, D, dtype=torch.float64) for _ in range(3))
    graph = Graph(edges, N).looped if loops else edges
    look = attend_edges(query, key, value, graph, mask=MASKS[mask], normalize=normalizer)
    listed: list[tuple[int, int]] = list(zip(*edges.tolist(), strict=True))
    proper = [i for i, (source, target) in enumerate(listed) if not loops or source != target]
    pairs = [listed[i] for i in proper] + [(node, node) for node in range(N)] * loops
    wanted = expected(pairs, mask, normalizer, query.numpy(), key.numpy())
    told = np.zeros((H, E))
    told[:, proper] = wanted[:, : len(proper)]
    np.testing.assert_allclose(look.weights().numpy(), told, atol=1e-10)
    np.testing.assert_allclose(look.loops().numpy(), wanted[:, len(proper) :] if loops else np.zeros((H, N)), atol=1e-10)
    context, mass, entropy = np.zeros((H, N, D)), np.zeros((H, N)), np.zeros((H, N))
    for h, i in np.ndindex(*wanted.shape):
        (source, target), weight = pairs[i], wanted[h, i]
        context[h, target] += weight * value.numpy()[h, source]
        mass[h, source] += weight
        entropy[h, target] -= weight * math.log(weight) if weight > 0 else 0.0
    np.testing.assert_allclose(look.context.numpy(), context, atol=1e-10)
    np.testing.assert_allclose(look.mass().numpy(), mass, atol=1e-10)
    if normalizer != "none":  # a weight below zero has no entropy
        np.testing.assert_allclose(look.entropy().numpy(), entropy, atol=1e-10)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize(("targets", "sources"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_no_nodes_and_no_edges(targets: int, sources: int, normalizer: str, mask: str) -> None:
    edges = torch.zeros(2, 0, dtype=torch.int64)
    for name in SCORES:
        score = make_score(name, query_width=D, key_width=D, keys=max(1, sources))
        given = [torch.randn(H, n, w).requires_grad_() for n, w in ((targets, D), (sources, D), (sources, 3))]
        look = attend_edges(given[0], given[1], given[2], edges, score=score, mask=MASKS[mask], normalize=normalizer)
        told = {look.context: (targets, 3), look.entropy(): (targets,), look.loops(): (targets,), look.mass(): (sources,)}
        for found, size in {**told, look.weights(): (0,)}.items():
            assert found.shape == (H, *size)
            assert found.eq(0).all()
        if look.normalize.draws:
            assert torch.equal(look.log_prob(), torch.zeros(H, targets))
        look.context.sum().backward()
        assert all(part.grad is None or part.grad.eq(0).all() for part in given)


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


def test_nan_behind_a_closed_edge_stays_there() -> None:
    x, edges = torch.randn(4, 3), torch.tensor([[0, 3, 3, 2], [1, 1, 3, 2]])
    spoiled = x.clone()
    spoiled[3] = torch.nan
    looked = attend_edges(x, spoiled, spoiled, edges, mask=causal())
    assert looked.context.isnan().any(-1).tolist() == [False, False, False, True]
    torch.testing.assert_close(looked.context[:3], attend_edges(x, x, x, edges, mask=causal()).context[:3])


def test_bags_on_an_accelerator_are_not_counted_by_the_host() -> None:
    sizes = torch.tensor([3, 0, 2])
    with second_device(synchronize=False):
        found = bags(on_device(sizes), 5)
    assert torch.equal(on_cpu(found), bags(sizes))
