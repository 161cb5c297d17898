"""Modules that attend by kernels; run as a program, it tells of each whether `torch.compile` gives what they give.

A program of its own, because Dynamo cannot see through the checks of shapes that tests run under.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from saccade.attention import Additive, Gaussian, attend, attend_edges, causal, lengths
from saccade.layers.cross_entropy import linear_cross_entropy
from saccade.layers.gat_conv import GATConv
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.recurrent import RecurrentReader

EDGES = torch.tensor([[0, 1, 2, 3, 1], [1, 0, 1, 1, 3]])


class Loss(nn.Module):
    """A linear output layer and its loss, two rows of which do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(32, 7)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (2, 4, 32)"""
        target = torch.tensor([1, 6, -100, 0, 3, 3, -100, 2], device=x.device)
        return linear_cross_entropy(x.flatten(0, 1), self.output.weight, self.output.bias, target, 0.1)


class Looking(nn.Module):
    """A call of the operator, by a score with a kernel of its own or under a mask."""

    def __init__(self, look: Callable[[Tensor], Tensor], score: nn.Module | None = None) -> None:
        super().__init__()
        self.look, self.score = look, score

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (2, 4, 32)"""
        return self.look(x)


class OnEdges(nn.Module):
    """A graph attention layer over four nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = GATConv(32, 16, heads=2)

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (2, 4, 32)"""
        found: Tensor = self.layer(x[0], EDGES)
        return found


class Reader(nn.Module):
    """A recurrent reader in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = RecurrentReader(32, 8, cell="lstm")

    def forward(self, x: Tensor) -> Tensor:
        """Shapes: x (2, 4, 32)"""
        found: Tensor = self.layer(x.transpose(0, 1), torch.tensor([[True, True, True, False], [True] * 4]).T)[0]
        return found


def _additive() -> nn.Module:
    score = Additive(32, 32)
    return Looking(lambda x: attend(x[:, :1], x, x, score=score, mask=lengths(torch.tensor([3, 4]))).context, score)


MODULES: dict[str, Callable[[], nn.Module]] = {
    "multihead": lambda: MultiHeadAttention(32, 2),
    "causal": lambda: Looking(lambda x: attend(x[:, None], x[:, None], x[:, None], mask=causal()).context),
    "additive": _additive,
    "gaussian": lambda: Looking(lambda x: attend(x[..., :4], x[..., :4], x[..., :2], score=Gaussian(1.0)).context),
    "edges": lambda: Looking(lambda x: attend_edges(x[0], x[1], x[1], EDGES).context),
    "graph": OnEdges,
    "reader": Reader,
    "loss": Loss,
}


def compiles(name: str) -> str:
    """What is wrong, or that all is well."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    module, x = MODULES[name](), torch.randn(2, 4, 32)
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    try:
        found, expected = torch.compile(module, backend="aot_eager")(inputs[0]), module(inputs[1])
        grads = [torch.autograd.grad(output.sum(), x)[0] for output, x in zip((found, expected), inputs, strict=True)]
        torch.testing.assert_close((found, grads[0]), (expected, grads[1]), atol=1e-5, rtol=1e-5)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "well"


if __name__ == "__main__":
    for name in MODULES:
        print(name, compiles(name), sep="\t")
