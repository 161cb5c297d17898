"""Factorized masks computed on their open pairs alone: what the definition gives, n√n pairs, and every pair in two steps."""

import pytest
import torch
from torch import Tensor

from saccade.attention import attend, causal, fixed, lengths, strided
from saccade.attention.factorized import LEAST, factorized, factorized_pool
from saccade.attention.masks import Fixed, Mask, Strided

SIZES = [
    (1, strided(3)),
    (7, strided(3)),
    (30, strided(5)),
    (33, strided(1)),
    (20, strided(40)),
    (31, fixed(4)),
    (30, fixed(6, 2)),
]
SIZES += [(5, fixed(8, 3)), (19, fixed(4, 9))]


def inputs(n: int) -> tuple[Tensor, Tensor, Tensor]:
    dice = torch.Generator().manual_seed(n)
    query, key = (torch.randn(2, 3, n, 4, generator=dice, dtype=torch.float64).requires_grad_() for _ in range(2))
    return query, key, torch.randn(2, 3, n, 5, generator=dice, dtype=torch.float64).requires_grad_()


def definition(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Tensor:
    seen = (causal() & mask).dense(query.shape[-2], key.shape[-2])
    return (0.7 * query @ key.transpose(-1, -2)).masked_fill(~seen, -torch.inf).softmax(-1) @ value


@pytest.mark.parametrize(("n", "mask"), SIZES, ids=str)
def test_context_and_gradients_are_those_of_the_definition(n: int, mask: Strided | Fixed) -> None:
    given = inputs(n)
    found, wanted = factorized_pool(*given, 0.7, mask), definition(*given, mask)
    torch.testing.assert_close(found, wanted)
    pull = torch.randn(wanted.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for one, other in zip(torch.autograd.grad(found, given, pull), torch.autograd.grad(wanted, given, pull), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("mask", [strided(17), fixed(16, 3)], ids=str)
def test_the_operator_takes_it_for_long_texts_and_gives_the_same(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = (torch.randn(1, 2, LEAST + 5, 8) for _ in range(3))
    found = attend(query, key, value, mask=causal() & mask)
    taken: list[object] = []

    def instead(*given: object) -> Tensor:
        taken.append(given)
        return value

    monkeypatch.setattr("saccade.attention.operator.factorized_pool", instead)
    attend(query, key, value, mask=causal() & mask)
    assert len(taken) == 1
    torch.testing.assert_close(found.context, found.weights() @ value, atol=1e-5, rtol=1e-5)
    for other in (mask, causal(), causal() & mask & lengths([LEAST])):
        attend(query, key, value, mask=other)
    attend(query[..., 2:, :], key, value, mask=causal() & mask)  # with a cache
    assert len(taken) == 1


def test_only_a_causal_pattern_is_factorized() -> None:
    assert factorized(causal() & strided(4)) == strided(4)
    assert factorized(fixed(4, 2) & causal()) == fixed(4, 2)
    for mask in (None, causal(), strided(4), causal() & strided(4) & fixed(4), causal() & lengths([3])):
        assert factorized(mask) is None


def test_dropout_keeps_the_mean() -> None:
    query, key, value = (torch.randn(1, 1, 64, 4) for _ in range(3))
    torch.manual_seed(0)
    drawn = torch.stack([factorized_pool(query, key, value, 0.5, Strided(8), 0.3) for _ in range(400)])
    assert drawn.std(0).max() > 0.1
    torch.testing.assert_close(drawn.mean(0), factorized_pool(query, key, value, 0.5, Strided(8)), atol=0.25, rtol=0)


@pytest.mark.parametrize("mask", [strided(8), fixed(8), fixed(8, 3)], ids=str)
def test_two_steps_connect_every_pair(mask: Mask) -> None:
    """What was written anywhere before reaches everybody through one between them (Child et al. 2019, section 4.2)."""
    open_pairs = (causal() & mask).dense(70, 70).double()
    assert bool(((open_pairs @ open_pairs > 0) == torch.ones(70, 70).tril().bool()).all())
    assert not bool((open_pairs > 0).equal(torch.ones(70, 70).tril().bool()))


@pytest.mark.parametrize("make", [strided, fixed])
def test_open_pairs_grow_as_n_times_its_root(make: type) -> None:
    counts = {}
    for root in (8, 16, 32):
        n = root * root
        counts[n] = int((causal() & make(root)).dense(n, n).sum())
        assert 0.5 < counts[n] / (n * root) < 1.6
    assert 7 < counts[256] / counts[64] < 9  # twice the root: 2³, where all pairs grow 2⁴ times
    assert 7 < counts[1024] / counts[256] < 9
