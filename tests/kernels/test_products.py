"""A product dealt out to the threads is the product, whether they divide its rows or not."""

from collections.abc import Iterator

import pytest
import torch

from saccade.kernels.products import product

SIZES = [(8, 3, 5), (7, 3, 5), (1, 4, 6), (2, 1, 1), (33, 16, 9), (0, 3, 5), (4, 0, 5), (4, 3, 0), (0, 0, 0)]


@pytest.fixture(params=[1, 2, 3], ids=lambda threads: f"threads {threads}")
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("layout", ["plain", "transposed"])
@pytest.mark.parametrize(("N", "inner", "O"), SIZES)
def test_it_is_the_product(N: int, inner: int, O: int, layout: str) -> None:  # noqa: E741
    one, other = torch.randn(N, inner), torch.randn(inner, O)
    if layout == "transposed":
        one, other = one.t().contiguous().t(), other.t().contiguous().t()
    wanted = torch.mm(one.double(), other.double())
    found = product(one, other)
    assert found.shape == (N, O)
    torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=1e-5)
    out = torch.full((N, O), torch.nan)
    assert product(one, other, out=out) is out
    torch.testing.assert_close(out.double(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("_threads")
def test_only_the_part_that_is_given_is_written() -> None:
    room = torch.full((9, 4), torch.inf)
    one, other = torch.randn(7, 5), torch.randn(5, 4)
    product(one, other, out=room[1:8])
    torch.testing.assert_close(room[1:8], one @ other, atol=1e-5, rtol=1e-5)
    assert room[[0, 8]].isinf().all()
