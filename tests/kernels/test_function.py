"""Second derivatives of all that has a kernel: those of the plain form, to the first order as well."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import Additive, Gaussian, attend, attend_edges, causal, lengths
from saccade.kernels.decoder_steps import DecoderWeights, decode
from saccade.kernels.function import applied
from saccade.kernels.heads import pool_heads
from saccade.kernels.recurrent_cells import CELLS, sequence, step
from saccade.kernels.sparse_products import sparse_times
from saccade.layers.cross_entropy import linear_cross_entropy
from saccade.layers.gat_conv import GATConv
from saccade.layers.repeated_linear import RepeatedLinear

LIVE = torch.tensor([[True, True, True, False], [True, True, True, True]])


def _additive(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return attend(x, x, x, score=Additive(16, 16)).context


def _pooled(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return attend(x[:, :1], x, x, score=Additive(16, 16), mask=lengths(torch.tensor([3, 4]))).context


def _written(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    weights = DecoderWeights(*(torch.randn(shape) * 0.3 for shape in ((16, 16), (16,), (48, 16), (48, 16), (48,))))
    gates = torch.randn(3, 2, 48) + x.mean()
    found = decode(CELLS["gru"], gates, x[:, 0], x, x * x, LIVE, weights)
    return torch.cat((found.states, found.contexts), -1)


def _sequence(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    gates = torch.cat((x, x * x, x), -1).transpose(0, 1)
    return sequence(CELLS["gru"], gates, x[:, 0], torch.randn(48, 16) * 0.3, torch.randn(48), LIVE.T, backward=True)


def _repeated(x: Tensor) -> Tensor:
    """The weight depends on x as well, and states on each other."""
    repeated = RepeatedLinear(x.flatten(0, 1)[:4, :4].contiguous())
    state = repeated.begin(x[:, 0, :4])
    for t in range(3):
        state = torch.tanh(repeated.map(state, x[:, t, 4:8]))
    return state


def _graph(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3, 5, 6, 7], [1, 0, 1, 1, 4, 4, 4]])
    found: Tensor = GATConv(16, 8, heads=2)(x.flatten(0, 1), edges)
    return found


def _sparse(x: Tensor) -> Tensor:
    matrix = torch.eye(8).to_sparse_coo()
    return sparse_times(matrix, torch.tanh(x.flatten(0, 1)))


def _loss(x: Tensor) -> Tensor:
    rows = x.flatten(0, 1)
    return linear_cross_entropy(rows, rows[:5], rows[:5, 0], torch.tensor([0, 1, 2, 3, 4, 0, -100, 2]), 0.1)


def _heads(dropout: float, causal: bool = False) -> Callable[[Tensor], Tensor]:
    def look(x: Tensor) -> Tensor:
        torch.manual_seed(3)
        return pool_heads(x[:, None], x[:, None] * 2, x[:, None], 0.3, causal=causal, dropout=dropout)

    return look


def _long(x: Tensor) -> Tensor:
    """Blocks of a sequence that is too long for the kernel, under dropout."""
    torch.manual_seed(4)
    wide = x.flatten(0, 1).repeat(30, 1)[None, None, :, :4]
    return attend(wide, wide, wide, mask=causal(), dropout=0.3).context


CASES: dict[str, Callable[[Tensor], Tensor]] = {
    "heads": lambda x: attend(x[:, None], x[:, None], x[:, None]).context,
    "heads, causal": lambda x: attend(x[:, None], x[:, None], x[:, None], mask=causal()).context,
    "heads, lengths": lambda x: attend(x[:, None], x[:, None], x[:, None], mask=lengths([3, 4])).context,
    "heads, dropout": _heads(0.4),
    "heads, causal dropout": _heads(0.4, causal=True),
    "long, dropout": _long,
    "additive": _additive,
    "additive pool": _pooled,
    "writer": _written,
    "gru": lambda x: step(CELLS["gru"], torch.cat((x[:, 0],) * 3, -1), torch.cat((x[:, 1],) * 3, -1), x[:, 2]),
    "lstm": lambda x: step(CELLS["lstm"], x[:, :2].flatten(1)[:, :16], x[:, 2:].flatten(1)[:, :16], x[:, 3, :8]),
    "gru sequence": _sequence,
    "gaussian": lambda x: attend(x[..., :3], x[..., :3] * 2, x[..., :2], score=Gaussian(1.0)).context,
    "edges": lambda x: attend_edges(x[0], x[1], x[1], torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])).context,
    "graph": _graph,
    "sparse": _sparse,
    "repeated": _repeated,
    "loss": _loss,
}


def _second(function: Callable[[Tensor], Tensor], start: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The sum, its gradient, and the gradient of that gradient's products with some vector."""
    x = start.clone().requires_grad_()
    total = function(x).sum()
    (grad,) = torch.autograd.grad(total, x, create_graph=True)
    assert grad.requires_grad, "the gradient has no graph: a second derivative would be missing"
    (again,) = torch.autograd.grad((grad * torch.linspace(-1, 1, grad.numel()).view_as(grad)).sum(), x)
    return total.detach(), grad.detach(), again


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_those_of_the_plain_form(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = torch.randn(2, 4, 16, generator=torch.Generator().manual_seed(1))
    first_only = start.clone().requires_grad_()
    (once,) = torch.autograd.grad(CASES[name](first_only).sum(), first_only)
    found = _second(CASES[name], start)
    if "dropout" not in name:  # whose draws are the kernel's own; its plain form is tested beside the kernel
        monkeypatch.setenv("SACCADE_KERNELS", "off")
    expected = _second(CASES[name], start)
    torch.testing.assert_close(once, found[1], atol=2e-5, rtol=2e-5)  # the kernel's, and the definition's
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=5e-5, rtol=5e-5)
    # And by differences of the first derivative, which came out of the kernel.
    direction = torch.linspace(-1, 1, start.numel()).view_as(start)

    def gradient(place: Tensor) -> Tensor:
        x = place.clone().requires_grad_()
        return torch.autograd.grad(CASES[name](x).sum(), x)[0]

    step_ = 2e-3
    slope = (gradient(start + step_ * direction) - gradient(start - step_ * direction)) / (2 * step_)
    torch.testing.assert_close(found[2], slope, atol=0.03, rtol=0.05)


def test_a_hessian(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(1, 1, 3, 16)

    def look(query: Tensor) -> Tensor:
        return (attend(query, x, x).context ** 2).sum()

    found = torch.autograd.functional.hessian(look, x)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    expected = torch.autograd.functional.hessian(look, x)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert found.abs().max() > 1e-3


def test_applied_ties_the_output_to_its_inputs() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: object, grad: Tensor) -> Tensor:
            return 2 * grad

    x = nn.Parameter(torch.ones(3))
    applied(Double, x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
