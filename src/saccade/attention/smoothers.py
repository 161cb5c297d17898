"""The kernels of the Nadaraya–Watson estimator (Nadaraya 1964, Watson 1964) as scores.

Each gives the logarithm of its kernel of u = |query - key| / bandwidth, so that softmax is the kernel's normalization,
carried out where nothing underflows, and a key outside the kernel's support scores -inf. The bandwidth is a number, a
tensor (one for each feature), or an `nn.Parameter` to be learned; only its square matters.
"""

import math

import torch
from torch import Tensor

from saccade.attention.pair_positions import Positions
from saccade.attention.quarantine import finite
from saccade.attention.score import Fold, Score, keep_number, same_width
from saccade.errors import ShapeError
from saccade.kernels.gaussian import gaussian_on, gaussian_pool


class Smoother(Score):
    """A kernel of the distance between query and key."""

    logarithmic = True
    one_width = True
    bandwidth: float | Tensor

    def __init__(self, bandwidth: float | Tensor = 1.0) -> None:
        super().__init__()
        if not isinstance(bandwidth, Tensor) and not bandwidth > 0:
            raise ShapeError(f"bandwidth must be greater than 0, got {bandwidth}")
        keep_number(self, "bandwidth", bandwidth)

    def queries(self, query: Tensor) -> Tensor:
        return query / self.bandwidth

    def keys(self, key: Tensor) -> Tensor:
        return key / self.bandwidth

    def squares(self, query: Tensor, key: Tensor) -> Tensor:
        """u² of each pair."""
        same_width(query, key, self)
        difference = query - key
        return (difference * difference).sum(-1)


class Gaussian(Smoother):
    """exp(-u²/2): every key counts, near ones more."""

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return -0.5 * self.squares(query, key)

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold:
        """-|q-k|²/2 = q·k - |k|²/2 less a constant a row. Distances outlive a shift: centering keeps the digits."""
        same_width(query, key, self)
        center = _mean(key.detach(), live)
        query, key = query - center, key - center
        norms = -0.5 * (key * key).sum(-1, keepdim=True)
        return Fold(torch.cat((query, torch.ones_like(query[..., :1])), -1), torch.cat((key, norms), -1))

    def pool(self, query: Tensor, key: Tensor, value: Tensor, live: Tensor | None, others: bool) -> Tensor | None:
        """Distances as they are, which keeps more digits than the fold."""
        same_width(query, key, self)
        if live is not None or not gaussian_on(query, key, value) or not finite(query, key, value):
            return None
        return gaussian_pool(query, key, value, others)


def _mean(key: Tensor, live: Tensor | None) -> Tensor:
    if live is None:
        return key.mean(-2, keepdim=True)
    seen = live[..., None].to(key.dtype)
    return torch.where(live[..., None], key, 0).sum(-2, keepdim=True) / seen.sum(-2, keepdim=True).clamp(min=1)


class Boxcar(Smoother):
    """1 where u ≤ 1, else 0: the mean of the neighbors. A query without neighbors sees nothing."""

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        squares = self.squares(query, key)
        return torch.zeros_like(squares).masked_fill(squares > 1, -math.inf)


class Epanechnikov(Smoother):
    """1 - u² where u < 1, else 0: the kernel of least mean squared error."""

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        squares = self.squares(query, key)
        outside = squares >= 1
        return torch.log1p(-squares.masked_fill(outside, 0)).masked_fill(outside, -math.inf)


class Constant(Smoother):
    """1 everywhere: the mean of all values, the baseline of all estimators."""

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return torch.zeros_like(self.squares(query, key))

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold:
        return Fold(torch.zeros_like(query[..., :1]), torch.zeros_like(key[..., :1]))
