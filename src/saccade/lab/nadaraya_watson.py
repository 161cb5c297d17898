"""Nadaraya–Watson regression (1964) done with attention: the estimator that every later attention model generalizes.

Run it with `python -m saccade.lab.nadaraya_watson`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch is imported where it is used, so that --help does not wait for it
    from torch import Tensor

    from saccade.attention import Attended

WIDEST = 5.0  # x runs from 0 to here
FIXED = 1.0  # the bandwidth nobody tuned
DRAWN, MEASURED = 61, 201  # queries of the picture, and of the error
SINGLED_OUT = 36  # the query x = 3, of those drawn

INTRODUCTION = """\
Nadaraya-Watson regression (1964), done with attention

{points} points (seed {seed}): x from 0 to 5, y = 2 sin(x) + x^0.8 + noise of size {noise:g}.
The query is x, the keys are the x_i, the values are the y_i: this is attention.
A score says how near the query is to each key, softmax turns the scores into
weights, and the estimate is the mean of the values under these weights.
"""
LEARNING = """\
The score is Gaussian, -(x - x_i)^2 / 2h^2: the bandwidth h is how far to look.
We learn it by {steps} gradient steps on the error of predicting each point from all
the others. A mask hides each point from itself; otherwise h = 0 would win.
"""
NEXT = """\
Try next:  --points 500    more keys: the bandwidth and the error shrink
           --noise 2       noise as large as the curve: is h = 1 still beaten?
           --svg look.svg  the same as a picture for a page"""


@dataclass(frozen=True)
class Estimate:
    """A row of the table: a score and how far its curve is from the truth."""

    score: str
    bandwidth: str
    error: float


def truth(x: Tensor) -> Tensor:
    """The curve behind the data."""
    return 2 * x.sin() + x**0.8


def sample(points: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Points scattered about the curve, sorted by x."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(points, generator=generator) * WIDEST).sort().values
    return x, truth(x) + noise * torch.randn(points, generator=generator)


def look(query: Tensor, x: Tensor, y: Tensor, bandwidth: float | Tensor | None, *, leave_out: bool = False) -> Attended:
    """The estimate at each query, by a Gaussian of this bandwidth, or by the plain mean without one."""
    from saccade.attention import Constant, Gaussian, attend, others

    score = Constant() if bandwidth is None else Gaussian(bandwidth)
    mask = others() if leave_out else None
    return attend(query[:, None], x[:, None], y[:, None], score=score, mask=mask)


def learn(x: Tensor, y: Tensor, steps: int) -> Iterator[tuple[float, float]]:
    """Gradient descent on the leave-one-out error; yields the bandwidth and the error of each step."""
    import torch

    log_bandwidth = torch.tensor(math.log(FIXED), requires_grad=True)  # its exponential stays positive
    optimizer = torch.optim.Adam([log_bandwidth], lr=0.05)
    for _ in range(steps):
        guess = look(x, x, y, log_bandwidth.exp(), leave_out=True).context[:, 0]
        error = (guess - y).square().mean()
        (log_bandwidth.grad,) = torch.autograd.grad(error, [log_bandwidth])
        optimizer.step()
        with torch.no_grad():
            log_bandwidth.clamp_(math.log(0.01), math.log(100))
        yield math.exp(log_bandwidth.item()), error.item()


def learned_bandwidth(x: Tensor, y: Tensor, steps: int) -> float:
    """The bandwidth after all steps, with a bar on the terminal meanwhile."""
    bandwidth, shown = FIXED, sys.stdout.isatty() and sys.stderr.isatty()
    for step, (bandwidth, error) in enumerate(learn(x, y, steps), start=1):
        if shown:
            bar = "#" * (30 * step // steps)
            print(f"\r[{bar:<30}] {step}/{steps}  h = {bandwidth:.3f}  error {error:.4f} ", end="", file=sys.stderr)
    if shown:
        print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
    return bandwidth


def compare(x: Tensor, y: Tensor, bandwidth: float) -> list[Estimate]:
    """The error of each estimator against the true curve, on a grid it was not fitted to."""
    import torch

    grid = torch.linspace(0, WIDEST, MEASURED)
    rivals = [("constant: the plain mean", None), ("Gaussian, fixed", FIXED), ("Gaussian, learned", bandwidth)]
    estimates = []
    for name, width in rivals:
        curve = look(grid, x, y, width).context[:, 0]
        error = (curve - truth(grid)).square().mean().item()
        estimates.append(Estimate(name, "-" if width is None else f"{width:.3f}", error))
    return estimates


def table(estimates: list[Estimate]) -> str:
    """The estimators and their errors, in columns."""
    lines = [f"{'score':<26}{'bandwidth h':>12}{'error':>10}"]
    lines += [f"{row.score:<26}{row.bandwidth:>12}{row.error:>10.4f}" for row in estimates]
    return "\n".join(lines)


def draw(x: Tensor, y: Tensor, bandwidth: float, color: bool | None) -> str:
    """The curve, and the weights behind every third of its points."""
    import torch

    from saccade.view.charts.curve import curve as drawn_curve
    from saccade.view.drawings import heatmap

    query = torch.linspace(0, WIDEST, DRAWN)
    looked = look(query, x, y, bandwidth)
    curve = drawn_curve(x.numpy(), y.numpy(), query.numpy(), looked.context[:, 0].numpy(), color=color)
    names = [f"{place:.2f}" for place in query[::3].tolist()]
    weights = heatmap.terminal(looked.weights()[::3].numpy(), rows=names, columns=x.tolist(), color=color)
    return (
        f"The points, and the curve with the learned bandwidth:\n\n{curve}\n\n"
        f"Where it looked: a row for each query x, a column for each key x_i:\n\n{weights}\n"
    )


def picture(x: Tensor, y: Tensor, bandwidth: float) -> str:
    """The same as SVG."""
    import torch

    from saccade.view.charts.kernel_regression import kernel_regression

    query = torch.linspace(0, WIDEST, DRAWN)
    looked = look(query, x, y, bandwidth)
    line, weights = looked.context[:, 0].numpy(), looked.weights().numpy()
    real = truth(query).numpy()
    return kernel_regression(x.numpy(), y.numpy(), query.numpy(), line, weights, truth=real, query=SINGLED_OUT)


def number(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float]:
    """An argument's type: a number of this kind within bounds."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            name = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {name} from {least} to {most}, got {text!r}")
        return value

    return parse


