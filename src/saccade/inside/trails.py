"""Attention that is written out in torch's functions: softmax(query·key, scaled, masked)·value, followed from call to call.

A product of two tensors may be scores. What is done to it number by number, its softmax and at last its product with
values are followed; only then was it attention. Anything else that is done to it ends the trail.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.attention import Attended
from saccade.attention.looks import Later
from saccade.inside.replayed import SCORES, ScoreStep, Slot, later


@dataclass(frozen=True)
class Trail:
    """How a tensor of scores, or of weights, came about.

    Shapes: query (…, Q, D), key (…, K, D); the tensor (…, Q, K), or with all of … in one where it is `merged`
    """

    query: Tensor
    key: Tensor
    steps: tuple[ScoreStep, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    merged: bool = False
    weights: bool = False


Function = Callable[..., Any]
T = Tensor
PRODUCTS = {torch.matmul, T.matmul, T.__matmul__, torch.bmm, T.bmm}
SUMS = {torch.einsum, torch.functional.einsum}
SOFTMAX = {F.softmax, torch.softmax, T.softmax}
EACH_NUMBER = {
    *(torch.add, T.add, T.add_, T.__add__, T.__radd__, T.__iadd__, torch.sub, T.sub, T.sub_, T.__sub__, T.__isub__),
    *(torch.mul, T.mul, T.mul_, T.__mul__, T.__rmul__, T.__imul__, torch.div, T.div, T.div_, T.__truediv__),
    *(T.__itruediv__, torch.true_divide, torch.masked_fill, T.masked_fill, T.masked_fill_, torch.where, T.where),
    *(torch.tanh, T.tanh, torch.clamp, T.clamp, torch.maximum, T.maximum, torch.max, T.max, T.to, T.type, T.float, T.double),
    *(T.half, T.bfloat16, T.type_as),
}
AFTER_SOFTMAX = {F.dropout, torch.dropout, T.to, T.type, T.float, T.half, T.bfloat16, T.type_as, torch.nan_to_num}
SHAPES = {T.view, T.reshape, torch.reshape, T.unflatten, T.flatten, torch.flatten, torch.unflatten}
SAME = {T.contiguous, T.clone, torch.clone}
FUNCTIONS: frozenset[Any] = frozenset(PRODUCTS | SUMS | SOFTMAX | EACH_NUMBER | AFTER_SOFTMAX | SHAPES | SAME)


class Trails:
    """The trails of all tensors that are alive; a trail is forgotten with its tensor."""

    def __init__(self) -> None:
        self._trails: dict[int, tuple[weakref.ref[Tensor], Trail]] = {}

    def __len__(self) -> int:
        return len(self._trails)

    def _of(self, value: object) -> Trail | None:
        entry = self._trails.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else None

    def _put(self, tensor: Tensor, trail: Trail) -> None:
        number = id(tensor)
        self._trails[number] = (weakref.ref(tensor, lambda _: self._trails.pop(number, None)), trail)

    def follow(
        self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Later | Attended | None:
        """Takes note of one call; what it gives is an attention that ends with it."""
        if function in PRODUCTS or function in SUMS:
            return self._product(function, args, output)
        found = [trail for trail in map(self._of, (*args, *kwargs.values())) if trail is not None]
        if len(found) == 1 and isinstance(output, Tensor):
            following = _following(found[0], function, args, kwargs, output, self._of)
            if following is not None:
                self._put(output, following)
            else:
                self._trails.pop(id(output), None)  # what was changed in place
        return None

    def _product(self, function: Function, args: tuple[Any, ...], output: Tensor) -> Later | Attended | None:
        equation = ""
        if function in SUMS:
            equation, *operands = args
            args = tuple(operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands)
        if len(args) != 2 or not all(isinstance(one, Tensor) for one in args):
            return None
        weights = self._of(args[0])
        if weights is not None:  # a product of scores with anything is not their softmax: the trail ends
            return _ended(weights, output, equation) if weights.weights else None
        sides = _sides(equation, *args) if equation else _factors(*args)
        if sides is not None and sides[0].is_floating_point():
            self._put(output, Trail(*sides))
        return None


def _factors(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor] | None:
    """Queries and keys of a product; one with a parameter is a layer."""
    bases = [one._base if one._is_view() else one for one in (left, right)]
    if min(left.dim(), right.dim()) < 2 or any(isinstance(base, torch.nn.Parameter) for base in bases):
        return None
    return left, right.transpose(-2, -1)


def _sides(equation: str, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor] | None:
    """Queries (…, Q, D) and keys (…, K, D) of an Einstein sum that gives (…, Q, K)."""
    terms = equation.replace(" ", "").replace("->", ",").split(",")
    if len(terms) != 3 or "." in equation or len(terms[2]) < 2:
        return None
    first, second = terms[:2]
    *leading, query, key = list(terms[2])
    shared = [letter for letter in first if letter in second and letter not in terms[2]]
    if len(shared) != 1 or query in second or key in first or set(first + second) != {*terms[2], *shared}:
        return None
    return _ordered(left, first, [*leading, query, *shared]), _ordered(right, second, [*leading, key, *shared])


def _ordered(tensor: Tensor, letters: str, wanted: list[str]) -> Tensor:
    """The tensor with its dimensions in this order, and one of size 1 for each letter that it lacks."""
    present = tensor.permute([letters.index(letter) for letter in wanted if letter in letters])
    for place, letter in enumerate(wanted):
        if letter not in letters:
            present = present.unsqueeze(place)
    return present


def _following(
    trail: Trail,
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Tensor,
    trail_of: Callable[[object], Trail | None],
) -> Trail | None:
    """The trail of what a function made of scores or weights, or None where it ends."""
    if function in SHAPES:
        return _reshaped(trail, output)
    if function in SAME:
        return trail
    if trail.weights:
        return trail if function in AFTER_SOFTMAX else None
    if function in SOFTMAX:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        return replace(trail, weights=True) if dim in (-1, output.dim() - 1) else None
    return _stepped(trail, function, args, kwargs, output, trail_of) if function in EACH_NUMBER else None


def _reshaped(trail: Trail, output: Tensor) -> Trail | None:
    """Leading dimensions may be taken apart, and put together again."""
    queries, keys = trail.query.shape[-2], trail.key.shape[-2]
    if output.dim() < 2 or output.shape[-2:] != (queries, keys):
        return None
    if trail.tensors or trail.weights:  # these broadcast to the scores as they were
        return replace(trail, merged=output.dim() != max(trail.query.dim(), trail.key.dim()))
    leading = output.shape[:-2]
    sides = (side.expand(*_leading(trail), *side.shape[-2:]) for side in (trail.query, trail.key))
    query, key = (side.reshape(*leading, *side.shape[-2:]) for side in sides)
    return replace(trail, query=query, key=key, merged=False)


def _leading(trail: Trail) -> torch.Size:
    return torch.Size(torch.broadcast_shapes(trail.query.shape[:-2], trail.key.shape[:-2]))


def _stepped(
    trail: Trail,
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Tensor,
    trail_of: Callable[[object], Trail | None],
) -> Trail | None:
    """One more thing that is done to each number."""
    tensors = list(trail.tensors)

    def slot(value: Any) -> Any:
        if trail_of(value) is trail:
            return SCORES
        if not isinstance(value, Tensor):
            return value
        tensors.append(value)
        return Slot(len(tensors) - 1)

    step = ScoreStep(_apart(function), tuple(map(slot, args)), {name: slot(value) for name, value in kwargs.items()})
    shape = (*_leading(trail), trail.query.shape[-2], trail.key.shape[-2])
    if len(tensors) > len(trail.tensors) and (trail.merged or output.shape != shape):
        return None
    return replace(trail, steps=(*trail.steps, step), tensors=tuple(tensors))


def _apart(function: Function) -> Function:
    """The same function, not in place."""
    name = function.__name__
    plain = {"__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__itruediv__": "div"}.get(name, name)
    if plain.endswith("_") and not plain.endswith("__"):
        plain = plain[:-1]
    return function if plain == name else getattr(Tensor, plain)


def _ended(trail: Trail, output: Tensor, equation: str) -> Later | Attended:
    """The attention that a product with values completes."""
    if equation:
        first, _, out = equation.replace(" ", "").replace("->", ",").split(",")
        (width,) = [letter for letter in out if letter not in first] or [""]
        wanted = [*first[:-1], width]
        output = _ordered(output, out, wanted) if set(out) == set(wanted) else output
    elif trail.merged:
        output = output.reshape(*_leading(trail), *output.shape[-2:])
    return later(trail.query, trail.key, output, trail.tensors, trail.steps)
