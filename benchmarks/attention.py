"""The attention operator beside what a user would write instead.

python benchmarks/attention.py            all cases
python benchmarks/attention.py --quick    at most a minute
"""

import functools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from kit import Report, Run, arguments, extra_megabytes, interleave, tuned_part
from torch import Tensor

from saccade.attention import Additive, Attended, attend, causal, window

SHAPES = [(8, 8, 128, 64), (4, 8, 512, 64), (1, 8, 2048, 64)]
LONG = (1, 8, 8192, 64)


def plain(query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None = None) -> Tensor:
    """Matrix product, softmax, matrix product."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ value


def forward(run: Callable[[], Tensor]) -> Run:
    """Without a gradient."""

    def once() -> None:
        with torch.no_grad():
            run()

    return once


def backward(run: Callable[[], Tensor], inputs: list[Tensor], grad: Tensor) -> Run:
    """With the gradient of all inputs."""
    return lambda: torch.autograd.grad(run(), inputs, grad)


def both(
    report: Report, case: str, runs: dict[str, Callable[[], Tensor]], inputs: list[Tensor], rounds: int, seconds: float
) -> None:
    """Time the runs forward, and forward with backward."""
    report.case(f"{case} forward", interleave({n: forward(r) for n, r in runs.items()}, rounds, seconds))
    grad = torch.randn_like(next(iter(runs.values()))())
    report.case(f"{case} backward", interleave({n: backward(r, inputs, grad) for n, r in runs.items()}, rounds, seconds))


def dense(report: Report, rounds: int, seconds: float) -> None:
    """Full and causal attention at short, middle and long lengths."""
    for shape in SHAPES:
        query, key, value = inputs = [torch.randn(shape, requires_grad=True) for _ in range(3)]
        triangle = torch.ones(shape[2], shape[2], dtype=torch.bool).tril()
        name = "x".join(map(str, shape))
        sdpa = functools.partial(F.scaled_dot_product_attention, query, key, value)
        runs: dict[str, Callable[[], Tensor]] = {
            "ours": lambda: attend(query, key, value).context,  # noqa: B023 - used in this turn of the loop
            "sdpa": sdpa,
            "plain": functools.partial(plain, query, key, value),
        }
        both(report, name, runs, inputs, rounds, seconds)
        runs = {
            "ours": lambda: attend(query, key, value, mask=causal()).context,  # noqa: B023
            "sdpa": functools.partial(sdpa, is_causal=True),
            "plain": functools.partial(plain, query, key, value, triangle),
        }
        both(report, f"{name} causal", runs, inputs, rounds, seconds)


def dropout(report: Report, rounds: int, seconds: float) -> None:
    """Attention dropout, which sends torch back to its slow path."""
    query, key, value = inputs = [torch.randn(SHAPES[0], requires_grad=True) for _ in range(3)]
    runs: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: attend(query, key, value, dropout=0.1).context,
        "sdpa": functools.partial(F.scaled_dot_product_attention, query, key, value, dropout_p=0.1),
    }
    both(report, "8x8x128x64 dropout", runs, inputs, rounds, seconds)


def long(report: Report, rounds: int, seconds: float) -> None:
    """A window against full attention, and the price of a look, at 8,192 tokens."""
    query, key, value = inputs = [torch.randn(LONG, requires_grad=True) for _ in range(3)]
    runs: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: attend(query, key, value, mask=window(128)).context,
        "full": functools.partial(F.scaled_dot_product_attention, query, key, value),
    }
    both(report, "window 128 at 8192", runs, inputs, rounds, seconds)
    with torch.no_grad():
        attended = attend(query, key, value)
        rows = [0, 1000, 4000, 8191]
        looks: dict[str, Run] = {"ours": lambda: look(attended, rows), "forward": forward(runs["full"])}
        report.case("look at 4 rows of a head at 8192", interleave(looks, rounds, seconds))
        megabytes = extra_megabytes(lambda: look(attended, rows))
        report.value("look at 4 rows of a head, memory", "50 MB", 50 / max(megabytes, 0.1), f"{megabytes:.1f} MB")


def look(attended: Attended, rows: list[int]) -> Tensor:
    """The weights of a few rows of one head."""
    return attended.weights(rows=rows, heads=3)


def additive_runs(B: int, Q: int, K: int, D: int) -> tuple[dict[str, Callable[[], Tensor]], list[Tensor]]:
    """softmax(v'tanh(q + k)) values with queries and keys that are projected already: ours and eager broadcasting."""
    query, key, value, vector = inputs = [
        torch.randn(size, requires_grad=True) for size in ((B, Q, D), (B, K, D), (B, K, D), (D,))
    ]
    score = Projected(D)
    score.vector = torch.nn.Parameter(vector.detach())
    inputs[3] = score.vector

    def eager() -> Tensor:
        return torch.softmax(torch.tanh(query[:, :, None] + key[:, None]) @ score.vector, -1) @ value

    return {"ours": lambda: attend(query, key, value, score=score).context, "eager": eager}, inputs


class Projected(Additive):
    """The additive score for queries and keys that are projected already."""

    def __init__(self, width: int) -> None:
        super().__init__(width, width, width)

    def queries(self, query: Tensor) -> Tensor:
        return query

    def keys(self, key: Tensor) -> Tensor:
        return key


def additive(report: Report, rounds: int, seconds: float) -> None:
    """Additive attention of a decoder that is trained, and of one that takes a step."""
    for shape in ((64, 40, 40, 512), (32, 1, 50, 512)):
        runs, inputs = additive_runs(*shape)
        both(report, "additive " + "x".join(map(str, shape)), runs, inputs, rounds, seconds)


def additive_memory(report: Report) -> None:
    """Extra memory of the same."""
    runs, inputs = additive_runs(64, 40, 40, 512)
    grad = torch.randn(64, 40, 512)
    for name, run in (("forward", forward), ("backward", lambda run: backward(run, inputs, grad))):
        ours, eager = (extra_megabytes(run(runs[who])) for who in ("ours", "eager"))
        text = f"ours {ours:.1f} MB, eager {eager:.1f} MB"
        report.value(f"additive 64x40x40x512 {name} memory", "eager", eager / max(ours, 0.1), text)


def main() -> None:
    options = arguments("The attention operator beside what a user would write instead.")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    report = Report()
    rounds, seconds = (3, 0.1) if options.quick else (9, 0.3)
    if options.part == "additive":
        additive(report, rounds, seconds)
    else:
        dense(report, rounds, seconds)
        dropout(report, rounds, seconds)
        long(report, 2 if options.quick else 5, 0.1)
        additive_memory(report)
        print("with an allocator that keeps its pages, for both sides:")
        report.ratios |= tuned_part("additive", options.quick, options.threads)
    report.close(options.json)


if __name__ == "__main__":
    main()
