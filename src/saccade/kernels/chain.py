"""Marginals of a linear chain of yes and no (Kim et al. 2017, section 3.1): how likely each member is chosen.

p(z) ∝ exp(Σ_k s_k z_k + Σ_k T[z_k, z_k+1]) for z in {0, 1}^K, and what is returned is p(z_k = 1). Members with a score of
-inf are not there: the chain goes on from the one before to the one after. All messages are log-odds, single numbers
that cannot overflow. The gradient for the scores is a product with the second derivative of log Z, which the same two
passes give along a direction; so is that for T. Its meaning is `marginals_definition`; float32 and float64 on the CPU run
in `saccade.kernels.loops.chain_loops`, in odds of double precision.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.function import applied, differentiable_by, keep, kept
from saccade.kernels.runtime import kernels_on, run

MOST = 300.0  # beyond this a score is as good as infinite, and odds of it times odds of it still are a number


def chain_marginals(
    scores: Float[Tensor, "... K"], transitions: Float[Tensor, "2 2"], starts: Bool[Tensor, " K"] | None = None
) -> Float[Tensor, "... K"]:
    """p(z_k = 1) along the last dimension; where `starts` is true another chain begins."""
    if transitions.shape != (2, 2):
        raise ShapeError(f"transitions: expected 2 × 2 numbers, from no and yes to both, got {tuple(transitions.shape)}")
    if scores.shape[-1] == 0:
        return scores
    exact = scores.dtype if scores.dtype == torch.float64 else torch.float32
    if 0 in scores.shape or not (kernels_on(scores, dtype=exact) and kernels_on(transitions, dtype=transitions.dtype)):
        return marginals_definition(scores, transitions, starts)
    return applied(_Marginals, scores, transitions, starts)


def marginals_definition(scores: Tensor, transitions: Tensor, starts: Tensor | None = None) -> Tensor:
    """The same in plain torch."""
    exact = scores if scores.dtype == torch.float64 else scores.float()
    wide = transitions.to(exact)
    open_ = (exact > -torch.inf).unbind(-1)
    own = exact.masked_fill(exact == -torch.inf, 0).clamp(-MOST, MOST).unbind(-1)
    starts = exact.new_zeros(len(own), dtype=torch.bool) if starts is None else starts
    left = _messages(own, open_, starts.unbind(), wide)
    # From the right a chain begins behind the place at which, from the left, another one does.
    right = _messages(own[::-1], open_[::-1], starts.roll(-1).flip(0).unbind(), wide.t())[::-1]
    found = [torch.sigmoid(one + other - s) for one, other, s in zip(left, right, own, strict=True)]
    return torch.stack(found, -1).masked_fill(exact == -torch.inf, 0).to(scores.dtype)


def _messages(own: Any, open_: Any, begins: Any, transitions: Tensor) -> list[Tensor]:
    """The log-odds of each member given all before it and its own score."""
    (no_no, no_yes), (yes_no, yes_yes) = (row.unbind() for row in transitions.unbind())
    messages: list[Tensor] = []
    odds = there = None
    for s, is_open, begin in zip(own, open_, begins, strict=True):
        if odds is None or there is None:
            odds, there = torch.where(is_open, s, 0), is_open
        else:
            linked = there & ~begin
            pushed = torch.logaddexp(no_yes, odds + yes_yes) - torch.logaddexp(no_no, odds + yes_no)
            odds = torch.where(is_open, s + torch.where(linked, pushed, 0), odds)
            there = linked | is_open
        messages.append(odds)
    return messages


class _Marginals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, transitions: Tensor, starts: Tensor | None) -> Tensor:
        rows = scores.detach().reshape(-1, scores.shape[-1]).double()
        odds = rows.clamp(-MOST, MOST).exp_().masked_fill_(rows == -torch.inf, 0)
        begins = torch.zeros(scores.shape[-1], dtype=torch.bool) if starts is None else starts
        powers = transitions.detach().double().exp()
        before, after, marginals = torch.empty_like(odds), torch.empty_like(odds), torch.empty_like(odds)
        given = (odds, begins, powers)
        run("chain_forward", *_arrays(*given, before, after, marginals))
        keep(ctx, (scores, transitions, starts), *given, before, after, marginals)
        return marginals.view(scores.shape).to(scores.dtype)

    @staticmethod
    @differentiable_by(marginals_definition)
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (scores, transitions, _), inner = kept(ctx)
        along = grad.detach().reshape(-1, scores.shape[-1]).double().contiguous()
        pulls, pairs = torch.empty_like(along), along.new_zeros(len(along), 2, 2)
        run("chain_backward", *_arrays(*inner, along, pulls, pairs))
        return pulls.view(scores.shape).to(scores.dtype), pairs.sum(0).to(transitions.dtype), None


def _arrays(*tensors: Tensor) -> list[np.ndarray[Any, Any]]:
    return [tensor.contiguous().numpy() for tensor in tensors]
