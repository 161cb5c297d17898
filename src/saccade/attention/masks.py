"""Who may look where: small values joined with `&`. True means may look, everywhere.

    causal() & window(64)            restricted self-attention that does not see the future
    lengths(torch.tensor([3, 5]))    the first 3 keys of sample 0, the first 5 of sample 1

A mask knows positions, not tensors of pairs: it is turned into booleans for the rows that are being computed only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.attention.live import live
from saccade.attention.pair_positions import Positions
from saccade.errors import SaccadeError, ShapeError, UnknownName, UsageError


class Mask(ABC):
    """Base of all masks; a new one writes `allows`."""

    @abstractmethod
    def allows(self, at: Positions) -> Tensor:
        """True for each pair that may look; broadcasts to the scores."""

    def factor(self, at: Positions) -> Tensor | None:
        """What the weights are multiplied with after they are normalized, or None."""
        return None

    def has_factor(self) -> bool:
        """Whether `factor` gives one."""
        return False

    def span(self, first: int, last: int, keys: int) -> tuple[int, int]:
        """Keys outside this range are closed to queries at positions first … last."""
        return 0, keys

    def band(self) -> int | None:
        """How many neighboring keys a query sees at the most, if that is bounded."""
        return None

    def live(self, keys: int, leading: int, device: torch.device) -> Tensor | None:
        """(…, K): the keys that some query may see, or None where all are."""
        return None

    def parts(self) -> tuple["Mask", ...]:
        """The masks that are joined here."""
        return (self,)

    def __and__(self, other: "Mask") -> "Mask":
        if not isinstance(other, Mask):
            raise SaccadeError(f"a mask is joined with another mask, got {type(other).__name__}; wrap it: allow(tensor)")
        return Joined((*self.parts(), *other.parts()))

    def __bool__(self) -> bool:
        raise SaccadeError("a mask is neither true nor false: join masks with &, and ask `mask is not None`")

    def dense(self, queries: int, keys: int, leading: int = 0, device: torch.device | None = None) -> Tensor:
        """The whole mask as booleans that broadcast to (…, queries, keys)."""
        return self.allows(Positions(queries, keys, leading, device=device))

    def picture(self, queries: int, keys: int | None = None) -> str:
        """A drawing, one line a query: ■ may look, · may not. Of a batch, the first sample."""
        keys = queries if keys is None else keys
        seen = self.dense(queries, keys, leading=1)
        grid = seen.expand(*seen.shape[:-2], queries, keys).reshape(-1, queries, keys)[0]
        return "\n".join("".join("■" if cell else "·" for cell in row) for row in grid.tolist())


@dataclass(frozen=True)
class Joined(Mask):
    """All of several masks."""

    masks: tuple[Mask, ...]

    def allows(self, at: Positions) -> Tensor:
        seen = self.masks[0].allows(at)
        for mask in self.masks[1:]:
            seen = seen & mask.allows(at)
        return seen

    def has_factor(self) -> bool:
        return any(mask.has_factor() for mask in self.masks)

    def factor(self, at: Positions) -> Tensor | None:
        factors = [factor for factor in [mask.factor(at) for mask in self.masks] if factor is not None]
        return None if not factors else torch.stack(torch.broadcast_tensors(*factors)).prod(0)

    def span(self, first: int, last: int, keys: int) -> tuple[int, int]:
        spans = [mask.span(first, last, keys) for mask in self.masks]
        return max(low for low, _ in spans), min(high for _, high in spans)

    def band(self) -> int | None:
        bands = [band for band in [mask.band() for mask in self.masks] if band is not None]
        return min(bands) if bands else None

    def live(self, keys: int, leading: int, device: torch.device) -> Tensor | None:
        lives = [mark for mark in [mask.live(keys, leading, device) for mask in self.masks] if mark is not None]
        return None if not lives else torch.stack(torch.broadcast_tensors(*lives)).all(0)

    def parts(self) -> tuple[Mask, ...]:
        return self.masks

    def __str__(self) -> str:
        return " & ".join(map(str, self.masks))


@dataclass(frozen=True)
class Causal(Mask):
    """No query sees a key behind its own position."""

    def allows(self, at: Positions) -> Tensor:
        return at.key <= at.query

    def span(self, first: int, last: int, keys: int) -> tuple[int, int]:
        return 0, last + 1

    def __str__(self) -> str:
        return "causal"


@dataclass(frozen=True)
class Window(Mask):
    """Keys at most `radius` positions away: restricted self-attention."""

    radius: int

    def allows(self, at: Positions) -> Tensor:
        return (at.key - at.query).abs() <= self.radius

    def span(self, first: int, last: int, keys: int) -> tuple[int, int]:
        return first - self.radius, last + self.radius + 1

    def band(self) -> int:
        return 2 * self.radius + 1

    def __str__(self) -> str:
        return f"window({self.radius})"


@dataclass(frozen=True)
class Others(Mask):
    """All keys but the one at the query's own position: each point is left out of its own estimate."""

    def allows(self, at: Positions) -> Tensor:
        return at.key != at.query

    def __str__(self) -> str:
        return "others"


@dataclass(frozen=True)
class Strided(Mask):
    """The last `stride` neighbors on either side and every stride-th key (Child et al. 2019, strided)."""

    stride: int

    def allows(self, at: Positions) -> Tensor:
        distance = (at.key - at.query).abs()
        return (distance < self.stride) | (distance % self.stride == 0)

    def __str__(self) -> str:
        return f"strided({self.stride})"


