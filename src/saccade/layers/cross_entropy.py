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

# Numbers of one block of logits: 8 MB of float32, which stays in the last cache.
BLOCK_NUMBERS = 1 << 21


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"],
    target: Int[Tensor, " N"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Sum over the rows of −log p(target), p = softmax(hidden weight' + bias); `smoothing` of the target's share goes
    to all V alike (Szegedy et al. 2016), as in `torch.nn.functional.cross_entropy`."""
    return applied(_LinearCrossEntropy, hidden, weight, bias, target, smoothing)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float) -> Tensor:
        wanted = any(ctx.needs_input_grad[:3])
        rows = max(1, min(len(hidden), BLOCK_NUMBERS // len(weight)))
        buffers = [hidden.new_empty(rows, len(weight)) for _ in range(2)]
        grads = (torch.empty_like(hidden), torch.zeros_like(weight), torch.zeros_like(bias)) if wanted else None
        total = hidden.new_zeros((), dtype=torch.float64)
        for first in range(0, len(hidden), rows):
            block = slice(first, first + rows)
            given, answers = hidden[block], target[block]
            logits, logs = (buffer[: len(given)] for buffer in buffers)
            torch.addmm(bias, given, weight.t(), out=logits)
            torch.log_softmax(logits, -1, out=logs)
            total -= (1 - smoothing) * logs.gather(1, answers[:, None]).sum(dtype=torch.float64)
            if smoothing:
                total -= smoothing / len(weight) * logs.sum(dtype=torch.float64)
            if grads is not None:
                pull = _pull(logs, answers, smoothing)
                torch.mm(pull, weight, out=grads[0][block])
                grads[1].addmm_(pull.t(), given)
                grads[2].add_(pull.sum(0))
        if grads is not None:
            ctx.save_for_backward(*grads)
        return total.to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        hidden, weight, bias = (part * grad for part in ctx.saved_tensors)
        return hidden, weight, bias, None, None


def _pull(logs: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The gradient of the block's logits, in the place of its log-probabilities."""
    pull = logs.exp_()
    if smoothing:
        pull -= smoothing / logs.shape[1]
    return pull.scatter_add_(1, target[:, None], pull.new_full((len(target), 1), smoothing - 1))
