"""The parts of a step, each against its plain form."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.tokenizers import END
from saccade.search.candidates import Candidates, best
from saccade.search.history import Endings
from saccade.search.sampling import BELOW_ONE, _picked


@given(st.integers(1, 3), st.integers(1, 6), st.integers(3, 700), st.integers(1, 30), st.integers(0, 1000))
def test_the_best_ways_on_are_those_of_sorting_all(B: int, W: int, V: int, count: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    totals = torch.randn(B, W, generator=generator).double()
    log_probs = torch.randn(B, W, V, generator=generator).log_softmax(-1)
    totals[torch.rand(B, W, generator=generator) < 0.2] = -math.inf
    found = best(totals, log_probs, range(END, V), count)
    plain = (totals[..., None] + log_probs.double())[..., END:].flatten(1).sort(dim=1, descending=True, stable=True)
    assert torch.equal(found.totals, plain.values[:, :count])
    taken = found.totals > -math.inf
    size = V - END
    assert torch.equal(found.parents[taken], (plain.indices[:, :count] // size)[taken])
    assert torch.equal(found.tokens[taken], (plain.indices[:, :count] % size + END)[taken])
    assert found.tokens.max() < V
    assert found.tokens.min() >= END


def test_the_last_token_is_counted_once() -> None:
    log_probs = torch.full((1, 1, 200), -9.0)
    log_probs[0, 0, [135, 199]] = torch.tensor([-2.0, -1.0])
    found = best(torch.zeros(1, 1).double(), log_probs, range(END, 200), 4)
    assert found.tokens[0, :2].tolist() == [199, 135]
    assert len(set(found.tokens[0].tolist())) == 4


def test_of_equal_endings_the_first_stays() -> None:
    endings = Endings(2, 2, penalty=0.0)
    for step in range(40):
        parents = torch.full((1, 3), step)
        equal = Candidates(parents, torch.full((1, 3), END), torch.full((1, 3), -1.0, dtype=torch.float64))
        endings.add(torch.tensor([1]), equal, step)
    assert endings.steps[1].tolist() == [0, 0]
    assert endings.worst(torch.tensor([0, 1])).tolist() == [-math.inf, -1.0]


@pytest.mark.parametrize("size", [1, 5, 128, 129, 1000])
def test_the_impossible_is_never_picked(size: int) -> None:
    probabilities = torch.zeros(1, 1, size)
    possible = sorted({size // 2, size - 1 - size // 4})
    probabilities[..., possible] = 0.1
    uniform = torch.tensor([0.0, 1e-300, 0.49, 0.51, 0.999999, BELOW_ONE], dtype=torch.float64)[None, None]
    low, high = possible[0], possible[-1]
    assert _picked(probabilities, uniform).flatten().tolist() == [low, low, low, high, high, high]
