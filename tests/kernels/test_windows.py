"""Windows of pictures: the kernel is its definition, for every size, at every place, on any number of threads."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.kernels.windows import windows, windows_definition


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(1, 20),
    st.integers(1, 7),
    st.integers(1, 4),
)
def test_the_kernel_is_its_definition(count: int, channels: int, height: int, width: int, size: int, scales: int) -> None:
    images = torch.randn(2, channels, height, width)
    samples = torch.randint(0, 2, (count,))
    at = torch.stack((torch.randint(0, height + 1, (count,)), torch.randint(0, width + 1, (count,))), -1)
    found, expected = (each(images, samples, at, size, scales) for each in (windows, windows_definition))
    assert found.shape == (count, scales * channels, size, size)
    torch.testing.assert_close(found, expected)


def test_a_picture_that_learns_has_its_gradient() -> None:
    images = torch.randn(1, 1, 6, 6, requires_grad=True)
    samples, at = torch.tensor([0, 0]), torch.tensor([[0, 0], [3, 3]])
    windows(images, samples, at, 2, 2).sum().backward()
    assert images.grad is not None
    assert images.grad[0, 0, 0, 0] == 1 + 0.25  # in the first place's both windows
    assert images.grad[0, 0, 5, 5] == 0


def test_other_numbers_take_the_plain_form() -> None:
    images, places = torch.randn(1, 1, 6, 6), (torch.tensor([0]), torch.tensor([[2, 5]]), 3, 2)
    torch.testing.assert_close(windows(images.double(), *places).float(), windows(images, *places))
