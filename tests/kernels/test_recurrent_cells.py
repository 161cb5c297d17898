"""Recurrent cells equal their plain definition and torch's own, and compiled code is the same fresh or from the cache."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from saccade.kernels.recurrent_cells import CELLS, RecurrentCell, sequence, step

names = st.sampled_from(sorted(CELLS))
some_sizes = st.tuples(st.integers(1, 5), st.sampled_from([1, 2, 7, 8, 16, 33]))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def drawn(*sizes: tuple[int, ...], scale: float = 1.0) -> list[Tensor]:
    return [scale * torch.randn(size) for size in sizes]


def of_step(cell: RecurrentCell, B: int, H: int, scale: float = 1.0) -> list[Tensor]:
    """What the input says, what the state says, and the state."""
    return drawn((B, cell.gates * H), (B, cell.gates * H), (B, cell.parts * H), scale=scale)


def of_sequence(cell: RecurrentCell, T: int, B: int, H: int) -> list[Tensor]:
    """Inputs, start, weight and bias."""
    G = cell.gates * H
    return drawn((T, B, G), (B, cell.parts * H), (G, H), (G,), scale=0.7)


def assert_close(ours: list[Tensor], theirs: list[Tensor], tolerance: float = 1e-5) -> None:
    for one, other in zip(ours, theirs, strict=True):
        scale = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        torch.testing.assert_close(one.double(), other.double(), atol=tolerance * scale, rtol=tolerance)


@settings(max_examples=60)
@given(names, some_sizes, st.sampled_from([0.1, 1.0, 10.0]))
def test_a_step_is_its_definition(name: str, sizes: tuple[int, int], scale: float) -> None:
    cell = CELLS[name]
    inputs = of_step(cell, *sizes, scale)
    found = []
    for tensors in (inputs, [tensor.double() for tensor in inputs]):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        out = step(cell, *leaves) if leaves[0].dtype == torch.float32 else cell.definition(*leaves)
        pull = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        found.append([out.detach(), *torch.autograd.grad(out, leaves, pull)])
    assert_close(found[0], found[1])


@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_step_is_torchs_own(name: str) -> None:
    cell, (B, D, H) = CELLS[name], (4, 5, 6)
    torch_cell = nn.GRUCell(D, H) if name == "gru" else nn.LSTMCell(D, H)
    x, state = drawn((B, D), (B, cell.parts * H))
    weights = list(torch_cell.parameters())
    input_weight, state_weight, input_bias, state_bias = weights
    leaves = [tensor.requires_grad_() for tensor in (x, state)] + weights
    hidden = state[:, :H]
    ours = step(cell, x @ input_weight.T + input_bias, hidden @ state_weight.T + state_bias, state)
    if isinstance(torch_cell, nn.GRUCell):
        theirs = torch_cell(x, state)
    else:
        theirs = torch.cat(torch_cell(x, (hidden, state[:, H:])), -1)
    (pull,) = drawn((B, cell.parts * H))
    assert_close(
        [ours.detach(), *torch.autograd.grad(ours, leaves, pull)],
        [theirs.detach(), *torch.autograd.grad(theirs, leaves, pull)],
    )


def outcome(cell: RecurrentCell, tensors: list[Tensor], live: Tensor, backward: bool) -> list[Tensor]:
    """The states and all gradients of a sequence."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    x, start, weight, bias = leaves
    states = sequence(cell, x, start, weight, bias, live, backward=backward)
    pull = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view_as(states)
    return [states.detach(), *torch.autograd.grad(states, leaves, pull)]


@settings(max_examples=60)
@given(names, st.integers(1, 6), some_sizes, st.booleans(), st.data())
def test_a_sequence_is_its_definition(
    name: str, T: int, sizes: tuple[int, int], backward: bool, data: st.DataObject
) -> None:
    """Whatever is live: kernels on, kernels off, and in double precision."""
    cell, B = CELLS[name], sizes[0]
    live = torch.tensor(data.draw(st.lists(st.lists(st.booleans(), min_size=B, max_size=B), min_size=T, max_size=T)))
    tensors = of_sequence(cell, T, *sizes)
    fast = outcome(cell, tensors, live, backward)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SACCADE_KERNELS", "off")
        assert_close(fast, outcome(cell, tensors, live, backward))
    assert_close(fast, outcome(cell, [tensor.double() for tensor in tensors], live, backward))


