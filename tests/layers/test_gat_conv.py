"""Graph attention: equal to PyTorch Geometric's layer, its laws on graphs, and where it looked."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import AttendedEdges, Graph, LeakyConcat, allow, attend, attend_edges, looking
from saccade.errors import ShapeError, UnknownName
from saccade.layers.gat_conv import GATConv, drop_features

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # on import, of packages that it looks for
    torch_geometric_nn = pytest.importorskip("torch_geometric.nn")

NODES, EDGES = 24, 90
OPTIONS: list[dict[str, Any]] = [
    {},
    {"concat": False},
    {"heads": 1, "concat": False},
    {"add_self_loops": False},
    {"negative_slope": 0.01},
    {"edge_dim": 4},
    {"edge_dim": 4, "add_self_loops": False, "concat": False},
    {"edge_dim": 4, "fill_value": 0.5},
    {"edge_dim": 4, "fill_value": torch.tensor([0.1, 0.2, 0.3, 0.4])},
    {"edge_dim": 4, "fill_value": "add"},
    {"edge_dim": 4, "fill_value": "max"},
    {"edge_dim": 4, "fill_value": "min"},
    {"edge_dim": 4, "fill_value": "mul"},
]


def drawn() -> Tensor:
    """Edges with doubles and self loops; the last two nodes are isolated."""
    edges = torch.randint(NODES - 2, (2, EDGES - 15))
    loops = torch.arange(5).expand(2, -1)
    return torch.cat((edges, loops, edges[:, :10]), 1)[:, torch.randperm(EDGES)]


def pair(**options: Any) -> tuple[Any, GATConv]:
    """Theirs and ours with the same weights."""
    theirs = torch_geometric_nn.GATConv(12, 8, **{"heads": 3, **options})
    nn.init.normal_(theirs.bias)
    return theirs, GATConv.from_pyg(theirs)


def looked(layer: GATConv, *given: Any) -> AttendedEdges:
    with looking(layer) as looks:
        layer(*given)
    (look,) = looks[""]
    assert isinstance(look, AttendedEdges)
    return look


@pytest.mark.parametrize("kernels", ["on", "off"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_pygs_layer(options: dict[str, Any], kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    theirs, ours = pair(**options)
    edges, x = drawn(), torch.randn(NODES, 12, requires_grad=True)
    features = torch.randn(EDGES, 4, requires_grad=True) if "edge_dim" in options else None
    given = (x, edges) if features is None else (x, edges, features)
    wanted, found = theirs(*given), ours(*given)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    pull = torch.randn(wanted.shape)
    sides = [part for part in (x, features) if part is not None]
    weights = [theirs.lin.weight, theirs.att_src, theirs.att_dst, theirs.bias]
    own = [ours.weight, ours.score.key_vector, ours.score.query_vector, ours.bias]
    assert all(part is not None for part in own)
    for one, other in zip(
        torch.autograd.grad(found, [*sides, *(part for part in own if part is not None)], pull),
        torch.autograd.grad(wanted, [*sides, *weights], pull),
        strict=True,
    ):
        torch.testing.assert_close(one.view(-1), other.view(-1), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_dtype_and_device_are_those_of_pygs(dtype: torch.dtype, device: str) -> None:
    theirs = torch_geometric_nn.GATConv(12, 8, heads=3, edge_dim=4).to(device, dtype)
    ours = GATConv.from_pyg(theirs)
    assert all((part.dtype, part.device.type) == (dtype, device) for part in ours.parameters())
    if (dtype, device) == (torch.float64, "cpu"):
        given = (torch.randn(NODES, 12, dtype=dtype), drawn(), torch.randn(EDGES, 4, dtype=dtype))
        torch.testing.assert_close(ours(*given), theirs(*given))


def test_weights_are_pygs_in_the_order_of_the_list() -> None:
    theirs, ours = pair()
    edges, x = drawn(), torch.randn(NODES, 12)
    _, (told_edges, told) = theirs(x, edges, return_attention_weights=True)
    look = looked(ours, x, edges)
    proper = edges[0] != edges[1]
    assert torch.equal(told_edges[:, :-NODES], edges[:, proper])
    torch.testing.assert_close(look.weights()[:, proper], told[:-NODES].T)
    torch.testing.assert_close(look.loops(), told[-NODES:].T)
    assert look.weights()[:, ~proper].eq(0).all()
    assert torch.equal(look.edge_index, edges)


@pytest.mark.parametrize("loops", [True, False])
def test_weights_of_a_neighborhood_sum_to_one(loops: bool) -> None:
    layer = GATConv(12, 8, 3, add_self_loops=loops)
    edges = drawn()
    look = looked(layer, torch.randn(NODES, 12), edges)
    sums = torch.zeros(3, NODES).index_add(1, edges[1], look.weights()) + look.loops()
    empty = torch.bincount(edges[1], minlength=NODES) == 0
    assert empty[-2:].all()
    wanted = torch.ones(3, NODES) if loops else (~empty).float().expand(3, -1)
    torch.testing.assert_close(sums, wanted)
    torch.testing.assert_close(look.mass().sum(1), wanted.sum(1))
    assert (look.entropy()[:, empty] == 0).all()


def test_an_isolated_node_sees_itself_or_nothing() -> None:
    x, edges = torch.randn(NODES, 12), drawn()
    layer = GATConv(12, 8, 3)
    alone = x[-2:] @ layer.weight.T
    torch.testing.assert_close(layer(x, edges)[-2:], alone)
    assert looked(layer, x, edges).loops()[:, -2:].eq(1).all()
    without = GATConv(12, 8, 3, add_self_loops=False)
    x.requires_grad_()
    found = without(x, edges)
    assert found[-2:].eq(0).all()
    (grad,) = torch.autograd.grad(found.sum(), x)
    assert grad.isfinite().all()
    assert grad[-2:].eq(0).all()


@pytest.mark.parametrize("edges", [torch.zeros(2, 0, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64)])
def test_graphs_without_proper_edges(edges: Tensor) -> None:
    layer, x = GATConv(5, 4, 2), torch.randn(3, 5)
    torch.testing.assert_close(layer(x, edges), x @ layer.weight.T)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("edge_dim", [None, 3])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("nodes", [0, 4])
def test_graphs_without_nodes_or_edges(nodes: int, loops: bool, edge_dim: int | None, sparse: bool) -> None:
    edges = torch.zeros(2, 0, dtype=torch.int64)
    features = None if edge_dim is None else torch.randn(0, edge_dim)
    for concat in (True, False):
        layer = GATConv(5, 4, 2, concat, dropout=0.5, add_self_loops=loops, edge_dim=edge_dim, value_dropout=0.5).train()
        x = torch.randn(nodes, 5)
        found = layer(x.to_sparse() if sparse else x, edges, features)
        assert found.shape == (nodes, 8 if concat else 4)
        assert loops or found.eq(0).all()
        found.sum().backward()
        assert layer.weight.grad is not None
        assert layer.weight.grad.isfinite().all()
        assert (loops and nodes > 0) or layer.weight.grad.eq(0).all()


def test_order_of_nodes_and_of_edges_is_nothing() -> None:
    layer, x, edges = GATConv(12, 8, 3, edge_dim=2), torch.randn(NODES, 12), drawn()
    features = torch.randn(EDGES, 2)
    nodes, order = torch.randperm(NODES), torch.randperm(EDGES)
    moved = nodes.argsort()[edges]
    torch.testing.assert_close(layer(x[nodes], moved[:, order], features[order]), layer(x, edges, features)[nodes])


@pytest.mark.parametrize("kernels", ["on", "off"])
def test_on_edges_it_is_the_rectangle_with_a_mask(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    score = LeakyConcat(8, 8, heads=3)
    nodes = torch.randn(3, NODES, 8, requires_grad=True)
    seen = torch.rand(NODES, NODES) < 0.2
    sparse = attend_edges(nodes, nodes, nodes, seen.nonzero().T.flip(0), score=score)
    dense = attend(nodes, nodes, nodes, score=score, mask=allow(seen))
    torch.testing.assert_close(sparse.context, dense.context, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(sparse.weights(), dense.weights()[:, seen])
    pull = torch.randn(sparse.context.shape)
    (one,), (other,) = (torch.autograd.grad(look.context, nodes, pull) for look in (sparse, dense))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_gradient_is_the_derivative() -> None:
    layer = GATConv(4, 3, 2, edge_dim=2).double()
    x, features = torch.randn(7, 4, dtype=torch.float64), torch.randn(20, 2, dtype=torch.float64)
    edges = torch.randint(6, (2, 20))
    leaves = (x.requires_grad_(), features.requires_grad_(), *layer.parameters())

    def run(x: Tensor, features: Tensor, *parameters: Tensor) -> Tensor:
        output: Tensor = layer(x, edges, features)
        return output

    assert torch.autograd.gradcheck(run, leaves)


def test_the_network_of_the_paper_has_its_number_of_parameters() -> None:
    layers = (GATConv(1433, 8, heads=8), GATConv(64, 7, heads=1, concat=False))
    assert sum(parameter.numel() for layer in layers for parameter in layer.parameters()) == 92_373


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_graph_is_sorted_once_for_many_layers(dropout: float) -> None:
    layer, x, edges = GATConv(12, 8, 3, dropout=dropout), torch.randn(NODES, 12), drawn()
    graph = Graph(edges, NODES)
    outputs = []
    for given in (edges, graph, graph):
        torch.manual_seed(5)
        outputs.append(layer(x, given))
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])
    assert graph.looped is graph.looped
    assert graph.looped.sorted is graph.looped.sorted


def test_looking_changes_nothing_and_dropout_is_not_shown() -> None:
    layer, x, edges = GATConv(12, 8, 3, dropout=0.6), torch.randn(NODES, 12), drawn()
    torch.manual_seed(1)
    plain = layer(x, edges)
    with looking(layer) as looks:
        torch.manual_seed(1)
        seen = layer(x, edges)
        (look,) = looks[""]
        look.weights()
    assert torch.equal(plain, seen)
    torch.testing.assert_close(look.weights(), looked(layer.eval(), x, edges).weights())


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("kernels", ["on", "off"])
def test_sparse_features_give_the_same(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    layer, edges = GATConv(12, 8, 3), drawn()
    x = torch.randn(NODES, 12) * (torch.rand(NODES, 12) < 0.3)
    wanted = layer(x, edges)
    pull = torch.randn(wanted.shape)
    for given in (x.to_sparse(), x.to_sparse_csr()):
        found = layer(given, edges)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        for one, other in zip(
            torch.autograd.grad(found, list(layer.parameters()), pull, retain_graph=True),
            torch.autograd.grad(wanted, list(layer.parameters()), pull, retain_graph=True),
            strict=True,
        ):
            torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


def test_dropout_of_values_leaves_weights_alone() -> None:
    plain, x, edges = GATConv(12, 8, 3), torch.randn(NODES, 12), drawn()
    layer = GATConv(12, 8, 3, value_dropout=0.5)
    layer.load_state_dict(plain.state_dict())
    torch.testing.assert_close(looked(layer, x, edges).weights(), looked(plain, x, edges).weights())
    expected, draws = plain(x, edges), torch.stack([layer(x, edges) for _ in range(800)])
    assert not torch.allclose(draws[0], expected, atol=1e-2)
    torch.testing.assert_close(draws.mean(0), expected, atol=0.3, rtol=0.0)
    assert torch.equal(layer.eval()(x, edges), plain.eval()(x, edges))


def test_dropout_of_sparse_features_is_dropout() -> None:
    x = torch.ones(400, 50) * (torch.rand(400, 50) < 0.5)
    for given in (x, x.to_sparse()):
        dropped = drop_features(given, 0.6).to_dense()
        assert set(dropped.unique().tolist()) == {0.0, 2.5}
        assert dropped.sum() / x.sum() == pytest.approx(1, abs=0.1)
        assert dropped[x == 0].eq(0).all()
        assert torch.equal(drop_features(given, 0.6, training=False).to_dense(), x)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_not_finite_stays_with_those_who_see_it(sparse: bool) -> None:
    layer = GATConv(3, 8, 2)
    edges = torch.tensor([[0, 1, 3], [1, 2, 4]])
    x = torch.randn(5, 3)
    clean = layer(x, edges)
    x[0, 1] = float("nan")
    found = layer(x.to_sparse() if sparse else x, edges)
    assert found[:2].isnan().all()
    torch.testing.assert_close(found[2:], clean[2:])
    grads = torch.autograd.grad(found[2:].sum(), list(layer.parameters()))
    assert all(grad.isfinite().all() for grad in grads)


def test_mistakes_are_told() -> None:
    layer, x, edges = GATConv(12, 8, 3), torch.randn(NODES, 12), drawn()
    with pytest.raises(ShapeError, match="without edge_dim"):
        layer(x, edges, torch.randn(EDGES, 4))
    with pytest.raises(ShapeError, match=r"edge_attr must be \(edges, edge_dim\)"):
        GATConv(12, 8, edge_dim=4)(x, edges, torch.randn(EDGES, 3))
    with pytest.raises(ShapeError, match="the graph was made for"):
        layer(x, Graph(edges, NODES + 1))
    with pytest.raises(UnknownName, match="fill_value 'maen'; did you mean 'mean'"):
        GATConv(12, 8, fill_value="maen")
    with pytest.raises(ShapeError, match="does not read what edges say"):
        attend_edges(x, x, x, edges, offset=torch.zeros(EDGES))
    with pytest.raises(ShapeError, match="self loops need sources that are targets"):
        _ = Graph(edges, NODES, NODES + 3).looped
