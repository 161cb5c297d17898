"""What the laws run over: every score × normalizer × mask × layout × dtype, and the tensors of one trial."""

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from saccade.attention import (
    NORMALIZERS,
    SCORES,
    Attended,
    AttendedEdges,
    Mask,
    Normalizer,
    Score,
    allow,
    attend,
    attend_edges,
    causal,
    fixed,
    lengths,
    local_m,
    local_p,
    make_normalizer,
    make_score,
    others,
    strided,
    window,
)
from saccade.attention.masks import Joined
from tests.second_device import on_device

# torch.manual_seed formats a stack trace for devices that are not there, which took two fifths of the laws' time.
seed_torch = torch.default_generator.manual_seed


class Sizes(NamedTuple):
    """Sizes of a trial, and the seed of its numbers."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    seed: int


@dataclass(frozen=True)
class Draw:
    """What hypothesis draws: bounds of the sizes and a seed, from which each combination takes sizes of its own."""

    longest: int
    widest: int
    seed: int

    def sizes(self, combination: "Combination") -> Sizes:
        """Small sizes within the bounds, other ones for each combination."""
        if combination.dtype == torch.bfloat16:  # so coarse a dtype is tried on one small shape
            return Sizes(2, 1, 3, 4, 2, self.seed)
        dice = random.Random(self.seed ^ zlib.crc32(repr(combination).encode()))
        batch, heads = dice.randint(1, 2), dice.randint(1, 2)
        queries, keys = dice.randint(1, self.longest), dice.randint(1, self.longest)
        keys = queries if dice.random() < 0.3 else keys
        return Sizes(batch, heads, queries, keys, dice.randint(1, self.widest), dice.randrange(2**31))


draws = st.builds(Draw, longest=st.integers(5, 7), widest=st.integers(3, 5), seed=st.integers(0, 2**31))


def _random_lengths(size: Sizes) -> Tensor:
    return torch.randint(0, size.keys + 1, (size.batch,))


def _center(size: Sizes) -> Tensor:
    return torch.rand(size.batch, size.queries) * size.keys


# How a mask of each name is made for a trial; "none" and "joined" stand beside the names in the registry.
MASK_CASES: dict[str, Callable[[Sizes], Mask | None]] = {
    "none": lambda size: None,
    "causal": lambda size: causal(),
    "lengths": lambda size: lengths(_random_lengths(size)),
    "window": lambda size: window(size.seed % 3),
    "others": lambda size: others(),
    "strided": lambda size: strided(2),
    "fixed": lambda size: fixed(2, 1),
    "allow": lambda size: allow(torch.rand(size.batch, 1, size.queries, size.keys) < 0.6),
    "local_m": lambda size: local_m(_center(size).floor(), 1),
    "local_p": lambda size: local_p(_center(size), 2),
    "joined": lambda size: causal() & lengths(_random_lengths(size)) & window(2),
}
LAYOUTS = ("rectangle", "edges")
DTYPES = (torch.float32, torch.float64, torch.bfloat16)


def _moved(mask: Mask) -> Mask:
    if isinstance(mask, Joined):
        return Joined(tuple(map(_moved, mask.masks)))
    tensors = {name: on_device(part) for name, part in vars(mask).items() if isinstance(part, Tensor)}
    part: Any = mask
    return replace(part, **tensors) if tensors else mask


class Combination(NamedTuple):
    """One of everything."""

    score: str
    normalizer: str
    mask: str
    layout: str
    dtype: torch.dtype


def combinations(score: str) -> Iterator[Combination]:
    """All that exist for a score."""
    for normalizer in NORMALIZERS:
        for mask in MASK_CASES:
            for layout in LAYOUTS:
                for dtype in DTYPES:
                    yield Combination(score, normalizer, mask, layout, dtype)


def all_combinations() -> list[Combination]:
    """All that exist."""
    return [combination for score in SCORES for combination in combinations(score)]


@dataclass
class Trial:
    """Tensors and parts for one combination, and one way to run both layouts."""

    combination: Combination
    size: Sizes
    query: Tensor
    key: Tensor
    value: Tensor
    score: Score
    normalize: Normalizer
    mask: Mask | None
    edges: Tensor

    @classmethod
    def make(cls, combination: Combination, size: Sizes) -> "Trial":
        """Numbers drawn from the trial's seed and the combination's name."""
        seed_torch(size.seed)
        leading = (size.batch, size.heads)
        dtype = combination.dtype
        query = torch.randn(*leading, size.queries, size.width).to(dtype)
        key = torch.randn(*leading, size.keys, size.width).to(dtype)
        value = torch.randn(*leading, size.keys, 3).to(dtype)
        score = make_score(combination.score, query_width=size.width, key_width=size.width, keys=size.keys).to(dtype)
        pairs = (torch.rand(size.keys, size.queries) < 0.7).nonzero().T
        return cls(
            combination,
            size,
            query,
            key,
            value,
            score,
            make_normalizer(combination.normalizer),
            MASK_CASES[combination.mask](size),
            pairs,
        )

    def moved(self) -> "Trial":
        """The same on the second device."""
        tensors = {name: on_device(getattr(self, name)) for name in ("query", "key", "value", "edges")}
        return replace(self, **tensors, score=on_device(self.score), mask=None if self.mask is None else _moved(self.mask))

    @property
    def on_edges(self) -> bool:
        """Which layout."""
        return self.combination.layout == "edges"

    @property
    def tolerance(self) -> float:
        """How far two ways to compute the same may differ."""
        return {torch.float32: 2e-5, torch.float64: 1e-10, torch.bfloat16: 0.1}[self.combination.dtype]

    def run(
        self,
        query: Tensor | None = None,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Mask | None = None,
        edges: Tensor | None = None,
        seed: int = 7,
    ) -> Attended | AttendedEdges:
        """Attend with these in place of the trial's own; what is drawn is drawn from the seed."""
        tensors = [
            own if other is None else other for own, other in ((self.query, query), (self.key, key), (self.value, value))
        ]
        mask = self.mask if mask is None else mask
        seed_torch(seed)
        if self.on_edges:
            edges = self.edges if edges is None else edges
            query, key, value = tensors
            return attend_edges(query, key, value, edges, score=self.score, mask=mask, normalize=self.normalize)
        return attend(*tensors, score=self.score, mask=mask, normalize=self.normalize)

    def open(self) -> Tensor:
        """(B, H, Q, K): the pairs that may look."""
        size = self.size
        seen = torch.ones(size.batch, size.heads, size.queries, size.keys, dtype=torch.bool)
        if self.mask is not None:
            rule = self.mask_on_layout()
            seen = seen & rule
        if self.on_edges:
            listed = torch.zeros(size.queries, size.keys, dtype=torch.bool)
            listed[self.edges[1], self.edges[0]] = True
            seen = seen & listed
        return seen

    def mask_on_layout(self) -> Tensor:
        """The mask as booleans; on edges positions are counted from the first query, in a rectangle from the last."""
        from saccade.attention import Positions

        assert self.mask is not None
        size = self.size
        if not self.on_edges:
            return self.mask.dense(size.queries, size.keys, leading=2)
        target, source = torch.cartesian_prod(torch.arange(size.queries), torch.arange(size.keys)).T
        at = Positions.edges(target, source, size.queries, size.keys, 2)
        seen = self.mask.allows(at).expand(size.batch, size.heads, -1)
        return seen.reshape(size.batch, size.heads, size.queries, size.keys)

    def dense(self, attended: Attended | AttendedEdges) -> Tensor:
        """Weights as (B, H, Q, K) on either layout."""
        weights = attended.weights()
        if not self.on_edges:
            return weights
        size = self.size
        full = weights.new_zeros(size.batch, size.heads, size.queries, size.keys)
        full[..., self.edges[1], self.edges[0]] = weights
        return full

    def has_factor(self) -> bool:
        """Whether weights are damped after they are normalized."""
        return self.mask is not None and self.mask.has_factor()
