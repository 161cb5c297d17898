"""Masks of the usual kinds are kept small and give the same numbers; others are left as they are."""

from itertools import product

import pytest
import torch
from torch import Tensor

from saccade.attention import Positions
from saccade.inside import packed_masks
from saccade.inside.packed_masks import Banded, packed

Q, K = 7, 9
DISTANCE = torch.arange(K) - torch.arange(Q)[:, None]
OPEN = {
    "causal": DISTANCE <= K - Q,
    "window": (DISTANCE <= 1) & (DISTANCE > -3),
    "padding": (torch.arange(K) < torch.tensor([[4], [9]])).view(2, 1, 1, K).repeat(1, 1, Q, 1),
    "left padding": (DISTANCE <= K - Q) & (torch.arange(K) >= torch.tensor([0, 3]).view(2, 1, 1, 1)),
    "open rows": (DISTANCE <= 0) | (torch.arange(Q)[:, None] == 2),
}
BIAS = torch.randn(4, Q + K)[:, DISTANCE + Q - 1]  # by head and distance


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_masks, "SMALL", 0)


def numbers(mask: Banded, rows: Tensor) -> Tensor:
    at = Positions(Q, K, mask.low.dim() - 1, rows=rows)
    return mask.allows(at) if mask.closed.dtype == torch.bool else mask.numbers(at)


@pytest.mark.parametrize(
    ("name", "kind"),
    # An open row sees distances that no side of the mask shows: with a bias it is kept as it is.
    [case for case in product(OPEN, ("boolean", "-inf", "lowest", "bias")) if case != ("open rows", "bias")],
)
def test_the_same_numbers_in_less_memory(name: str, kind: str) -> None:
    seen = OPEN[name]
    closed = torch.tensor(-torch.inf if kind == "-inf" else torch.finfo(torch.float32).min)
    mask = seen if kind == "boolean" else torch.where(seen, BIAS if kind == "bias" else torch.tensor(0.0), closed)
    found = packed(mask)
    assert isinstance(found, Banded)
    for rows in (torch.arange(Q), torch.tensor([5, 2])):
        assert torch.equal(numbers(found, rows).expand_as(mask[..., rows, :]), mask[..., rows, :])
    assert packed(mask) is found, "each mask is looked at once"


def test_a_bias_without_a_mask() -> None:
    found = packed(BIAS.clone())
    assert isinstance(found, Banded)
    assert torch.equal(numbers(found, torch.arange(Q)), BIAS)


def test_what_is_of_no_usual_kind_is_kept() -> None:
    holes = OPEN["causal"].clone()
    holes[5, 2] = False
    one_other = BIAS.clone()
    one_other[1, 3, 4] += 1
    for mask in (holes, one_other, torch.randn(Q, K), torch.zeros(K), BIAS.clone().requires_grad_()):
        assert packed(mask) is mask


def test_a_mask_that_was_changed_is_looked_at_again() -> None:
    mask = OPEN["causal"].clone()
    first = packed(mask)
    mask[:, 3] = True
    assert packed(mask) is not first
