"""Numbers that are not finite stay where they are seen: NaN or inf behind a mask reaches neither output nor gradient.

Products with 0 do not keep them out, 0·NaN is NaN. So a key (or value, or query) that is not finite is replaced by zeros
before anything is computed, and the outputs of those queries that may really see it are made NaN afterwards.
"""

import math

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from saccade.kernels.runtime import traced

# Tensors found finite, and the version they had. Only for what belongs to whoever asks, as a decoder's prepared keys and
# the values beside them, which it shows at every step: a write through `.data` leaves the version as it was.
_found: WeakIdKeyDictionary = WeakIdKeyDictionary()


def finite(*tensors: Tensor) -> bool:
    """Whether all numbers are known to be finite, at the price of one pass over them (a sum that overflows counts as not).

    Nothing is known while torch traces, nor on an accelerator, for whose numbers the host would have to wait.
    """
    return not traced() and all(tensor.is_cpu and math.isfinite(tensor.detach().sum()) for tensor in tensors)


def still_finite(*tensors: Tensor) -> bool:
    """The same for tensors that nobody else writes to: those that were finite are not looked at again."""
    return not traced() and all(_still_finite(tensor) for tensor in tensors)


def _still_finite(tensor: Tensor) -> bool:
    if tensor.is_inference():  # has no version: it may change unseen
        return finite(tensor)
    if _found.get(tensor) == tensor._version:
        return True
    answer = finite(tensor)
    if answer:
        _found[tensor] = tensor._version
    return answer


def clean(vectors: Tensor) -> tuple[Tensor, Tensor | None]:
    """Vectors with zeros for those that are not finite, and which those were (None: none are known to be)."""
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
