"""Attention that other code computed, as a call of the operator: its scores are what that code did to query·key."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.attention import Attended, Mask, Positions, Score, Softmax, allow
from saccade.attention.call import ALL, AttentionCall
from saccade.attention.looks import Later
from saccade.attention.pair_positions import joint_leading, spread
from saccade.inside.packed_masks import Banded, packed


@dataclass(frozen=True)
class Slot:
    """Stands in the arguments of a step: for the scores (-1), or for a tensor that is kept beside them."""

    index: int


SCORES = Slot(-1)


@dataclass(frozen=True)
class ScoreStep:
    """Something that was done to all scores, number by number: its function, and its arguments with slots for tensors."""

    function: Callable[..., Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def scaled(scale: float) -> ScoreStep:
    """Scores are multiplied."""
    return ScoreStep(torch.mul, (SCORES, scale), {})


def added(index: int) -> ScoreStep:
    """The tensor of this number is added to the scores."""
    return ScoreStep(torch.add, (SCORES, Slot(index)), {})


class Replayed(Score):
    """query·key, and then the steps that the model took, on the rows and heads that are asked for."""

    matrix_product = True
    one_width = True
    positional = True
    logarithmic = True  # a row may be closed as a whole: its weights are zeros

    def __init__(self, steps: Sequence[ScoreStep], tensors: Sequence[Tensor | Banded]) -> None:
        super().__init__()
        self.steps, self.tensors = tuple(steps), tuple(tensors)

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        scores = query @ key.transpose(-2, -1)
        for step in self.steps:
            values = [self._value(value, scores, at) for value in step.args]
            named = {name: self._value(value, scores, at) for name, value in step.kwargs.items()}
            scores = step.function(*values, **named)
        return scores

    def _value(self, value: Any, scores: Tensor, at: Positions) -> Any:
        if not isinstance(value, Slot):
            return value
        return scores if value == SCORES else _cut(self.tensors[value.index], at)


def _cut(tensor: Tensor | Banded, at: Positions) -> Tensor:
    """The part of what broadcasts to all scores that belongs to the rows and heads at hand."""
    if isinstance(tensor, Banded):
        return tensor.allows(at) if tensor.closed.dtype == torch.bool else tensor.numbers(at)
    if tensor.dim() < 2:
        return tensor
    return at.select(tensor[..., at.rows, :] if tensor.shape[-2] == at.queries > 1 else tensor)


class KeptScores(Score):
    """Scores that are kept themselves, in the place of queries: of one new token there are fewer of them than keys."""

    matrix_product = True
    positional = True
    logarithmic = True

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return query[..., at.key]


@dataclass(frozen=True)
class FromFirst(Mask):
    """Query i sees keys 0 … i, also where there are more keys than queries: torch's `is_causal`."""

    def allows(self, at: Positions) -> Tensor:
        return at.key <= at.rows[:, None]

    def __str__(self) -> str:
        return "causal, from the first key"


def replayed(
    query: Tensor,
    key: Tensor,
    context: Tensor,
    tensors: Sequence[Tensor | Banded],
    steps: Sequence[ScoreStep],
    mask: Mask | None,
) -> Attended:
    """The call with these queries, keys and steps; fewer heads of keys than of queries are shared by neighbors."""
    if query.dim() > 2 and key.dim() == query.dim() and key.shape[-3] not in (1, query.shape[-3]):
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    leading = joint_leading(query, key)
    score = Replayed(steps, tensors)
    return Attended(context, AttentionCall(spread(query, leading), spread(key, leading), score, mask, Softmax()))


def later(
    query: Tensor,
    key: Tensor,
    context: Tensor,
    tensors: Sequence[Tensor] = (),
    steps: Sequence[ScoreStep] = (),
    mask: Mask | Tensor | None = None,
) -> Later | Attended:
    """The same when it is asked for; at once where that keeps less: a step of generation, with few queries for many keys."""
    at_once = query.shape[-2] < min(key.shape[-2:])
    values, fixed = ([*tensors, mask], None) if isinstance(mask, Tensor) else ([*tensors], mask)
    kept = [value if at_once else packed(value) for value in values]
    bands = [value if isinstance(value, Banded) else None for value in kept]
    masked = len(values) > len(tensors)

    def make(query: Tensor, key: Tensor, context: Tensor, *plain: Tensor) -> Attended:
        left = iter(plain)
        values = [next(left) if band is None else band for band in bands]
        own = values.pop() if masked else fixed
        return replayed(query, key, context, values, steps, allow(own) if isinstance(own, Tensor) else own)

    inputs = [query, key, context, *(value for value in kept if isinstance(value, Tensor))]
    if not at_once:
        return Later(make, compacted(inputs))
    scores = make(*inputs).call.scores(ALL)
    keys = scores.new_empty(*scores.shape[:-2], scores.shape[-1], 0)
    return Attended(context, AttentionCall(scores, keys, KeptScores(), None, Softmax()))


def compacted(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors; copies of those that would keep more than twice their size alive.

    GPT-2 projects queries, keys and values at once and copies the last two into its cache: queries alone would keep all
    three. What carries a gradient stays as it is: autograd keeps its storage anyway.
    """
    used: Counter[int] = Counter()
    for tensor in tensors:
        used[tensor.untyped_storage().data_ptr()] += tensor.nbytes

    def wasteful(tensor: Tensor) -> bool:
        storage = tensor.untyped_storage()
        return not tensor.requires_grad and storage.nbytes() > 2 * used[storage.data_ptr()]

    return [tensor.clone() if wasteful(tensor) else tensor for tensor in tensors]


def pooled(call: AttentionCall, value: Tensor) -> Tensor:
    """The context, for who did not see it, in blocks of rows."""
    return torch.cat([call.weights(rows) @ value for rows, _ in call.blocks()], -2)


def closed(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """torch.nn's masks as what is added to scores: True, which closes there, becomes -inf."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf) if mask.dtype == torch.bool else mask
