"""Local attention (Luong et al. 2015, section 3.2): a window around an aligned position, as a mask plus a factor.

Local-m takes the position as given, `local_m(center, reach)`, usually the step t itself. Local-p predicts it,
p_t = S·sigmoid(v'tanh(W h_t)), and favors keys near it by exp(-(s-p_t)²/2σ²) with σ = reach/2. As in the paper the factor
is applied after the softmax, so a row sums to at most 1, and the gradient reaches p_t through it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention.masks import MASKS, Mask, at_least
from saccade.attention.pair_positions import Positions


@dataclass(frozen=True, eq=False)
class Local(Mask):
    """Keys at most `reach` from each query's center, and, with a `sigma`, a Gaussian factor around it."""

    center: Tensor
    reach: int
    sigma: float | None = None

    def has_factor(self) -> bool:
        return self.sigma is not None

    def allows(self, at: Positions) -> Tensor:
        return (at.key - at.per_query(self.center.detach())).abs() <= self.reach

    def factor(self, at: Positions) -> Tensor | None:
        if self.sigma is None:
            return None
        distance = at.key - at.per_query(self.center)
        return torch.exp(-0.5 * (distance / self.sigma) ** 2)

    def __str__(self) -> str:
        return f"local_m({self.reach})" if self.sigma is None else f"local_p({self.reach})"


def local_m(center: Tensor, reach: int) -> Mask:
    """Monotonic: query i sees keys center[i] - reach … center[i] + reach; center is (…, Q), samples first."""
    return Local(center, at_least(reach, 0, "reach"))


def local_p(center: Tensor, reach: int) -> Mask:
    """Predictive: as local_m, and weights fall off with the distance from a center that may carry a gradient."""
    return Local(center, at_least(reach, 1, "reach"), reach / 2)


class PredictedCenter(nn.Module):
    """p_t = S·sigmoid(v'tanh(W h_t)), eq. 9: where in a source of S keys each query should look.

    Shapes: queries (B, Q, D), lengths (B) -> (B, Q)
    """

    def __init__(self, width: int, hidden: int | None = None) -> None:
        super().__init__()
        self.map = nn.Linear(width, width if hidden is None else hidden, bias=False)
        self.vector = nn.Linear(self.map.out_features, 1, bias=False)

    def forward(self, query: Float[Tensor, "B Q D"], lengths: Tensor) -> Float[Tensor, "B Q"]:
        place = torch.sigmoid(self.vector(torch.tanh(self.map(query)))).squeeze(-1)
        return place * lengths[:, None]


MASKS |= {"local_m": local_m, "local_p": local_p}
