"""α-entmax (Peters et al. 2019): between softmax (α → 1) and sparsemax (α = 2, Martins & Astudillo 2016).

p = [(α-1) s - τ]₊^(1/(α-1)) with the one threshold τ that makes a group sum to 1. Up to α = 2 the sum is convex in τ, so
Newton's steps from the left never overshoot and end after a few; beyond, the interval is halved. So it is, too, where the
host cannot ask whether the steps have ended: on an accelerator and while torch traces.
"""

from typing import Any

import torch
from torch import Tensor

from saccade.attention.groups import Group
from saccade.kernels.function import applied, keep, kept
from saccade.kernels.runtime import traced

NEWTON_STEPS = 64


def entmax(scores: Tensor, group: Group, alpha: float | Tensor) -> Tensor:
    """Sparse weights of each group; -inf is never chosen, and a group of nothing else gets zeros."""
    return applied(_Entmax, scores, alpha, group)


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float | Tensor, group: Group) -> Tensor:
        exact = scores if scores.dtype == torch.float64 else scores.float()
        weights = _solve(exact, group, _number(alpha)).to(scores.dtype)
        keep(ctx, (alpha, group), weights)
        return weights

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (alpha, group), (weights,) = kept(ctx)
        order = _number(alpha)
        # dp/ds = diag(g) - g g'/Σg with g = p^(2-α) on the support (Peters et al. 2019, prop. 2).
        slope = torch.where(weights > 0, weights ** (2 - order), 0)
        sum_of_slopes = group.total(slope)
        share = slope / torch.where(sum_of_slopes > 0, sum_of_slopes, 1)
        scores_grad = slope * grad - share * group.total(slope * grad)
        alpha_grad = _alpha_gradient(weights, share, grad, order, group) if ctx.needs_input_grad[1] else None
        return scores_grad, alpha_grad, None


def _number(alpha: float | Tensor) -> float | Tensor:
    """As a number, where the host knows it."""
    return alpha.item() if isinstance(alpha, Tensor) and alpha.is_cpu and not traced() else alpha


def _alpha_gradient(weights: Tensor, share: Tensor, grad: Tensor, order: float | Tensor, group: Group) -> Tensor:
    """Gradient for α (Correia et al. 2019, prop. 1)."""
    surprise = torch.where(weights > 0, weights * weights.clamp(min=1e-38).log(), 0)
    change = (weights - share) / (order - 1) ** 2 - (surprise - share * group.total(surprise)) / (order - 1)
    return (grad * change).sum()


def _solve(scores: Tensor, group: Group, alpha: float | Tensor) -> Tensor:
    scores = scores * (alpha - 1)
    peak = group.peak(scores)
    scores = scores - torch.where(peak == -torch.inf, 0, peak)
    ends = scores.is_cpu and not traced() and bool(alpha <= 2)
    weights = (_newton if ends else _halving)(scores, group, 1 / (alpha - 1))
    total = group.total(weights)
    return weights / torch.where(total > 0, total, 1)


def _newton(scores: Tensor, group: Group, power: float | Tensor) -> Tensor:
    threshold = torch.full_like(group.total(torch.zeros_like(scores)), -1)
    rounding = 4 * torch.finfo(scores.dtype).eps
    for _ in range(NEWTON_STEPS):
        above = (scores - threshold).clamp(min=0)
        excess = group.total(above**power) - 1
        slope = power * group.total(torch.where(above > 0, above ** (power - 1), 0))
        step = torch.where(slope > 0, excess / torch.where(slope > 0, slope, 1), 0)
        threshold = threshold + step
        if not bool((step > rounding).any()):
            break
    return (scores - threshold).clamp(min=0) ** power


def _halving(scores: Tensor, group: Group, power: float | Tensor) -> Tensor:
    low = torch.full_like(group.total(torch.zeros_like(scores)), -1)
    width = torch.ones_like(low)
    for _ in range(56 if scores.dtype == torch.float64 else 28):
        width = width / 2
        over = group.total((scores - (low + width)).clamp(min=0) ** power) >= 1
        low = torch.where(over, low + width, low)
    return (scores - low).clamp(min=0) ** power