def parser() -> argparse.ArgumentParser:
    """The command line."""
    command = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Kernel regression as attention: the query is x, the keys are the x_i, the values are the y_i.\n"
        "Compares the plain mean, a Gaussian of fixed bandwidth, and one whose bandwidth is learned;\n"
        "then draws the curve and where it looked.",
        epilog="examples:\n  %(prog)s\n  %(prog)s --points 200 --noise 1 --svg look.svg",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--seed", type=number(int, 0, 2**32 - 1), default=0, metavar="N", help="which random data (default 0)")
    add("--points", type=number(int, 2, 2000), default=50, metavar="N", help="how many keys and values (default 50)")
    add("--noise", type=number(float, 0, 100), default=0.5, metavar="SIZE", help="spread of the noise (default 0.5)")
    add("--steps", type=number(int, 1, 10_000), default=200, metavar="N", help="gradient steps (default 200)")
    add("--svg", type=Path, metavar="PATH", help="also write the picture to this file")
    add("--plain", action="store_true", help="no color, even on a terminal")
    return command


def run(options: argparse.Namespace) -> None:
    """The experiment, told as it goes."""
    print(INTRODUCTION.format(points=options.points, noise=options.noise, seed=options.seed))
    print(LEARNING.format(steps=options.steps), flush=True)
    x, y = sample(options.points, options.noise, options.seed)
    bandwidth = learned_bandwidth(x, y, options.steps)
    print(f"Mean squared error against the true curve, at {MEASURED} places:\n")
    print(table(compare(x, y, bandwidth)), end="\n\n")
    print(draw(x, y, bandwidth, False if options.plain else None))
    if options.svg is not None:
        write(options.svg, picture(x, y, bandwidth))
    print(NEXT)


def write(path: Path, text: str) -> None:
    """Writes the picture, or says in one line why it could not."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        sys.exit(f"cannot write {str(path)!r}: {error.strerror}")
    print(f"The picture is in {str(path)!r}.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    try:
        try:
            run(parser().parse_args(arguments))
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
        if isinstance(error, BrokenPipeError):  # the reader (`| head -1`) has seen enough
            return 0
        print(f"cannot go on: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
