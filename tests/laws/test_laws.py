"""Every law over every combination that exists, with sizes and numbers from hypothesis."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from saccade.attention import MASKS, NORMALIZERS, SCORES
from tests.laws.cases import DTYPES, GROUNDS, MASK_CASES, Sizes, Trial, all_combinations, combinations, sizes
from tests.laws.laws import LAWS, check

quickly = settings(max_examples=2, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("score", SCORES)
def test_law(law: str, score: str) -> None:
    @quickly
    @given(sizes)
    def holds(size: Sizes) -> None:
        for combination in combinations(score):
            check(law, combination, Trial.make(combination, size))

    holds()


def test_every_combination_is_there() -> None:
    found = all_combinations()
    assert len(found) == len(set(found)) == len(SCORES) * len(NORMALIZERS) * len(MASK_CASES) * len(GROUNDS) * len(DTYPES)
    assert len(found) >= 13 * 8 * 10 * 2 * 3
    assert set(MASKS) | {"none", "joined"} == set(MASK_CASES)
    assert torch.bfloat16 in DTYPES


def test_no_law_is_exempt_everywhere() -> None:
    size = Sizes(batch=1, heads=1, queries=3, keys=3, width=2, seed=1)
    trials = [(combination, Trial.make(combination, size)) for combination in combinations("scaled_dot")]
    for law in LAWS:
        held = sum(
            check(law, combination, trial) for combination, trial in trials if trial.combination.dtype == torch.float64
        )
        assert held >= 100, law
