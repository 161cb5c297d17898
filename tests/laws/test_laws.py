"""Every law over every combination that exists, with sizes and numbers from hypothesis."""

import os
from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from saccade.attention import MASKS, NORMALIZERS, SCORES
from tests.laws.cases import DTYPES, GROUNDS, MASK_CASES, Draw, Sizes, Trial, all_combinations, combinations, draws
from tests.laws.laws import EXEMPTIONS, LAWS, check, exempt, trial_for

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
    told = [check(law, each, trial_for(law, each, draw.sizes(each))) for each in combinations(score)]
    if None not in told:
        pytest.skip(f"{law} cannot speak of {score}: {', '.join(sorted({str(reason) for reason in told}))}")


def test_every_combination_is_there() -> None:
    found = all_combinations()
    assert len(found) == len(set(found)) == len(SCORES) * len(NORMALIZERS) * len(MASK_CASES) * len(GROUNDS) * len(DTYPES)
    assert len(found) >= 13 * 8 * 10 * 2 * 3
    assert set(MASKS) | {"none", "joined"} == set(MASK_CASES)
    assert torch.bfloat16 in DTYPES


def counted(size: Sizes) -> dict[str, Counter[str]]:
    """For each law, how often each exemption keeps it from speaking of the scaled dot product or of a score of positions."""
    found: dict[str, Counter[str]] = {law: Counter() for law in LAWS}
    for each in [*combinations("scaled_dot"), *combinations("location")]:
        trial = Trial.make(each, size)
        for law in LAWS:
            found[law][exempt(law, trial) or ""] += 1
    return found


def test_exemptions_are_listed_used_and_few() -> None:
    square = counted(Sizes(batch=1, heads=1, queries=3, keys=3, width=2, seed=1))
    oblong = counted(Sizes(batch=1, heads=1, queries=2, keys=3, width=2, seed=1))
    used = {(law, reason) for found in (square, oblong) for law, counts in found.items() for reason in counts if reason}
    listed = {(law, one.reason) for one in EXEMPTIONS for law in one.laws}
    assert {law for law, _ in listed} <= set(LAWS)
    assert used == listed  # none that never applies
    whole = sum(square["fused_is_explicit"].values())
    assert {law: round(counts[""] / whole, 2) for law, counts in oblong.items()} == SPOKEN


# The share of combinations that each law speaks of, of the two scores above: half of them reads positions.
SPOKEN: dict[str, float] = {
    "rows_are_distributions": 0.88,
    "closed_pairs_weigh_nothing": 1.0,
    "masked_is_masked": 1.0,
    "fused_is_explicit": 1.0,
    "edges_are_a_rectangle": 0.46,
    "chunked_is_whole": 1.0,
    "order_of_keys_is_nothing": 0.34,
    "self_attention_is_equivariant": 0.34,
    "the_future_is_closed": 1.0,
    "a_sample_is_alone": 0.68,
    "padding_is_nothing": 0.23,
    "looking_changes_nothing": 1.0,
    "gradient_is_the_derivative": 0.29,
}


def test_no_law_is_exempt_everywhere() -> None:
    size = Sizes(batch=1, heads=1, queries=3, keys=3, width=2, seed=1)
    doubles = [combination for combination in combinations("scaled_dot") if combination.dtype == torch.float64]
    for law in LAWS:
        held = sum(check(law, combination, Trial.make(combination, size)) is None for combination in doubles)
        assert held >= 50, law