@pytest.mark.parametrize("kernels", ["on", "off"])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", sorted(CELLS))
def test_a_row_that_is_not_live_keeps_its_state(
    name: str, backward: bool, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    cell, (T, B, H) = CELLS[name], (5, 3, 4)
    x, start, weight, bias = of_sequence(cell, T, B, H)
    live = torch.tensor([[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]], dtype=torch.bool)
    states = sequence(cell, x, start, weight, bias, live, backward=backward)
    order = list(range(T))[:: -1 if backward else 1]
    for last, t in zip([None, *order], order, strict=False):
        before = start if last is None else states[last]
        assert torch.equal(states[t][~live[t]], before[~live[t]])
        assert (states[t][live[t]] != before[live[t]]).any(-1).all()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", sorted(CELLS))
def test_what_is_not_live_is_not_read(name: str, backward: bool) -> None:
    cell, (T, B, H) = CELLS[name], (4, 3, 5)
    tensors = of_sequence(cell, T, B, H)
    live = torch.arange(T)[:, None] < torch.tensor([4, 2, 1])
    clean = outcome(cell, tensors, live, backward)
    for garbage in (1e30, float("nan"), float("inf")):
        dirty = [tensors[0].masked_fill(~live[..., None], garbage), *tensors[1:]]
        found = outcome(cell, dirty, live, backward)
        assert all(torch.equal(one, other) for one, other in zip(found, clean, strict=True))
    assert clean[1][~live].eq(0).all()


@pytest.mark.parametrize("name", sorted(CELLS))
def test_views_are_taken_as_they_are(name: str) -> None:
    cell, (T, B, H) = CELLS[name], (3, 2, 4)
    tensors, live = of_sequence(cell, T, B, H), torch.ones(T, B, dtype=torch.bool)
    views = [torch.stack((tensor, tensor), -1)[..., 0] for tensor in tensors]
    assert not any(view.is_contiguous() for view in views)
    assert_close(outcome(cell, views, live, False), outcome(cell, tensors, live, False), 1e-6)
    x, a, state = of_step(cell, 3, 4)
    turned = [tensor.t().contiguous().t() for tensor in (x, a, state)]
    assert torch.equal(step(cell, *turned), step(cell, x, a, state))


@pytest.mark.parametrize("name", sorted(CELLS))
def test_inputs_are_left_alone(name: str) -> None:
    cell = CELLS[name]
    tensors = of_step(cell, 3, 4)
    before = [tensor.clone() for tensor in tensors]
    leaves = [tensor.requires_grad_() for tensor in tensors]
    out = step(cell, *leaves)
    pull = torch.ones_like(out)
    torch.autograd.grad(out, leaves, pull)
    assert all(torch.equal(one, other) for one, other in zip(leaves, before, strict=True))
    assert pull.eq(1).all()


@pytest.mark.parametrize("name", sorted(CELLS))
def test_nan_is_not_hidden(name: str) -> None:
    """The trainer refuses an update by it."""
    cell = CELLS[name]
    for spoiled in range(3):
        tensors = of_step(cell, 3, 9)
        tensors[spoiled][1] = float("nan")
        out = step(cell, *tensors)
        assert out[1, -9:].isnan().all()
        assert out[[0, 2]].isfinite().all()


@pytest.mark.parametrize("name", sorted(CELLS))
def test_large_numbers_saturate(name: str) -> None:
    cell = CELLS[name]
    x, a, state = of_step(cell, 3, 4)
    leaves = [(1e4 * x).requires_grad_(), (1e4 * a).requires_grad_(), state.requires_grad_()]
    out = step(cell, *leaves)
    assert_close([out.detach()], [cell.definition(*(leaf.detach().double() for leaf in leaves))])
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(out.sum(), leaves))


