"""Numbers that are not finite stay where they are seen: NaN or inf behind a mask reaches neither output nor gradient.

Products with 0 do not keep them out, 0·NaN is NaN. So a key (or value, or query) that is not finite is replaced by zeros
before anything is computed, and the outputs of those queries that may really see it are made NaN afterwards.
"""

import math

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from saccade.kernels.runtime import traced

# Tensors found finite, and the version they had: a decoder shows the same keys and values at every step.
_found: WeakIdKeyDictionary = WeakIdKeyDictionary()


def finite(*tensors: Tensor) -> bool:
    """Whether all numbers are known to be finite, at the price of one pass over them (a sum that overflows counts as not).

    While torch traces, numbers cannot be asked for: nothing is known then.
    """
    return not traced() and all(_finite(tensor) for tensor in tensors)


def _finite(tensor: Tensor) -> bool:
    if tensor.is_inference():  # has no version: it may change unseen
        return math.isfinite(tensor.sum())
    if _found.get(tensor) == tensor._version:
        return True
    answer = math.isfinite(tensor.detach().sum())
    if answer:
        _found[tensor] = tensor._version
    return answer


def clean(vectors: Tensor) -> tuple[Tensor, Tensor | None]:
    """Vectors with zeros for those that are not finite, and which those were (None: none)."""
    if finite(vectors):
        return vectors, None
    spoiled = ~vectors.detach().isfinite().all(-1)
    return torch.where(spoiled[..., None], 0, vectors), spoiled


def either(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """What is marked in one or the other."""
    if first is None or second is None:
        return second if first is None else first
    return first | second


def poison(context: Tensor, seen: Tensor | None) -> Tensor:
    """NaN for the queries that saw what is not finite."""
    return context if seen is None else torch.where(seen[..., None], math.nan, context)
