"""Dropout's chances: the share that is dropped, the mean that is kept, and nothing that overflows near 1."""

import pytest
import torch

from saccade.attention.fused import drop
from saccade.kernels.dropout_masks import kept, rounded


@pytest.mark.parametrize("chance", [1e-6, 1e-4, 0.1, 0.25, 0.5, 0.9, 0.9995, 0.999999])
def test_chances_are_fair(chance: float) -> None:
    rows, columns = 1000, 2000
    stays = kept(rows, columns, chance, generator=torch.Generator().manual_seed(0))
    spread = (chance * (1 - chance)) ** 0.5
    for share, count in ((stays.double().mean(), stays.numel()), *((stays[:, i::4].double().mean(), 5e5) for i in range(4))):
        assert abs(share.item() - (1 - chance)) < 5 * spread / count**0.5 + 2e-5
    if 0.1 <= chance <= 0.9:  # neighbors know nothing of each other
        numbers = (stays.double() - (1 - chance)) / spread
        assert abs((numbers[:, 1:] * numbers[:, :-1]).mean().item()) < 0.005
        assert abs((numbers[1:] * numbers[:-1]).mean().item()) < 0.005


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.5, 0.99, 0.9999, 0.99999, 0.999999, 1 - 1e-9])
def test_what_is_left_times_its_factor_is_the_mean(dropout: float) -> None:
    dropped, factor = rounded(dropout)
    assert 0 <= dropped < 65536
    assert (65536 - dropped) / 65536 * factor == pytest.approx(1, abs=1e-3)
    assert dropout > 0.99 or factor == 1 / (1 - dropout)


def test_a_chance_near_one_drops_nearly_all() -> None:
    torch.manual_seed(0)
    for dropout in (0.99999, 0.999999, 1 - 1e-12):
        assert kept(100, 1000, dropout).sum() < 30
        weights = drop(torch.ones(100_000), dropout)
        assert (weights > 0).sum() < 30
        assert bool(weights.isfinite().all())


def test_a_chance_of_one_drops_all() -> None:
    assert rounded(1.0) == (65536, 0.0)
    assert not kept(3, 5, 1.0).any()
    weights = torch.rand(7, requires_grad=True)
    (grad,) = torch.autograd.grad(drop(weights, 1.0).sum(), weights)
    assert grad.abs().sum() == 0