@dataclass(frozen=True)
class Fixed(Mask):
    """One's own block, and the last `summary` keys of every block (Child et al. 2019, fixed)."""

    block: int
    summary: int = 1

    def allows(self, at: Positions) -> Tensor:
        same = at.key.div(self.block, rounding_mode="floor") == at.query.div(self.block, rounding_mode="floor")
        return same | (at.key % self.block >= self.block - self.summary)

    def __str__(self) -> str:
        return f"fixed({self.block}, {self.summary})"


@dataclass(frozen=True, eq=False)
class Lengths(Mask):
    """The first `lengths[b]` keys of sample b; the rest is padding."""

    lengths: Tensor

    def allows(self, at: Positions) -> Tensor:
        return at.key < at.per_sample(self.lengths.to(at.key.device))

    def live(self, keys: int, leading: int, device: torch.device) -> Tensor:
        counts = self.lengths.to(device)
        return live(counts.reshape((*counts.shape, *[1] * (leading - counts.dim()))), keys)

    def __str__(self) -> str:
        shown = [str(length) for length in self.lengths.flatten().tolist()]
        return f"lengths({', '.join(shown[:8] + ['…'] * (len(shown) > 8))})"


@dataclass(frozen=True, eq=False)
class Allow(Mask):
    """Any pattern, given whole: (…, Q, K), or (…, K, K) of which the last Q rows count when keys are cached."""

    seen: Tensor

    def allows(self, at: Positions) -> Tensor:
        rows, columns = self.seen.shape[-2:]
        if rows not in (1, at.queries, at.keys) or columns not in (1, at.keys):
            raise ShapeError(f"mask of {rows} × {columns} does not fit {at.queries} queries × {at.keys} keys")
        row = at.rows if rows == at.queries else at.rows + (at.keys - at.queries)
        row = torch.zeros_like(row) if rows == 1 else row
        key = torch.zeros_like(at.key) if columns == 1 else at.key
        return at.select(self.seen[..., row, key] if at.on_edges else self._block(row, key))

    def _block(self, row: Tensor, key: Tensor) -> Tensor:
        whole = key.shape[0] == self.seen.shape[-1] and self.seen.shape[-1] > 1
        seen = self.seen if row.shape[0] == self.seen.shape[-2] > 1 else self.seen[..., row, :]
        return seen if whole else seen[..., key]

    def __str__(self) -> str:
        return f"allow({' × '.join(map(str, self.seen.shape))})"


def causal() -> Mask:
    """No query sees past its own position. The last query stands at the last key, so it serves a cache of keys too."""
    return Causal()


def window(radius: int) -> Mask:
    """Query i sees keys i - radius … i + radius."""
    return Window(at_least(radius, 0, "radius"))


def others() -> Mask:
    """Query i sees all keys but key i: leave-one-out."""
    return Others()


def strided(stride: int) -> Mask:
    """Query i sees its `stride` nearest keys on either side and every stride-th key."""
    return Strided(at_least(stride, 1, "stride"))


def fixed(block: int, summary: int = 1) -> Mask:
    """Query i sees its own block of keys and the last `summary` keys of every block."""
    return Fixed(at_least(block, 1, "block"), at_least(summary, 1, "summary"))


def lengths(lengths: Tensor | list[int]) -> Mask:
    """Sample b sees its first lengths[b] keys; the first dimensions of the batch, (B) or (B, H).

    Lengths of another device than the keys', such as those of a list, are copied there in each call.
    """
    counts = torch.as_tensor(lengths)
    if counts.is_floating_point() or counts.dtype == torch.bool:
        raise ShapeError(f"lengths must be whole numbers, got {counts.dtype}")
    return Lengths(counts)


def allow(seen: Tensor) -> Mask:
    """Exactly the pairs where this boolean tensor is True; broadcasts to (…, Q, K), so with heads (B, 1, Q, K)."""
    if not isinstance(seen, Tensor):
        raise ShapeError(f"allow() takes a boolean tensor (…, Q, K), got {type(seen).__name__}")
    if seen.dtype != torch.bool or seen.dim() < 2:
        raise ShapeError(f"allow() takes a boolean tensor (…, Q, K), got {seen.dtype} of shape {tuple(seen.shape)}")
    return Allow(seen)


def named(text: str) -> Mask | None:
    """The mask that a word of a config names, such as `window(16)` or `fixed(8, 2)`; None for `none`."""
    if text == "none":
        return None
    name, _, rest = text.partition("(")
    if name not in WORDS:
        raise UnknownName("mask", name, (*WORDS, "none"))
    try:
        numbers = [int(number) for number in rest[: rest.index(")")].split(",")]
        return WORDS[name](*numbers)
    except (TypeError, ValueError):
        raise UsageError(f"mask: expected a word such as {name}(8), got {text!r}") from None


def at_least(value: int, least: int, name: str) -> int:
    """The value, if it is a whole number of at least so much."""
    if not isinstance(value, int):
        raise ShapeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ShapeError(f"{name} must be at least {least}, got {value}")
    return value


WORDS: dict[str, Callable[..., Mask]] = {"window": window, "strided": strided, "fixed": fixed}
MASKS: dict[str, Callable[..., Mask]] = {
    "causal": causal,
    "lengths": lengths,
    "window": window,
    "others": others,
    "strided": strided,
    "fixed": fixed,
    "allow": allow,
}
