"""What the engine knows of every system."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import looking


class System(nn.Module):
    """A model that can be trained: it gives the loss of a batch. What else it can do is its task's business."""

    def loss(self, batch: Any, smoothing: float = 0.0) -> Tensor:
        """The sum of the losses of everything the batch predicts (`batch.tokens` of them)."""
        raise NotImplementedError(f"{type(self).__name__} must define loss(batch, smoothing)")

    def reading(self, source: Tensor, source_lengths: Tensor) -> dict[str, Tensor]:
        """Where each place of the source looked while it was read, (B, H, K, K) by name; nothing where none looks."""
        return {}


class Labeler(System):
    """A system that writes one label for each example: its forward gives logits, (B, labels), of a batch with `label`."""

    def loss(self, batch: Any, smoothing: float = 0.0) -> Tensor:
        """Cross-entropy, summed over the batch."""
        return F.cross_entropy(self(batch), batch.label, label_smoothing=smoothing, reduction="sum")

    def agreeing_loss(self, batch: Any, smoothing: float, agreement: float) -> Tensor:
        """The mean loss of two readings, each with a dropout of its own, and so much of the divergence between them: the
        mean of KL(p‖q) and KL(q‖p) (R-Drop, Liang et al. 2021, equations 2 and 3, halved)."""
        one, other = (F.log_softmax(self(batch), -1) for _ in range(2))
        told = F.cross_entropy(torch.cat((one, other)), batch.label.repeat(2), label_smoothing=smoothing, reduction="sum")
        apart = ((one.exp() - other.exp()) * (one - other)).sum()
        return (told + agreement * apart) / 2

    def glance(self, batch: Any) -> dict[str, Tensor]:
        """Where it looked, (B, H, Q, K) by the name of the part that looked; nothing where none does."""
        with looking(self) as looks:
            self(batch)
        # What the system itself looked at on the way, the mean of all words say, is not what its parts chose to look at.
        names = [name for name in looks if name] or list(looks)
        found = {name or "attention": looks[name][-1].weights() for name in names}
        return {name: weights.unflatten(0, (len(batch.label), -1)) for name, weights in found.items()}
