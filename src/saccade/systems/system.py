"""What the engine knows of every system."""

from typing import Any

from torch import Tensor, nn


class System(nn.Module):
    """A model that can be trained: it gives the loss of a batch. What else it can do is its task's business."""

    def loss(self, batch: Any, smoothing: float = 0.0) -> Tensor:
        """The sum of the losses of everything the batch predicts (`batch.tokens` of them)."""
        raise NotImplementedError(f"{type(self).__name__} must define loss(batch, smoothing)")
