"""Skip-gram with negative sampling (Mikolov et al. 2013): words learn vectors by which they foretell their neighbors.

A word (the center) and a neighbor (the context) make a pair. Its loss is -log σ(u·v) - Σ log σ(-uₙ·v), with v the center's
input vector, u the context's output vector and uₙ those of some words drawn by chance. Each pair is one step of descent,
after the pair before; `definition` says so plainly, float32 on the CPU runs in `saccade.kernels.compiled_skip_gram`.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.runtime import compiled, kernels_on


def descend(inputs: Tensor, outputs: Tensor, centers: Tensor, contexts: Tensor, negatives: Tensor, rate: float) -> Tensor:
    """A step for each pair, in their order and in place; the losses before each step (pairs).

    Shapes: inputs, outputs (V, D), centers, contexts (pairs), negatives (pairs, n)
    """
    if not kernels_on(inputs, outputs):
        return definition(inputs, outputs, centers, contexts, negatives, rate)
    losses = torch.empty(len(centers), dtype=torch.float32)
    numbers = (centers.numpy(), contexts.numpy(), negatives.numpy())
    compiled("skip_gram")(inputs.numpy(), outputs.numpy(), *numbers, _float32(rate), losses.numpy())
    return losses


def definition(inputs: Tensor, outputs: Tensor, centers: Tensor, contexts: Tensor, negatives: Tensor, rate: float) -> Tensor:
    """The same, plainly."""
    losses = []
    for center, context, drawn in zip(centers.tolist(), contexts.tolist(), negatives.tolist(), strict=True):
        words = torch.tensor([context, *(word for word in drawn if word != context)])
        likely = torch.zeros(len(words), dtype=inputs.dtype)
        likely[0] = 1
        scores = outputs[words] @ inputs[center]
        losses.append(F.binary_cross_entropy_with_logits(scores, likely, reduction="sum"))
        pulls = rate * (likely - scores.sigmoid())
        moved = pulls @ outputs[words]
        outputs.index_add_(0, words, pulls[:, None] * inputs[center])
        inputs[center] += moved
    return torch.stack(losses) if losses else inputs.new_zeros(0)


def _float32(number: float) -> object:
    return torch.tensor(number, dtype=torch.float32).numpy()[()]
