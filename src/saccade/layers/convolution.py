"""Light and dynamic convolution: neighbors mixed by weights that sum to one, in place of self-attention (Wu et al. 2019).

A position sees `size` neighbors, or, `causal`, as many before it, itself included. The weights of a head are a softmax:
learned once for all positions (light), or computed from each position alone (dynamic). The cost is linear in the length.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.live import live
from saccade.errors import ShapeError
from saccade.layers.cache import Past, Pool
from saccade.layers.dropout import Dropout
from saccade.layers.multihead import StepOutput


def mixed(x: Float[Tensor, "B N D"], weights: Float[Tensor, "... H K"], steps: int) -> Float[Tensor, "B T D"]:
    """Position t of head h is Σ_k weights[…, h, k] · x[t + k]; x has K - 1 positions more than there are steps.

    Weights are (H, K), or (B, T, H, K) where they differ from place to place.
    """
    heads, size = weights.shape[-2:]
    split = x.unflatten(-1, (heads, -1))
    total = weights[..., 0, None] * split[:, :steps]
    for k in range(1, size):
        total = total + weights[..., k, None] * split[:, k : k + steps]
    joined: Tensor = total.flatten(-2)
    return joined


class Convolution(nn.Module):
    """A gated map, the convolution, and a map of what it gave.

    Shapes: x (B, T, D) -> (B, T, D)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        size: int,
        *,
        kind: Literal["light", "dynamic"] = "light",
        causal: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if width % heads or size < 1 or (size % 2 == 0 and not causal):
            raise ShapeError(f"expected heads that divide {width} and an odd size, got {heads} heads and size {size}")
        self.heads, self.size, self.causal = heads, size, causal
        self.into, self.out = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.weight_map = nn.Linear(width, heads * size, bias=False) if kind == "dynamic" else None
        self.weight = nn.Parameter(torch.empty(heads, size)) if kind == "light" else None
        self.dropout = Dropout(dropout)
        shares = self.weight if self.weight_map is None else self.weight_map.weight
        for part in (self.into.weight, self.out.weight, shares):
            assert part is not None
            nn.init.xavier_uniform_(part)

    def weights(self, x: Float[Tensor, "B T D"]) -> Tensor:
        """How much each neighbor counts, the farthest before first: (H, K), or (B, T, H, K) if they depend on x."""
        if self.weight is not None:
            return self.weight.softmax(-1)
        assert self.weight_map is not None
        scores = self.weight_map(x).unflatten(-1, (self.heads, self.size))
        shares: Tensor = scores.softmax(-1)
        return shares

    def forward(self, x: Float[Tensor, "B T D"], lengths: Tensor | None) -> Float[Tensor, "B T D"]:
        gated = F.glu(self.into(x))
        if lengths is not None:  # what stands behind the end is nobody's neighbor
            gated = gated.masked_fill(~live(lengths, x.shape[1])[..., None], 0)
        before = self.size - 1 if self.causal else (self.size - 1) // 2
        padded = F.pad(gated, (0, 0, before, self.size - 1 - before))
        out: Tensor = self.out(mixed(padded, self.dropout(self.weights(gated)), x.shape[1]))
        return out

    def start(self) -> Pool:
        """Nothing before the first position."""
        return Pool()

    def step(self, x: Float[Tensor, "B W D"], past: Past, state: Pool) -> StepOutput:
        """The newest position of every hypothesis, or a prompt's last W, from the few before it in its past."""
        gated = F.glu(self.into(x))
        state.append(gated.flatten(0, 1))
        B, M, steps = past.places.shape
        new = x.shape[1] // M
        near = past.last(self.size - 1 + new)
        neighbors = state.rows[near.places.long()].flatten(0, 1)
        padded = F.pad(neighbors, (0, 0, self.size - 1 + new - near.steps, 0))
        weights = self.weights(gated.view(B * M, new, -1))
        output: Tensor = self.out(mixed(padded, weights, new)).view(x.shape)

        def looked() -> Tensor:
            spread = x.new_zeros(B * M, new, self.heads, self.size - 1 + steps)
            places = steps - new + torch.arange(new, device=x.device)[:, None] + torch.arange(self.size, device=x.device)
            spread.scatter_(-1, places[:, None].expand(B * M, new, self.heads, -1), weights.expand(B * M, new, -1, -1))
            return spread[..., self.size - 1 :].reshape(*x.shape[:2], self.heads, steps)

        return StepOutput(output, looked)
