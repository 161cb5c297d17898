"""From scores to weights: softmax and its sparse, hard and plain relatives, and the registry of them.

A score of -inf means "may not look". A group with nothing to look at gets zeros.
"""

from functools import cache
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention.entmax import entmax
from saccade.attention.groups import Group
from saccade.attention.score import keep_number
from saccade.errors import SaccadeError, UnknownName


class Normalizer(nn.Module):
    """Base of all normalizers; a new one writes `forward` with the group's reductions, and works on rows and on edges."""

    # Whether rows of weights are ≥ 0 and sum to 1 (or to 0).
    distribution: ClassVar[bool] = True
    # Whether the order of the keys counts.
    ordered: ClassVar[bool] = False
    # Whether one random number a query is drawn.
    draws: ClassVar[bool] = False

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        """Weights, shaped like the scores."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(scores, group, noise)")

    def on_logarithms(self) -> "Normalizer":
        """The normalizer that does the same for scores that are logarithms of a kernel."""
        return self

    def log_prob(self, scores: Tensor, weights: Tensor, group: Group) -> Tensor:
        """Log-probability of what was drawn, one number a query."""
        raise SaccadeError(f"normalizer {type(self).__name__} draws nothing; use 'hard' or 'straight_through'")


class Softmax(Normalizer):
    """exp(s) / Σ exp(s)."""

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return group.softmax(scores)


class Kernel(Normalizer):
    """k / Σ k of the non-negative part of a score; for a kernel's logarithm, of the kernel itself."""

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        positive = scores.clamp(min=0)
        total = group.total(positive)
        return positive / torch.where(total > 0, total, 1)

    def on_logarithms(self) -> Normalizer:
        return Softmax()


class Unnormalized(Normalizer):
    """The score itself as weight (0 where it may not look); for a kernel's logarithm, the kernel."""

    distribution = False

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return scores.masked_fill(scores == -torch.inf, 0)

    def on_logarithms(self) -> Normalizer:
        return Exponential()


class Exponential(Normalizer):
    """exp(s): what `Unnormalized` is for the logarithm of a kernel."""

    distribution = False

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return scores.exp()


class Entmax(Normalizer):
    """α-entmax: sparser than softmax as α grows from 1; α may be an `nn.Parameter` (Correia et al. 2019)."""

    alpha: float | Tensor

    def __init__(self, alpha: float | Tensor = 1.25) -> None:
        super().__init__()
        value = alpha.item() if isinstance(alpha, Tensor) else alpha
        if value <= 1:
            raise SaccadeError(f"entmax needs alpha > 1, got {value}; alpha 1 is 'softmax'")
        keep_number(self, "alpha", alpha)

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return entmax(scores, group, self.alpha)


class Entmax15(Entmax):
    """1.5-entmax."""

    def __init__(self) -> None:
        super().__init__(1.5)


class Sparsemax(Entmax):
    """The nearest point of the simplex: exact zeros."""

    def __init__(self) -> None:
        super().__init__(2.0)


class Chain(Normalizer):
    """Chance that a key is chosen, in a linear chain of yes and no over all keys: segments (Kim et al. 2017)."""

    distribution = False
    ordered = True
    # From no and yes to both, until others are learned: what is chosen or left out tends to be so together.
    FIRST: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((1.0, 0.0), (0.0, 1.0))

    def __init__(self, transitions: Float[Tensor, "2 2"] | None = None) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.tensor(self.FIRST) if transitions is None else transitions.detach().clone())

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return group.chain(scores, self.transitions)


class ChainMean(Chain):
    """Those chances divided by their sum, a mean over what is chosen, as in the translations of Kim et al. (2017)."""

    distribution = True
    # Few are chosen, so that weights are nearly those of softmax, until others are learned.
    FIRST = ((2.0, 0.0), (0.0, 0.0))

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        # In float32 the chances of low scores are 0, and their mean would be lost.
        chances = super().forward(scores.double(), group, noise)
        total = group.total(chances)
        return (chances / torch.where(total > 0, total, 1)).to(scores.dtype)


class Hard(Normalizer):
    """One key, drawn from the softmax; no gradient but through `Attended.log_prob()` (REINFORCE, Xu et al. 2015)."""

    draws = True

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        return self._draw(group.softmax(scores.detach()), group, noise)

    def _draw(self, chances: Tensor, group: Group, noise: Tensor | None) -> Tensor:
        """The first key at which the running sum of chances reaches a uniform number in (0, 1]."""
        if noise is None:
            raise SaccadeError("hard attention needs one uniform number a query")
        exact = chances.detach().double()
        running = group.running(exact)
        reached = running >= noise * group.peak(running)
        first = reached & (group.running(reached.double()) == 1) & (exact > 0)
        return first.to(chances.dtype)

    def log_prob(self, scores: Tensor, weights: Tensor, group: Group) -> Tensor:
        # log softmax where the weight is 1; elsewhere 0 is put in before the logarithm, so that no -inf is multiplied.
        peak = group.peak(scores.detach())
        centered = scores - torch.where(peak == -torch.inf, 0, peak)
        total = group.total(centered.exp())
        logarithm = centered - torch.where(total > 0, total, 1).log()
        return group.collect(torch.where(weights > 0, logarithm, 0))


class StraightThrough(Hard):
    """One key, drawn; the gradient is that of the softmax (Bengio et al. 2013)."""

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        chances = group.softmax(scores)
        return self._draw(chances, group, noise) + (chances - chances.detach())


NORMALIZERS: dict[str, type[Normalizer]] = {
    "softmax": Softmax,
    "kernel": Kernel,
    "none": Unnormalized,
    "sparsemax": Sparsemax,
    "entmax15": Entmax15,
    "entmax": Entmax,
    "chain": Chain,
    "chain_mean": ChainMean,
    "hard": Hard,
    "straight_through": StraightThrough,
}


def make_normalizer(name: str) -> Normalizer:
    """The normalizer of this name, with its defaults."""
    if name not in NORMALIZERS:
        raise UnknownName("normalizer", name, NORMALIZERS)
    return NORMALIZERS[name]()


@cache
def _named(name: str, kind: Any) -> Normalizer:
    """One object serves all calls that only name it: it never changes. `kind` is there so that a new entry is noticed."""
    return make_normalizer(name).requires_grad_(False)


def as_normalizer(normalize: Normalizer | str, logarithmic: bool) -> Normalizer:
    """The normalizer itself, or the one of this name, for scores that are a kernel's logarithm or not."""
    if not isinstance(normalize, Normalizer | str):
        raise SaccadeError(f"normalize must be a Normalizer such as Softmax(), or a name, got {type(normalize).__name__}")
    if isinstance(normalize, str):
        kind: Any = NORMALIZERS.get(normalize)
        normalize = make_normalizer(normalize) if torch.compiler.is_compiling() else _named(normalize, kind)
    return normalize.on_logarithms() if logarithmic else normalize
