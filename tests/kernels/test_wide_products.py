"""A linear map through oneDNN is the linear map: forward, gradient, gradient of the gradient; small ones stay torch's."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from saccade.kernels import wide_products
from saccade.kernels.wide_products import LEAST, dense, linear
from saccade.layers.linear import Linear

CALLED = torch.ops.mkldnn._linear_pointwise


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the products that oneDNN makes, on whatever machine this is."""
    calls: list[int] = []

    def counted(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        calls.append(x.numel())
        product: Tensor = CALLED(x, weight, bias, "none", [], "")
        return product

    monkeypatch.setattr(wide_products, "wider", lambda: True)
    monkeypatch.setattr(wide_products, "times", counted)
    return calls


def large(bias: bool = True) -> list[Tensor]:
    """Inputs whose product is just large enough."""
    x, weight = torch.randn(4, 32, 128), torch.randn(LEAST // (128 * 128), 128)
    return [x.requires_grad_(), weight.requires_grad_(), *([torch.randn(len(weight), requires_grad=True)] if bias else [])]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_it_is_the_map_and_its_gradients(bias: bool, turned: bool, called: list[int]) -> None:
    x, weight, *own = large(bias)
    given = x.transpose(0, 1) if turned else x
    output = linear(given, weight, own[0] if own else None)
    wanted = F.linear(given.double(), weight.double(), own[0].double() if own else None)
    torch.testing.assert_close(output.double(), wanted, atol=1e-4, rtol=1e-5)
    pull = torch.randn_like(output)
    inputs = [x, weight, *own]
    for found, right in zip(
        torch.autograd.grad(output, inputs, pull), torch.autograd.grad(wanted, inputs, pull.double()), strict=True
    ):
        torch.testing.assert_close(found, right.float(), atol=1e-3, rtol=1e-4)
    assert len(called) == 3


def test_its_output_may_be_changed_in_place(called: list[int]) -> None:
    x, weight, bias = large()
    output = linear(x, weight, bias)
    output.mul_(2)
    output.sum().backward()
    assert called
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2 * weight.detach().sum(0).expand_as(x), atol=1e-3, rtol=1e-4)


def test_traced_sizes_are_not_asked_for(called: list[int]) -> None:
    layer = Linear(256, 256)
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=4096)}}
    torch.export.export(layer, (torch.randn(8, 256),), dynamic_shapes=shapes)
    assert not called


def test_only_what_is_wanted_is_computed(called: list[int]) -> None:
    x, weight, bias = large()
    linear(x.detach(), weight, bias).sum().backward()
    assert len(called) == 2
    assert weight.grad is not None
    with torch.no_grad():
        assert not linear(x, weight, bias).requires_grad
    assert len(called) == 3


def test_it_can_be_differentiated_twice(called: list[int]) -> None:
    def curvature(function: Callable[..., Tensor]) -> Tensor:
        (first,) = torch.autograd.grad(function(x, weight, bias).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), weight)[0]

    x, weight, bias = large()
    torch.testing.assert_close(curvature(linear), curvature(F.linear), atol=1.0, rtol=1e-3)
    assert called


def test_what_it_is_not_for_stays_with_torch(called: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = large()
    assert torch.equal(linear(x[:, 1:], weight, bias), F.linear(x[:, 1:], weight, bias))  # too small
    linear(x.double(), weight.double(), bias.double())
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(x, weight, bias).dtype == torch.bfloat16
    with FlopCounterMode(display=False) as counter:
        linear(x, weight, bias)
    assert counter.get_total_flops() == 2 * LEAST
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    linear(x, weight, bias)
    assert not called


def test_only_processors_that_gain_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor, capability, wide in (
        ("AuthenticAMD", "AVX512", True),
        ("GenuineIntel", "AVX512", False),
        ("", "AVX2", False),
    ):
        monkeypatch.setattr(wide_products, "vendor", lambda vendor=vendor: vendor)
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda capability=capability: capability)
        assert wide_products.wider.__wrapped__() is (wide and torch.backends.mkl.is_available())


def test_only_a_matrix_cut_out_of_a_wider_one_is_copied() -> None:
    whole = torch.randn(6, 8)
    for same in (whole, whole.t(), whole[2:5]):
        assert dense(same) is same
    for part in (whole[:, :3], whole[:, 2:].t()):
        assert dense(part).is_contiguous()
        assert torch.equal(dense(part), part)
