"""How likely each word is the head of each other one, in a distribution over all dependency trees with one root.

The matrix-tree theorem (Koo et al. 2007) sums over all trees, also those whose arcs cross; Kim et al. (2017, section 3.2),
who attend to heads by these marginals, sum over those without crossing arcs. Each word has one head or is the root, so a row
of scores may be shifted as one likes: the largest becomes 0, which keeps all numbers in range. An arc counts at least e^-23
of its row's best: with less the inverse of the matrix would be lost to rounding where words choose each other in a circle.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade.errors import ShapeError

LEAST = 1e-10


def tree_marginals(scores: Float[Tensor, "... K K"], live: Bool[Tensor, "... K"] | None = None) -> Float[Tensor, "... K K"]:
    """p(word k is the head of word m) in row m and column k; on the diagonal p(word m is the root).

    Rows sum to 1. `live` marks words; others, which fill a batch up, get zeros and change nothing.
    """
    if scores.dim() < 2 or scores.shape[-1] != scores.shape[-2]:
        raise ShapeError(f"scores of a tree: expected as many heads as words, got {tuple(scores.shape)}")
    if scores.shape[-1] == 0:
        return scores
    words = scores.shape[-1]
    there = scores.new_ones(words, dtype=torch.bool) if live is None else live
    arcs_there = there[..., :, None] & there[..., None, :]
    arcs = _arcs(scores, arcs_there)
    inverse = torch.linalg.inv(_laplacian(arcs, there))
    # The first word's row of the matrix holds roots instead of heads, so it takes part in neither sum (Koo et al. 2007).
    later = (torch.arange(words, device=scores.device) > 0).to(arcs)
    diagonal = inverse.diagonal(dim1=-2, dim2=-1)
    heads = arcs * ((later * diagonal)[..., :, None] - later * inverse)
    roots = arcs.diagonal(dim1=-2, dim2=-1) * inverse[..., :, 0]
    marginals = torch.where(torch.eye(words, dtype=torch.bool, device=scores.device), roots[..., None], heads)
    return marginals.clamp(0, 1).masked_fill(~arcs_there, 0).to(scores.dtype)


def _arcs(scores: Tensor, there: Tensor) -> Tensor:
    """exp of the scores in double precision, each row's largest 1; on the diagonal those of the root."""
    exact = scores.double().masked_fill(~there, -torch.inf)
    peak = exact.detach().amax(-1, keepdim=True)
    arcs = (exact - peak.masked_fill(peak == -torch.inf, 0)).exp()
    return arcs.clamp(min=LEAST).masked_fill(~there, 0)


def _laplacian(arcs: Tensor, live: Tensor) -> Tensor:
    """(heads, words): what words give their heads taken from what they give in all; in the first row the roots."""
    eye = torch.eye(arcs.shape[-1], dtype=arcs.dtype, device=arcs.device)
    between = (arcs * (1 - eye)).transpose(-2, -1)  # head, word
    matrix = torch.diag_embed(between.sum(-2)) - between
    first = torch.cat((arcs.diagonal(dim1=-2, dim2=-1)[..., None, :], matrix[..., 1:, :]), -2)
    return first + torch.diag_embed((~live).to(arcs))
