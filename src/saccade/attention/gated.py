"""Gates: each channel let through by a weight of its own (Hu et al. 2018). Nothing is added up: they need not sum to 1."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from saccade.attention import looks
from saccade.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Gated:
    """What was let through, (B, C, …), and how much of each channel, (B, C).

    The score and the normalizer of attention, without its sum: every channel is scaled where it stands.
    """

    context: Tensor
    gates: Tensor

    def __repr__(self) -> str:
        return f"Gated(context={tuple(self.context.shape)}, channels={self.gates.shape[-1]})"

    def weights(self) -> Float[Tensor, "B 1 C"]:
        """As those of one query that looks at all channels: each between 0 and 1, whatever the others are."""
        return self.gates[:, None]


def gate(x: Float[Tensor, "B C ..."], scores: Float[Tensor, "B C"]) -> Gated:
    """Every channel times the sigmoid of its score."""
    if x.dim() < 2 or scores.shape != x.shape[:2]:
        raise ShapeError(f"expected a score for each channel of {tuple(x.shape)}, (B, C), got {tuple(scores.shape)}")
    gates = scores.sigmoid()
    gated = Gated(x * gates.view(*gates.shape, *(1,) * (x.dim() - 2)), gates)
    looks.record(gated)
    return gated
