"""Every law over every combination that exists, with sizes and numbers from hypothesis."""

import os

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from saccade.attention import MASKS, NORMALIZERS, SCORES
from tests.laws.cases import DTYPES, GROUNDS, MASK_CASES, Draw, Sizes, Trial, all_combinations, combinations, draws
from tests.laws.laws import LAWS, check

# A draw covers all combinations, each with sizes and numbers of its own; SACCADE_LAWS=20 draws twenty times.
quickly = settings(
    max_examples=int(os.environ.get("SACCADE_LAWS", "1")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("score", SCORES)
@quickly
@given(draw=draws)
def test_law(law: str, score: str, draw: Draw) -> None:
    for combination in combinations(score):
        check(law, combination, Trial.make(combination, draw.sizes(combination)))


def test_every_combination_is_there() -> None:
    found = all_combinations()
    assert len(found) == len(set(found)) == len(SCORES) * len(NORMALIZERS) * len(MASK_CASES) * len(GROUNDS) * len(DTYPES)
    assert len(found) >= 13 * 8 * 10 * 2 * 3
    assert set(MASKS) | {"none", "joined"} == set(MASK_CASES)
    assert torch.bfloat16 in DTYPES


def test_no_law_is_exempt_everywhere() -> None:
    size = Sizes(batch=1, heads=1, queries=3, keys=3, width=2, seed=1)
    doubles = [combination for combination in combinations("scaled_dot") if combination.dtype == torch.float64]
    for law in LAWS:
        held = sum(check(law, combination, Trial.make(combination, size)) for combination in doubles)
        assert held >= 100, law
