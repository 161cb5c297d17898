"""Choosing the bandwidth of a kernel smoother: how well each point is predicted from all the others.

The error is that of leave-one-out: a mask keeps each point from itself, otherwise a bandwidth of zero would win. Above
10,000 points a part of them is left out in turn, predicted from all.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from saccade.attention import others
from saccade.errors import ShapeError
from saccade.estimators.smoothing import Bandwidth, smooth

PAIRS, FEWEST = 10**8, 2000  # pairs that one error may cost; points left out at the least
COARSE = math.log(2)  # the step of the first round, in logarithms of the bandwidth
FINE = 0.004  # how near the best bandwidth the second round comes
GOLDEN = (math.sqrt(5) - 1) / 2
STEPS = 30  # of the optimizer at the most


class LeaveOneOut:
    """The mean squared error of predicting points from all others, in units of the values' variance."""

    def __init__(self, key: Tensor, value: Tensor, kernel: str) -> None:
        count = len(key)
        self.left_out = min(count, max(FEWEST, PAIRS // count))
        if self.left_out < count:  # the last query stands at the last key: those left out go to the end
            order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
            key, value = key[order], value[order]
        self.key, self.value, self.kernel = key, value, kernel
        variance = value.var(0, correction=0).sum()
        self.variance = torch.where(variance > 0, variance, 1.0)  # of one value there is nothing to get wrong

    def __call__(self, bandwidth: Bandwidth) -> Tensor:
        """The error with this bandwidth; differentiable where the kernel is."""
        query, truth = self.key[-self.left_out :], self.value[-self.left_out :]
        guess = smooth(query, self.key, self.value, self.kernel, bandwidth, others())
        return (guess - truth).square().sum(-1).mean() / self.variance


def rule_of_thumb(key: Tensor) -> Tensor:
    """Scott's rule (1979) for each feature: its spread times n^(-1/(d+4)); 1 where all keys are alike."""
    spread = key.std(0, correction=0)
    factor = len(key) ** (-1 / (key.shape[1] + 4))
    return torch.where(spread > 0, spread * factor, 1.0)


def search(key: Tensor, value: Tensor, kernel: str) -> float:
    """The one bandwidth of least error: a coarse grid, then golden sections around its best."""
    low, high = _bounds(key)
    if len(key) < 3:
        return float(rule_of_thumb(key).mean())
    error = LeaveOneOut(key, value, kernel)

    def at(logarithm: float) -> float:
        return error(math.exp(logarithm)).item()

    count = 2 + int((math.log(high) - math.log(low)) / COARSE)
    best = min((math.log(low) + COARSE * step for step in range(count)), key=at)
    return math.exp(_golden(at, best - COARSE, best + COARSE))


def _bounds(key: Tensor) -> tuple[float, float]:
    """From a tenth of the usual gap between neighbors to ten times the widest spread."""
    spread = key.std(0, correction=0)
    spread = torch.where(spread > 0, spread, 1.0)
    gap = len(key) ** (-1 / key.shape[1])
    return 0.1 * gap * spread.min().item(), 10 * spread.max().item()


def _golden(error: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley between the two is lowest (Kiefer 1953)."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = error(left), error(right)
    while high - low > FINE:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = error(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = error(right)
    return left if at_left <= at_right else right


def learn(key: Tensor, value: Tensor, kernel: str, per_feature: bool) -> Tensor:
    """The bandwidth, or one for each feature, by gradient descent (L-BFGS) on the error, from the rule of thumb on."""
    if kernel == "boxcar":
        raise ShapeError("kernel boxcar has no gradient to learn a bandwidth by, got 'learned'; use bandwidth='loo'")
    start = rule_of_thumb(key)
    start = start if per_feature else start.mean(0, keepdim=True)
    if len(key) < 3:
        return start
    error, (low, high) = LeaveOneOut(key, value, kernel), _bounds(key)
    logarithm = start.log().requires_grad_()
    optimizer = torch.optim.LBFGS([logarithm], max_iter=STEPS, tolerance_change=1e-7, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        loss = error(logarithm.clamp(math.log(low), math.log(high)).exp())
        (logarithm.grad,) = torch.autograd.grad(loss, [logarithm])
        return loss

    optimizer.step(closure)
    return logarithm.detach().clamp(math.log(low), math.log(high)).exp()
