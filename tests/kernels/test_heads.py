"""Attention of many heads in one kernel: equal to its definition, gradients included; dropout is fair and repeatable."""

import math

import pytest
import torch
from torch import Tensor

from saccade.kernels.heads import _drops, heads_on, pool_definition, pool_heads
from saccade.kernels.runtime import kernels_on

SIZES = [(1, 1, 1, 1, 16, 16), (2, 3, 5, 7, 16, 32), (3, 2, 17, 16, 32, 16), (2, 8, 16, 40, 32, 32), (1, 2, 33, 3, 64, 64)]

pytestmark = pytest.mark.skipif(not kernels_on(), reason="kernels are off")


def made(B: int, H: int, Q: int, K: int, D: int, V: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values with heads side by side, as a projection gives them."""
    query, key, value = (torch.randn(B, T, H, W).requires_grad_().transpose(1, 2) for T, W in ((Q, D), (K, D), (K, V)))
    return query, key, value


def masks(B: int, H: int, Q: int, K: int) -> list[Tensor | None]:
    lengths = torch.arange(K) < torch.randint(0, K + 1, (B, 1))
    return [None, lengths[:, None, None], torch.rand(B, 1, Q, K) > 0.4, torch.rand(B, H, Q, K) > 0.4, torch.rand(Q, K) > 0.4]


def compare(given: tuple[Tensor, Tensor, Tensor], allowed: Tensor | None, *, causal: bool = False) -> None:
    ours = pool_heads(*given, 0.3, allowed, causal=causal)
    query, key, value = (part.detach().double().requires_grad_() for part in given)
    exact = (query, key, value)
    theirs = pool_definition(*exact, 0.3, allowed, causal)
    torch.testing.assert_close(ours.double(), theirs, atol=1e-5, rtol=1e-5)
    pull = torch.randn(ours.shape)
    found = torch.autograd.grad(ours, given, pull)
    wanted = torch.autograd.grad(theirs, exact, pull.double())
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("threads", [1, 2])
def test_it_is_its_definition(sizes: tuple[int, int, int, int, int, int], kind: int, threads: int) -> None:
    given = made(*sizes)
    assert heads_on(*given)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compare(given, masks(*sizes[:4])[kind])
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("length", [1, 5, 16, 33])
def test_causal(length: int) -> None:
    compare(made(2, 3, length, length, 16, 32), None, causal=True)


def test_parts_of_one_projection() -> None:
    joint = torch.randn(2, 9, 3 * 64, requires_grad=True)
    query, key, value = (part.view(2, 9, 4, 16).transpose(1, 2) for part in joint.chunk(3, -1))
    compare((query, key, value), None)


def test_a_sample_alone_is_the_sample_in_a_batch_bit_for_bit() -> None:
    query, key, value = (part.detach() for part in made(5, 2, 7, 9, 16, 16))
    whole = pool_heads(query, key, value, 0.25)
    for b in range(5):
        one = slice(b, b + 1)
        assert torch.equal(pool_heads(query[one], key[one], value[one], 0.25), whole[one])


def test_nothing_open_gives_zeros_and_no_gradient() -> None:
    given = made(2, 2, 3, 4, 16, 16)
    context = pool_heads(*given, 0.25, torch.zeros(2, 1, 1, 4, dtype=torch.bool))
    assert torch.equal(context, torch.zeros(2, 2, 3, 16))
    assert all(torch.equal(grad, torch.zeros_like(grad)) for grad in torch.autograd.grad(context.sum(), given))


def test_dropout_strikes_out_its_share_and_keeps_the_mean() -> None:
    """Equal weights, and values that count: the context tells how many weights are left."""
    query, key, value = torch.zeros(8, 8, 64, 16), torch.zeros(8, 8, 64, 16), torch.ones(8, 8, 64, 16)
    torch.manual_seed(3)
    context = pool_heads(query, key, value, 1.0, dropout=0.25)[..., 0]
    left = context * 64 * 0.75
    torch.testing.assert_close(left, left.round(), atol=1e-3, rtol=0)
    mean, spread = left.mean() / 64, left.std() / 64
    assert abs(mean.item() - 0.75) < 0.005
    assert abs(spread.item() - (0.75 * 0.25 / 64) ** 0.5) < 0.005
    torch.manual_seed(3)
    assert torch.equal(pool_heads(query, key, value, 1.0, dropout=0.25)[..., 0], context)
    assert not torch.equal(pool_heads(query, key, value, 1.0, dropout=0.25)[..., 0], context)


def test_dropout_is_the_same_on_the_way_back() -> None:
    """The function is linear in the values for one seed, so its gradient must be the function itself."""
    query, key, value = made(2, 2, 5, 6, 16, 16)
    other = torch.randn(value.shape)
    torch.manual_seed(0)
    context = pool_heads(query, key, value, 0.5, dropout=0.4)
    torch.manual_seed(0)
    moved = pool_heads(query, key, other, 0.5, dropout=0.4)
    pull = torch.randn(context.shape)
    (grad,) = torch.autograd.grad(context, value, pull, retain_graph=True)
    torch.testing.assert_close((grad * other).sum(), (moved * pull).sum(), atol=1e-3, rtol=1e-4)
    # And numerically for the queries: a small step along the gradient.
    (slope,) = torch.autograd.grad(context, query, pull)
    with torch.no_grad():
        step = 1e-2 * slope / slope.norm()
        ends = []
        for sign in (1, -1):
            torch.manual_seed(0)
            ends.append((pool_heads(query + sign * step, key, value, 0.5, dropout=0.4) * pull).sum())
    torch.testing.assert_close((ends[0] - ends[1]) / 2e-2, slope.norm(), atol=1e-2, rtol=2e-2)


def test_what_it_does_not_take() -> None:
    query, key, value = (part.detach() for part in made(2, 2, 3, 4, 16, 16))
    assert not heads_on(query.double(), key.double(), value.double())
    assert not heads_on(query[..., :8], key[..., :8], value)
    assert not heads_on(query[0], key[0], value[0])
    assert not heads_on(query[:, :, :0], key, value)
    assert not heads_on(query.transpose(2, 3).contiguous().transpose(2, 3), key, value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 3e38, -3e38])
@pytest.mark.parametrize("side", ["query", "key", "value"])
@pytest.mark.parametrize("kind", ["open", "causal", "masked"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_what_is_not_finite_is_not_hidden(bad: float, side: str, kind: str, dropout: float) -> None:
    """One odd number in one head; the rest of the batch and of the heads stays as it was."""
    given = [part.detach().clone() for part in made(2, 2, 5, 5, 16, 16)]
    given[("query", "key", "value").index(side)][1, 0, 3, 7] = bad
    allowed = None if kind != "masked" else torch.ones(5, 5, dtype=torch.bool).tril()
    torch.manual_seed(0)
    drops = _drops(dropout)
    torch.manual_seed(0)
    query, key, value = ours = [part.clone().requires_grad_() for part in given]
    found = pool_heads(query, key, value, 0.3, allowed, causal=kind == "causal", dropout=dropout)
    query, key, value = theirs = [part.clone().requires_grad_() for part in given]
    expected = pool_definition(query, key, value, 0.3, allowed, kind == "causal", drops)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, equal_nan=True)
    assert bool(found[0].isfinite().all())
    if math.isnan(bad) and side != "value":
        assert not found[1, 0, 3].isfinite().any()
    if kind != "open" and side != "query":  # of these the operator lets nothing through that is not finite
        return
    pull = torch.randn(found.shape)
    for one, other in zip(torch.autograd.grad(found, ours, pull), torch.autograd.grad(expected, theirs, pull), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4, equal_nan=True)


def test_loud_scores_are_those_of_the_definition() -> None:
    """Far below where the loops begin to look for the largest: every weight would be zero."""
    query, key, value = torch.full((1, 1, 2, 16), -1e19), torch.full((1, 1, 3, 16), 1e19), torch.randn(1, 1, 3, 16)
    key[0, 0, 1] /= 10
    found = pool_heads(query, key, value, 0.1)
    torch.testing.assert_close(found, pool_definition(query, key, value, 0.1, None, False))
    assert found.abs().sum() > 0


@pytest.mark.parametrize("dropout", [0.25, 0.9, 0.9999, 0.999999])
def test_the_mean_outlives_any_dropout(dropout: float) -> None:
    torch.manual_seed(0)
    query, value = torch.zeros(64, 4, 16, 16), torch.ones(64, 4, 512, 16)
    found = pool_heads(query, torch.zeros(64, 4, 512, 16), value, 1.0, dropout=dropout)[..., 0]
    assert bool(found.isfinite().all())
    kept = max(1 - dropout, 1 / 65536)
    deviation = ((1 - kept) / kept / 512 / found.numel()) ** 0.5
    assert abs(float(found.mean()) - 1) < 6 * deviation


def test_dropout_of_everything() -> None:
    given = made(2, 2, 3, 4, 16, 16)
    found = pool_heads(*given, 0.3, dropout=1.0)
    assert found.abs().max() == 0
    assert all(grad.abs().max() == 0 for grad in torch.autograd.grad(found.sum(), given))


def test_the_plain_form_drops_what_the_kernel_drops() -> None:
    given = made(3, 2, 5, 19, 16, 32)
    torch.manual_seed(5)
    drops = _drops(0.4)
    torch.manual_seed(5)
    found = pool_heads(*given, 0.3, dropout=0.4)
    torch.testing.assert_close(found, pool_definition(*given, 0.3, None, False, drops), atol=1e-5, rtol=1e-5)