FINGERPRINTS = """
import hashlib, torch
torch.set_num_threads(1)
torch.manual_seed(0)
from saccade.attention import Additive, attend, lengths
from saccade.kernels import additive_scores, decoder_steps
from saccade.kernels.beams import pool_beams
from saccade.kernels.recurrent_cells import CELLS, sequence, step
from saccade.kernels.edge_attention import pool_edges
from saccade.kernels.heads import pool_heads
from saccade.kernels.edge_lists import Graph
from saccade.kernels.packed_weights import laid_out, rounded, times
from saccade.kernels.sparse_products import sparse_times
from saccade.layers.cross_entropy import linear_cross_entropy

def tell(name, out, leaves):
    tensors = [out, *(torch.autograd.grad(out, leaves, torch.randn(out.shape)) if leaves else [])]
    digest = hashlib.sha256(b"".join(tensor.detach().contiguous().numpy().tobytes() for tensor in tensors))
    print(name, digest.hexdigest())

def leaves(*sizes):
    return [torch.randn(size).requires_grad_() for size in sizes]

for name, cell in CELLS.items():
    for B, H in ((1, 5), (7, 33), (16, 64)):
        G = cell.gates * H
        given = leaves((B, G), (B, G), (B, cell.parts * H))
        tell(f"{name}-{H}-step", step(cell, *given), given)
        given = leaves((4, B, G), (B, cell.parts * H), (G, H), (G,))
        live = torch.arange(4)[:, None] < torch.randint(1, 5, (B,))
        for backward in (False, True):
            tell(f"{name}-{H}-{backward}", sequence(cell, *given, live, backward=backward), given)
for B, Q, K, D in ((1, 1, 3, 5), (3, 1, 9, 64), (2, 4, 7, 33)):
    given = leaves((B, Q, D), (B, K, D), (D,))
    tell(f"additive-{D}", additive_scores(*given), given)
    query, key = leaves((B, Q, D), (B, K, 2 * D))
    score = Additive(D, 2 * D)
    context = attend(query, key, key, score=score, mask=lengths(torch.randint(1, K + 1, (B,)))).context
    tell(f"pool-{D}", context, [query, key, *score.parameters()])
for N, D, V in ((3, 5, 7), (20, 16, 700)):
    given = leaves((N, D), (V, D), (V,))
    tell(f"cross-entropy-{V}", linear_cross_entropy(*given, torch.randint(0, V, (N,)), 0.1), given)
for name, cell in CELLS.items():
    T, B, K, H, C, D = 3, 5, 7, 16, 33, 20
    G = cell.gates * H
    given = leaves((T, B, G), (B, cell.parts * H), (B, K, D), (B, K, C), (D, H), (D,), (G, C), (G, H), (G,))
    live = torch.arange(K) < torch.randint(1, K + 1, (B, 1))
    weights = decoder_steps.DecoderWeights(*given[4:])
    tell(f"decoder-{name}", decoder_steps.decode(cell, *given[:4], live, weights).states, given)
for N, M, heads, D in ((1, 1, 1, 5), (6, 2, 2, 64), (5, 5, 3, 33)):
    key, value = torch.randn(40, D), torch.randn(40, D)
    rows, counts = torch.randint(0, 40, (M, 9)).int(), torch.randint(1, 10, (M,)).int()
    tell(f"beams-{D}", pool_beams(torch.randn(N, D), key, value, rows, counts, heads, 0.3), [])
for N, I, O in ((1, 5, 7), (23, 64, 33)):
    x, weight, bias = torch.randn(N, I), torch.randn(O, I), torch.randn(O)
    tell(f"panels-{O}", times(x, laid_out(weight, bias)), [])
    tell(f"bytes-{O}", times(x, rounded(weight, bias)), [])
for T, D in ((3, 16), (21, 32)):
    given = leaves((2, 3, T, D), (2, 3, T, D), (2, 3, T, D))
    tell(f"heads-{T}", pool_heads(*given, 0.2, causal=T > 3, dropout=0.2), given)
for N, H, C in ((9, 1, 7), (50, 8, 8), (40, 3, 20)):
    given = leaves((N, H), (N, H), (N, H, C), (6 * N, H))
    edges = Graph(torch.randint(N, (2, 6 * N)), N)
    tell(f"graph-{C}", pool_edges(*given[:3], edges, slope=0.2, offset=given[3], dropout=0.5), given)
    tell(f"graph-{C}-plain", pool_edges(*given[:3], edges, slope=0.2), given[:3])
    table = leaves((2 * N, C))
    tell(f"sparse-{C}", sparse_times(torch.randn(N, 2 * N).relu().to_sparse(), *table), table)
"""


@pytest.mark.long
def test_code_from_the_cache_is_the_code_that_was_compiled(tmp_path: Path) -> None:
    """Numba runs what it has just compiled and stores what it generates once more: they must agree to the last bit.

    It is what exact resuming stands on: the first sitting of a run may compile, the second one loads.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def told() -> dict[str, str]:
        done = subprocess.run([sys.executable, "-c", FINGERPRINTS], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return dict(line.split() for line in done.stdout.splitlines())

    compiled = told()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert len(kept) >= 6
    loaded = told()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == kept
    assert len(compiled) == 46
    assert loaded == compiled
