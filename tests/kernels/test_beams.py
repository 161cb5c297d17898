"""Attention over rows of a pool equals the operator over the rows gathered."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saccade.attention import attend, lengths
from saccade.kernels.beams import beams_on, pool_beams
from saccade.layers.cache import KeyValues
from saccade.layers.multihead import MultiHeadAttention

ROWS = 13  # in the pool


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def gathered(query: Tensor, key: Tensor, value: Tensor, rows: Tensor, counts: Tensor, heads: int, scale: float) -> Tensor:
    """The same by `attend`: queries (M, H, N / M, width) over keys (M, H, T, width)."""
    M, T = rows.shape
    queries = query.view(M, len(query) // M, heads, -1).transpose(1, 2)
    keys, values = (part[rows.long()].view(M, T, heads, -1).transpose(1, 2) for part in (key, value))
    # The operator divides by √width.
    factor = scale * keys.shape[-1] ** 0.5
    context = attend(factor * queries, keys, values, mask=lengths(counts)).context
    return context.transpose(1, 2).reshape(query.shape)


@pytest.mark.usefixtures("_threads")
@settings(max_examples=40)
@given(
    st.integers(1, 4),
    st.sampled_from([1, 2, 5]),
    st.integers(1, 7),
    st.sampled_from([(1, 8), (2, 4), (3, 5), (4, 16)]),
    st.sampled_from([0.3, 1.0, 4.0]),
)
def test_it_is_the_operator_over_gathered_rows(M: int, sharing: int, T: int, sizes: tuple[int, int], scale: float) -> None:
    heads, D = sizes[0], sizes[0] * sizes[1]
    query, key, value = torch.randn(M * sharing, D), torch.randn(ROWS, D), torch.randn(ROWS, D)
    rows = torch.randint(0, ROWS, (M, T), dtype=torch.int32)
    counts = torch.randint(0, T + 1, (M,), dtype=torch.int32)
    found = pool_beams(query, key, value, rows, counts, heads, scale)
    exact = [part.double() for part in (query, key, value)]
    wanted = gathered(exact[0], exact[1], exact[2], rows, counts, heads, scale)
    torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("_threads")
def test_a_place_named_twice_counts_twice_and_none_gives_zeros() -> None:
    query, key, value = torch.randn(3, 4), torch.randn(2, 4), torch.randn(2, 4)
    rows = torch.tensor([[0, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=torch.int32)
    found = pool_beams(0 * query, key, value, rows, torch.tensor([3, 1, 0], dtype=torch.int32), 2, 0.5)
    torch.testing.assert_close(found[0], (2 * value[0] + value[1]) / 3)
    torch.testing.assert_close(found[1], value[1])
    assert found[2].eq(0).all()


@pytest.mark.usefixtures("_threads")
def test_loud_scores_do_not_overflow() -> None:
    query, key, value = 1e3 * torch.randn(4, 8), 1e3 * torch.randn(5, 8), torch.randn(5, 8)
    rows, counts = torch.arange(5, dtype=torch.int32).expand(4, 5), torch.full((4,), 5, dtype=torch.int32)
    found = pool_beams(query, key, value, rows, counts, 1, 1.0)
    torch.testing.assert_close(found, value[(query @ key.T).argmax(1)], atol=1e-5, rtol=1e-5)


def test_what_wants_a_gradient_goes_another_way() -> None:
    tensors = [torch.randn(3, 4) for _ in range(3)]
    assert beams_on(*tensors)
    assert not beams_on(tensors[0].clone().requires_grad_(), *tensors[1:])
    assert not beams_on(*(tensor.double() for tensor in tensors))
    assert not beams_on(tensors[0], tensors[1].t(), tensors[2])


@pytest.mark.parametrize("own", [False, True])
def test_a_layer_looks_the_same_with_kernels_and_without(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list of places that hypotheses share, and with one of their own, each time as long as their input's count."""
    B, W, T, D = 3, 2, 5, 8
    layer, query = MultiHeadAttention(D, 2), torch.randn(B, W, D)
    places = torch.randint(0, ROWS, (B, W if own else 1, T), dtype=torch.int32)
    kept = KeyValues(torch.randn(ROWS, D), torch.randn(ROWS, D), places, torch.tensor([2, 5, 1]))
    with torch.no_grad():
        fast = layer.look_at(query, kept)
        monkeypatch.setenv("SACCADE_KERNELS", "off")
        slow = layer.look_at(query, kept)
    torch.testing.assert_close(fast.output, slow.output, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(fast.weights(), slow.weights(), atol=1e-6, rtol=1e-5)
    assert slow.weights().shape == (B, W, 2, T)
