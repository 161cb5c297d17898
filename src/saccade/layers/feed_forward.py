"""The network that each position goes through alone (Vaswani et al. 2017, section 3.3)."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.errors import UnknownName
from saccade.layers.dropout import Dropout
from saccade.layers.linear import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """W₂ f(W₁ x + b₁) + b₂, with dropout behind f.

    Shapes: (…, D) -> (…, D)
    """

    into: nn.Linear
    out: nn.Linear

    def __init__(self, width: int, hidden: int, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise UnknownName("activation", activation, ACTIVATIONS)
        self.activation = activation
        self.split = False  # whether other processes have columns of this network
        self.into, self.out = Linear(width, hidden), Linear(hidden, width)
        self.dropout = Dropout(dropout)
        for layer in (self.into, self.out):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        entered = self.into(x)
        if self.split:
            entered = entered.clone()  # a part of a tensor of several processes is a view, which may not be overwritten
        inner = self.dropout(ACTIVATIONS[self.activation](entered))
        out: Tensor = self.out(inner)
        return out
