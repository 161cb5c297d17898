"""Cross-entropy of a linear output layer without keeping its logits, a block of rows at a time.

The N × V logits of a large vocabulary, their softmax and its gradient would be the largest tensors of a training step,
and each fresh page of memory is dear. One block's buffer is used again and again, and the gradients are made on the way
forward, when the block's probabilities are at hand.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.function import applied

# Numbers of one block of logits, 32 MB of float32: enough rows for a fast matrix product.
BLOCK_NUMBERS = 1 << 23
# −log of shares smaller than this are taken from the logits: the share itself has lost its digits.
FAR = 60.0


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    target: Int[Tensor, " N"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Sum over the rows of −log p(target), p = softmax(hidden weight' + bias); `smoothing` of the target's share goes
    to all V alike (Szegedy et al. 2016), as in `torch.nn.functional.cross_entropy`."""
    # Asked for inside `forward`, where gradients are always off, this could not be told from evaluation.
    wanted = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (hidden, weight, bias))
    return applied(_LinearCrossEntropy, hidden, weight, bias, target, smoothing, wanted)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float, wanted: bool
    ) -> Tensor:
        rows = max(1, min(len(hidden), BLOCK_NUMBERS // len(weight)))
        buffers = [hidden.new_empty(rows, len(weight)) for _ in range(2)]
        grads = (torch.empty_like(hidden), torch.empty_like(weight), torch.zeros_like(bias)) if wanted else None
        total = hidden.new_zeros((), dtype=torch.float64)
        for first in range(0, len(hidden), rows):
            block = slice(first, first + rows)
            given, answers = hidden[block], target[block]
            logits, shares = (buffer[: len(given)] for buffer in buffers)
            torch.addmm(bias, given, weight.t(), out=logits)
            torch.softmax(logits, -1, out=shares)
            total += _losses(logits, shares, answers, smoothing).sum(dtype=torch.float64)
            if grads is not None:
                pull = _pull(shares, answers, smoothing)
                torch.mm(pull, weight, out=grads[0][block])
                torch.addmm(grads[1], pull.t(), given, beta=float(first > 0), out=grads[1])
                grads[2].add_(pull.sum(0))
        ctx.grads = grads if len(hidden) or grads is None else tuple(grad.zero_() for grad in grads)
        return total.to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        if not ctx.grads:
            raise RuntimeError("linear_cross_entropy gives its gradients away once; compute the loss again")
        hidden, weight, bias = (part.mul_(grad) for part in ctx.grads)
        ctx.grads = ()
        return hidden, weight, bias, None, None, None


def _losses(logits: Tensor, shares: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """−log of each row's share at its target, the share being smoothed; exact also where it underflows."""
    wanted = target[:, None]
    losses = -shares.gather(1, wanted).log()
    far = (losses[:, 0] > FAR).nonzero()[:, 0]
    if len(far):
        losses[far] = torch.log_softmax(logits[far], 1).gather(1, wanted[far]).neg()
    if smoothing:
        # −mean of all log-shares = log of the sum − mean of the logits, and the former is the target's logit + loss.
        apart = logits.gather(1, wanted) + losses - logits.mean(1, keepdim=True)
        losses = (1 - smoothing) * losses + smoothing * apart
    return losses


def _pull(shares: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The gradient of the block's logits, in the place of their shares."""
    pull = shares
    if smoothing:
        pull -= smoothing / shares.shape[1]
    return pull.scatter_add_(1, target[:, None], pull.new_full((len(target), 1), smoothing - 1))
