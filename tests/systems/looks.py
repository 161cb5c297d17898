"""Where a model looks while it reads a batch."""

from typing import Any

from torch import Tensor

from saccade.attention import looking
from saccade.data.tensors import Batch

from .tiny import output_of


def weights_of(model: Any, batch: Batch) -> dict[str, Tensor]:
    """The weights of each look, by its name."""
    with looking(model) as recorded:
        output = output_of(model, batch)
    return {look.name: look.weights for look in model.looks(batch.input, output, recorded)}
