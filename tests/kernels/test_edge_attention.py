"""Attention along edges in one kernel: equal to its definition, gradients and dropout included, on any graph."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels import dropout_masks, edge_attention, kernels_on
from saccade.kernels.edge_lists import TASKS, Graph
from saccade.kernels.sparse_products import sparse_times

needs_kernels = pytest.mark.skipif(not kernels_on(), reason="kernels are off")
# Nodes, sources, edges, heads, width: none, few, widths that fill vectors and that do not.
SIZES = [
    (1, 1, 1, 1, 1),
    (5, 5, 0, 2, 3),
    (7, 4, 30, 1, 7),
    (40, 40, 300, 8, 8),
    (90, 130, 700, 3, 17),
    (200, 200, 90, 2, 16),
]


def made(nodes: int, sources: int, edges: int, heads: int, width: int, offset: bool) -> tuple[list[Tensor], Graph]:
    """Query, key, value and perhaps offset; the graph has doubles, self loops and nodes without edges."""
    sizes = [(nodes, heads), (sources, heads), (sources, heads, width)] + [(edges, heads)] * offset
    edge_index = torch.stack((torch.randint(sources, (edges,)), torch.randint(nodes, (edges,))))
    return [torch.randn(size) for size in sizes], Graph(edge_index, nodes, sources)


def outcome(tensors: list[Tensor], drawn: Graph, pull: Tensor, kept: Tensor | None, dtype: torch.dtype) -> list[Tensor]:
    """The context and all gradients, through the operator."""
    leaves = [tensor.to(dtype).requires_grad_() for tensor in tensors]
    given = (*leaves, None) if len(leaves) == 3 else leaves
    context = torch.ops.saccade.pool_edges(*given, kept, 0.2, 1.0 if kept is None else 2.5, *drawn.sorted)[0]
    return [context.detach(), *torch.autograd.grad(context, leaves, pull.to(dtype))]


def assert_close(found: list[Tensor], wanted: list[Tensor]) -> None:
    for one, other in zip(found, wanted, strict=True):
        scale = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        torch.testing.assert_close(one.double(), other, atol=1e-5 * scale, rtol=1e-5)


@needs_kernels
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_kernel_is_its_definition(sizes: tuple[int, int, int, int, int], offset: bool, dropped: bool, threads: int) -> None:
    tensors, drawn = made(*sizes, offset)
    pull = torch.randn(sizes[0], sizes[3], sizes[4])
    kept = dropout_masks.kept(sizes[2], sizes[3], 0.6) if dropped else None
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = outcome(tensors, drawn, pull, kept, torch.float32)
    finally:
        torch.set_num_threads(before)
    assert_close(found, outcome(tensors, drawn, pull, kept, torch.float64))


@needs_kernels
def test_large_scores_do_not_overflow() -> None:
    (query, key, value), drawn = made(20, 20, 200, 2, 8, False)
    tensors = [300 * query, 300 * key, value]
    pull = torch.randn(20, 2, 8)
    found = outcome(tensors, drawn, pull, None, torch.float32)
    assert all(tensor.isfinite().all() for tensor in found)
    # Scores of some hundreds have four digits behind the point in float32, and so have the weights.
    torch.testing.assert_close(
        found[0].double(), outcome(tensors, drawn, pull, None, torch.float64)[0], atol=1e-3, rtol=1e-3
    )


def test_definition_has_the_derivative_as_gradient() -> None:
    tensors, drawn = made(6, 5, 20, 2, 3, True)
    leaves = [tensor.double().requires_grad_() for tensor in tensors]
    kept = dropout_masks.kept(20, 2, 0.3)

    def context(*given: Tensor) -> Tensor:
        pooled: Tensor = torch.ops.saccade.pool_edges(*given, kept, 0.2, 1.4, *drawn.sorted)[0]
        return pooled

    assert torch.autograd.gradcheck(context, leaves)


def test_without_kernels_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, drawn = made(30, 30, 150, 2, 8, True)
    pull = torch.randn(30, 2, 8)
    fast = outcome(tensors, drawn, pull, None, torch.float32)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    assert_close(outcome(tensors, drawn, pull, None, torch.float32), [tensor.double() for tensor in fast])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [False, True])
def test_it_is_a_proper_operator(offset: bool, dtype: torch.dtype) -> None:
    tensors, drawn = made(6, 6, 25, 2, 8, offset)
    leaves = [tensor.to(dtype).requires_grad_() for tensor in tensors]
    given = (*leaves, *([] if offset else [None]), None, 0.2, 1.0, *drawn.sorted)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static")
    torch.library.opcheck(torch.ops.saccade.pool_edges.default, given, test_utils=tests, rtol=1e-4, atol=1e-4)


def test_compiled_models_see_an_operator() -> None:
    (query, key, value), drawn = made(9, 9, 40, 2, 8, False)
    _ = drawn.sorted
    compiled = torch.compile(
        lambda q, k, v: edge_attention.pool_edges(q, k, v, drawn, slope=0.2), fullgraph=True, backend="eager"
    )
    torch.testing.assert_close(compiled(query, key, value), edge_attention.pool_edges(query, key, value, drawn, slope=0.2))


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.6, 0.999, 1.0])
def test_chances_are_fair_and_repeatable(dropout: float) -> None:
    torch.manual_seed(3)
    one = dropout_masks.kept(997, 101, dropout)
    torch.manual_seed(3)
    assert torch.equal(one, dropout_masks.kept(997, 101, dropout))
    assert one.double().mean().item() == pytest.approx(1 - dropout, abs=0.006)
    assert one.double().mean(0).std() < 0.03


def test_dropout_is_the_mean_of_what_is_kept() -> None:
    (query, key, value), drawn = made(4, 4, 12, 2, 8, False)
    plain = edge_attention.pool_edges(query, key, value, drawn, slope=0.2)
    many = torch.stack([edge_attention.pool_edges(query, key, value, drawn, slope=0.2, dropout=0.3) for _ in range(3000)])
    torch.testing.assert_close(many.mean(0), plain, atol=0.12, rtol=0)
    assert not torch.equal(many[0], many[1])
    assert edge_attention.pool_edges(query, key, value, drawn, slope=0.2, dropout=1.0).eq(0).all()


@pytest.mark.parametrize(("nodes", "edges"), [(1, 0), (3, 5), (500, 40), (50, 4000)])
def test_stretches_hold_every_node_once_and_share_the_work(nodes: int, edges: int) -> None:
    target = torch.randint(nodes, (edges,))
    order = Graph(torch.stack((target, target)), nodes).sorted
    blocks = order.blocks.tolist()
    assert blocks[0] == 0
    assert blocks[-1] == nodes
    assert blocks == sorted(blocks)
    assert len(blocks) <= TASKS + 1
    most = int(target.bincount(minlength=nodes).max()) + 1 if edges else 1
    work = [int(order.starts[high] - order.starts[low]) + high - low for low, high in pairwise(blocks)]
    assert max(work) <= (nodes + edges) / (len(blocks) - 1) + most


def test_orders_agree() -> None:
    edge_index = torch.stack((torch.randint(30, (200,)), torch.randint(20, (200,))))
    order = Graph(edge_index, 20, 30).sorted
    by_target = edge_index[:, order.order]
    assert torch.equal(by_target[1], edge_index[1].sort().values)
    assert torch.equal(by_target[0], order.source.long())
    by_source = by_target[:, order.slots.long()]
    assert torch.equal(by_source[0], edge_index[0].sort().values)
    assert torch.equal(by_source[1], order.target.long())
    assert torch.equal(order.slots[order.places.long()], torch.arange(200, dtype=torch.int32))


@pytest.mark.parametrize("edges", [[[0, 1], [0, 7]], [[-1], [0]], [[3], [0]]])
def test_edges_outside_the_graph_are_refused(edges: list[list[int]]) -> None:
    with pytest.raises(ShapeError, match="edges name sources"):
        Graph(torch.tensor(edges), 3)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("rows", "columns", "width"), [(1, 1, 1), (30, 50, 80), (9, 20, 7), (5, 0, 4)])
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_a_product_with_a_sparse_matrix(rows: int, columns: int, width: int, threads: int, layout: torch.layout) -> None:
    dense = torch.randn(rows, columns) * (torch.rand(rows, columns) < 0.2)
    matrix = dense.to_sparse() if layout == torch.sparse_coo else dense.to_sparse_csr()
    table = torch.randn(columns, width, requires_grad=True)
    pull = torch.randn(rows, width)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = sparse_times(matrix, table)
        (grad,) = torch.autograd.grad(found, table, pull)
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(found, dense @ table, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(grad, dense.T @ pull, atol=1e-5, rtol=1e-5)


def test_a_sparse_matrix_that_learns_has_its_gradient() -> None:
    dense = torch.randn(6, 8, dtype=torch.float64) * (torch.rand(6, 8) < 0.4)
    matrix, table = dense.to_sparse().requires_grad_(), torch.randn(8, 3, dtype=torch.float64)
    (grad,) = torch.autograd.grad(sparse_times(matrix, table).sum(), matrix)
    torch.testing.assert_close(grad.to_dense(), (torch.ones(6, 3).double() @ table.T) * (dense != 0))
