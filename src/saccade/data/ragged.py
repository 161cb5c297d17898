"""Batches of bags as tensors: all items one after the other, without padding."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.examples import Bag


@dataclass(frozen=True)
class BagBatch:
    """The items of all bags, how many of them belong to each, and the number of the label of each bag.

    Shapes: items (N, …), sizes (B), label (B)
    """

    items: Float[Tensor, "N ..."]
    sizes: Int[Tensor, " B"]
    label: Int[Tensor, " B"]

    @property
    def tokens(self) -> int:
        """How many labels there are to write."""
        return len(self.label)


def joined(bags: Sequence[Bag], labels: Sequence[int] | NDArray[np.int64]) -> BagBatch:
    """These bags."""
    items = np.concatenate([bag.items for bag in bags]).astype(np.float32, copy=False)
    sizes = torch.tensor([len(bag.items) for bag in bags])
    return BagBatch(torch.from_numpy(items), sizes, torch.as_tensor(labels, dtype=torch.long))
