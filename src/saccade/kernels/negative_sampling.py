"""Skip-gram with negative sampling (Mikolov et al. 2013): words learn vectors by which they foretell their neighbors.

A word (the center) and a neighbor (the context) make a pair. Its loss is -log σ(u·v) - Σ log σ(-uₙ·v), with v the center's
input vector, u the context's output vector and uₙ those of some words drawn by chance. Each pair is one step of descent,
after the pair before; `definition` says so plainly, float32 on the CPU runs in `saccade.kernels.loops.skip_gram_loops`.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ShapeError
from saccade.kernels.runtime import compiled, kernels_on


def descend(inputs: Tensor, outputs: Tensor, centers: Tensor, contexts: Tensor, negatives: Tensor, rate: float) -> Tensor:
    """A step for each pair, in their order and in place; the losses before each step (pairs).

    Shapes: inputs, outputs (V, D), centers, contexts (pairs), negatives (pairs, n)
    """
    for name, words in (("centers", centers), ("contexts", contexts), ("negatives", negatives)):
        _check(name, words, len(inputs) if name == "centers" else len(outputs))
    if not (kernels_on(inputs, outputs) and inputs.is_contiguous() and outputs.is_contiguous()):
        return definition(inputs, outputs, centers, contexts, negatives, rate)
    losses = torch.empty(len(centers), dtype=torch.float32)
    numbers = [part.contiguous().numpy() for part in (centers, contexts, negatives)]
    compiled("skip_gram")(inputs.numpy(), outputs.numpy(), *numbers, _float32(rate), losses.numpy())
    return losses


def _check(name: str, words: Tensor, size: int) -> None:
    """Refuse words that there are not: the kernel would read and write somewhere else in memory."""
    if words.numel() and not (int(words.min()) >= 0 and int(words.max()) < size):
        wrong = int(words.min()) if int(words.min()) < 0 else int(words.max())
        raise ShapeError(f"{name}: expected words 0 … {size - 1}, got {wrong}")


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
