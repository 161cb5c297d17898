"""The blocks of a Transformer (Vaswani et al. 2017, section 3.1): residual layers around attention and a small network.

What mixes positions is a part that can be exchanged: self-attention, or a convolution (`saccade.layers.convolution`).
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from saccade.attention import Mask
from saccade.layers.cache import KeyValueCache, KeyValues, Past
from saccade.layers.dropout import Dropout
from saccade.layers.feed_forward import FeedForward
from saccade.layers.multihead import MultiHeadAttention, StepOutput

Norm = Literal["post", "pre"]
EPS = 1e-5  # of layer norm, as torch has it


class Residual(nn.Module):
    """x + dropout(f(x)), and layer norm: behind the sum ("post", as drawn in the paper) or before f ("pre").

    Shapes: (…, D) -> (…, D)
    """

    def __init__(self, width: int, dropout: float, norm: Norm, eps: float = EPS) -> None:
        super().__init__()
        self.place = norm
        self.norm = nn.LayerNorm(width, eps)
        self.dropout = Dropout(dropout)

    def enter(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """What f reads."""
        entered: Tensor = self.norm(x) if self.place == "pre" else x
        return entered

    def leave(self, x: Float[Tensor, "... D"], y: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        """The sum of x and what f wrote."""
        summed = x + self.dropout(y)
        left: Tensor = self.norm(summed) if self.place == "post" else summed
        return left


@runtime_checkable
class Mixer(Protocol):
    """What lets positions see each other, all at once or step by step for the hypotheses of a search.

    What steps need from one to the next has pools of rows, and says by `used` how many these hold.
    """

    def __call__(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """All positions (B, T, D); of sample b the first lengths[b] count."""
        ...

    def start(self) -> Any:
        """What steps need from one to the next, beside their past."""
        ...

    def step(self, x: Tensor, past: Past, state: Any) -> StepOutput:
        """The newest position of B × W hypotheses, (B, W, D), or the last W positions of B × 1; `past` has their places."""
        ...


class SelfAttention(nn.Module):
    """Every position looks at every other, or, `causal`, at those before it and itself; `mask` closes more.

    Shapes: x (B, T, D) -> (B, T, D)
    """

    def __init__(self, attention: MultiHeadAttention, mask: Callable[[Tensor | None], Mask | None]) -> None:
        super().__init__()
        self.attention = attention
        self.mask = mask

    def forward(self, x: Float[Tensor, "B T D"], lengths: Tensor | None) -> Float[Tensor, "B T D"]:
        mixed: Tensor = self.attention(x, mask=self.mask(lengths))
        return mixed

    def start(self) -> KeyValueCache:
        """Nothing before the first position."""
        return KeyValueCache()

    def step(self, x: Float[Tensor, "B W D"], past: Past, state: KeyValueCache) -> StepOutput:
        """Queries of the newest position, or of a prompt, over the keys of all so far."""
        return self.attention.step(x, past, state, mask=self.mask(None))


class EncoderLayer(nn.Module):
    """A mixer and a network for each position alone.

    Shapes: x (B, K, D) -> (B, K, D)
    """

    mixer: Mixer

    def __init__(self, mixer: Mixer, network: FeedForward, width: int, dropout: float, norm: Norm, eps: float = EPS) -> None:
        super().__init__()
        self.mixer, self.network = mixer, network
        self.mixed, self.worked = Residual(width, dropout, norm, eps), Residual(width, dropout, norm, eps)

    def forward(self, x: Float[Tensor, "B K D"], lengths: Tensor | None) -> Float[Tensor, "B K D"]:
        x = self.mixed.leave(x, self.mixer(self.mixed.enter(x), lengths))
        return self.worked.leave(x, self.network(self.worked.enter(x)))

    def step(self, x: Float[Tensor, "B W D"], past: Past, state: Any) -> StepOutput:
        """The same with a causal mixer, for the newest position or a prompt."""
        mixed = self.mixer.step(self.mixed.enter(x), past, state)
        x = self.mixed.leave(x, mixed.output)
        return StepOutput(self.worked.leave(x, self.network(self.worked.enter(x))), mixed.weights)


class DecoderLayer(nn.Module):
    """A causal mixer, attention over what was read, and a network for each position alone.

    Shapes: x (B, T, D), memory (B, K, D) -> (B, T, D)
    """

    mixer: Mixer

    def __init__(
        self, mixer: Mixer, cross: MultiHeadAttention, network: FeedForward, width: int, dropout: float, norm: Norm
    ) -> None:
        super().__init__()
        self.mixer, self.cross, self.network = mixer, cross, network
        self.mixed, self.crossed, self.worked = (Residual(width, dropout, norm) for _ in range(3))

    def forward(self, x: Float[Tensor, "B T D"], memory: Float[Tensor, "B K D"], mask: Mask) -> Float[Tensor, "B T D"]:
        x = self.mixed.leave(x, self.mixer(self.mixed.enter(x), None))
        x = self.crossed.leave(x, self.cross(self.crossed.enter(x), memory, mask=mask))
        return self.worked.leave(x, self.network(self.worked.enter(x)))

    def keep(self, memory: Float[Tensor, "B K D"], lengths: Tensor) -> KeyValues:
        """What was read as keys and values of this layer, once for all steps and hypotheses."""
        key, value = self.cross.joint(self.cross.key_map, self.cross.value_map)(memory)
        return KeyValues.of(key, value, lengths)

    def step(
        self, x: Float[Tensor, "B W D"], past: Past, state: Any, kept: KeyValues
    ) -> tuple[Tensor, StepOutput, StepOutput]:
        """One position more; the output, and where it looked in what was written and in what was read."""
        written = self.mixer.step(self.mixed.enter(x), past, state)
        x = self.mixed.leave(x, written.output)
        read = self.cross.look_at(self.cross.query_map(self.crossed.enter(x)), kept)
        x = self.crossed.leave(x, read.output)
        return self.worked.leave(x, self.network(self.worked.enter(x))), written, read
