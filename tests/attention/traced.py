"""Modules that attend, for `torch.compile` and `torch.export`; as a program, it compiles some of them and compares."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention import (
    Additive,
    Entmax,
    Gaussian,
    LeakyConcat,
    ScaledDot,
    Score,
    attend,
    attend_edges,
    causal,
    lengths,
    window,
)


class SelfAttention(nn.Module):
    """One layer over x (B, T, 8) of these lengths, causal."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.map, self.options = nn.Linear(8, 24), options

    def heads(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of two heads."""
        heads: tuple[Tensor, ...] = self.map(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4).unbind()
        return heads

    def forward(self, x: Tensor, length: Tensor) -> Tensor:
        return attend(*self.heads(x), mask=causal() & lengths(length), **self.options).context


class Decoder(SelfAttention):
    """The same without lengths."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return attend(*self.heads(x), mask=causal(), **self.options).context


class CrossAttention(nn.Module):
    """Queries (B, T, 8) over a memory (B, K, 8) of these lengths."""

    def __init__(self, score: Score, **options: Any) -> None:
        super().__init__()
        self.map, self.score, self.options = nn.Linear(8, 8), score, options

    def forward(self, x: Tensor, memory: Tensor, length: Tensor) -> Tensor:
        return attend(self.map(x), memory, memory, score=self.score, mask=lengths(length), **self.options).context


class AlongEdges(CrossAttention):
    """Nodes (N, 8) that look along edges (2, E)."""

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:  # type: ignore[override]
        return attend_edges(self.map(x), x, x, edges, score=self.score, **self.options).context


class Case(NamedTuple):
    """A module, its inputs, inputs of other sizes, and the names of the sizes that may vary."""

    module: nn.Module
    inputs: tuple[Tensor, ...]
    other: tuple[Tensor, ...]
    sizes: tuple[dict[int, str], ...]


def _text(batch: int, length: int, live: int | None = None) -> Tensor:
    x = torch.randn(batch, length, 8)
    if live is not None:
        x[0, live:] = torch.nan
    return x


def _self(**options: Any) -> Case:
    inputs, other = (_text(3, 6), torch.tensor([4, 0, 6])), (_text(2, 9), torch.tensor([7, 1]))
    return Case(SelfAttention(**options), inputs, other, ({0: "B", 1: "T"}, {0: "B"}))


def _cross(score: Score, **options: Any) -> Case:
    inputs = (_text(3, 4), _text(3, 6, live=4), torch.tensor([4, 0, 6]))
    other = (_text(2, 5), _text(2, 9, live=7), torch.tensor([7, 1]))
    return Case(CrossAttention(score, **options), inputs, other, ({0: "B", 1: "T"}, {0: "B", 1: "K"}, {0: "B"}))


def _edges(score: Score, **options: Any) -> Case:
    inputs, other = ((torch.randn(n, 8), torch.randint(0, n, (2, 3 * n))) for n in (7, 9))
    return Case(AlongEdges(score, **options), inputs, other, ({0: "N"}, {1: "E"}))


TRACED: dict[str, Case] = {
    "self": _self(),
    "self by name": _self(score="dot", normalize="sparsemax"),
    "causal": Case(Decoder(), (_text(3, 6),), (_text(2, 9),), ({0: "B", 1: "T"},)),
    "cross": _cross(ScaledDot()),
    "cross additive": _cross(Additive(8, 8)),
    "cross gaussian": _cross(Gaussian(2.0)),
    "learned alpha": _cross(ScaledDot(), normalize=Entmax(nn.Parameter(torch.tensor(1.3)))),
    "edges": _edges(ScaledDot()),
    "edges leaky": _edges(LeakyConcat(8, 8)),
    "edges additive": _edges(Additive(8, 8), mask=window(3), normalize="entmax15"),
}


def compared(module: nn.Module, inputs: tuple[Tensor, ...]) -> str:
    """Whether output and gradients of one compiled graph are the eager ones."""
    torch._dynamo.reset()
    try:
        results = []
        for run in (module, torch.compile(module, fullgraph=True, backend="aot_eager")):
            output = run(*inputs)
            results.append((output, torch.autograd.grad(output.square().sum(), list(module.parameters()))))
        torch.testing.assert_close(results[1], results[0])
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")
    return "equal"


def drops(module: nn.Module, inputs: tuple[Tensor, ...]) -> str:
    """Whether a compiled graph with dropout draws anew in each call."""
    run = torch.compile(module, fullgraph=True, backend="aot_eager")
    return "anew" if not torch.equal(run(*inputs), run(*inputs)) else "the same"


COMPILED = ("self", "causal", "cross additive", "learned alpha", "edges")  # the slowest of tests: of each kind one

if __name__ == "__main__":
    for name in COMPILED:
        print(name, compared(*TRACED[name][:2]), sep="\t")
    print("dropout", drops(*_cross(ScaledDot(), dropout=0.5)[:2]), sep="\t")
