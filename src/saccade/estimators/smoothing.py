"""A weighted mean of values under a kernel of distance (Nadaraya 1964, Watson 1964), by the one operator, for any query."""

import torch
from torch import Tensor

from saccade.attention import Boxcar, Constant, Epanechnikov, Gaussian, Mask, attend
from saccade.attention.smoothers import Smoother
from saccade.errors import UnknownName

KERNELS: dict[str, type[Smoother]] = {
    "gaussian": Gaussian,
    "boxcar": Boxcar,
    "epanechnikov": Epanechnikov,
    "constant": Constant,
}
BOUNDED = ("boxcar", "epanechnikov")  # a query may have nobody in reach
FARTHEST = 1000.0  # times radius and bandwidth: farther off, directions are all that is left to tell keys apart

Bandwidth = float | Tensor


def smoother(kernel: str, bandwidth: Bandwidth) -> Smoother:
    """The score of this name."""
    if kernel not in KERNELS:
        raise UnknownName("kernel", str(kernel), KERNELS)
    return KERNELS[kernel](bandwidth)


def smooth(query: Tensor, key: Tensor, value: Tensor, kernel: str, bandwidth: Bandwidth, mask: Mask | None = None) -> Tensor:
    """The estimates (Q, V) of queries (Q, D) from keys (K, D) and values (K, V).

    Where a kernel of bounded support reaches nobody, the Gaussian of the same bandwidth answers, which far off is the
    nearest neighbor.
    """
    score = smoother(kernel, bandwidth)
    if kernel == "constant" and mask is None:  # all queries get the same answer: ask once
        return attend(query[:1], key, value, score=score).context.expand(len(query), -1)
    if kernel not in BOUNDED:
        return attend(query, key, value, score=score, mask=mask).context
    reached = torch.cat((value, value.new_ones(len(value), 1)), -1)
    context = attend(query, key, reached, score=score, mask=mask).context
    lonely, context = context[:, -1:] == 0, context[:, :-1]
    if not lonely.any():
        return context
    if mask is not None:  # a mask goes by places: all queries are asked again
        return torch.where(lonely, attend(query, key, value, score=Gaussian(bandwidth), mask=mask).context, context)
    nearest = attend(query[lonely[:, 0]], key, value, score=Gaussian(bandwidth)).context
    return context.masked_scatter(lonely, nearest)


def look(query: Tensor, key: Tensor, kernel: str, bandwidth: Bandwidth) -> Tensor:
    """The weights (Q, K) that `smooth` takes values home with; each row sums to one."""
    weights = _matrix(query, key, smoother(kernel, bandwidth), "softmax")
    lonely = weights.sum(-1, keepdim=True) == 0
    return torch.where(lonely, _matrix(query, key, Gaussian(bandwidth), "softmax"), weights) if lonely.any() else weights


def kernel_matrix(query: Tensor, key: Tensor, kernel: str, bandwidth: Bandwidth) -> Tensor:
    """The kernel of each pair (Q, K), not normalized."""
    return _matrix(query, key, smoother(kernel, bandwidth), "none")


def _matrix(query: Tensor, key: Tensor, score: Smoother, normalize: str) -> Tensor:
    nothing = key[:, :0]  # no values: only the weights are wanted
    return attend(query, key, nothing, score=score, normalize=normalize).weights()


def within_sight(query: Tensor, key: Tensor, bandwidth: Bandwidth) -> Tensor:
    """Queries about the keys' center, those too far off moved nearer along their own direction.

    Squares of their distances would overflow, and the keys could no longer be told apart.
    """
    limit = FARTHEST * (float(key.abs().max()) + float(torch.as_tensor(bandwidth).max()))
    far = query.abs().amax(-1, keepdim=True)
    return torch.where(far > limit, query / far * limit, query)
