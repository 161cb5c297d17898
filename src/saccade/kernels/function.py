"""A typed way to call a `torch.autograd.Function` that gives one tensor."""

from typing import Any

import torch
from torch import Tensor


def applied(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    """Its output, tied to its inputs for the gradient."""
    untyped: Any = function
    output: Tensor = untyped.apply(*inputs)
    return output
